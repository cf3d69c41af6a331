"""What went wrong on Spark, in one line: its own words, without the traces around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from sim.errors import BadInput

SPARK_ERRORS = (Py4JError, PySparkException, ConnectionError, EOFError)
"""What a call of PySpark raises when the cluster, or the Java of the driver, fails it."""
KEPT = "what is finished is kept, --resume continues"
LENGTH_MAX = 300
_MACHINE = re.compile(r"\(TID \d+\) \((\S+) executor")
_COMPLAINT = re.compile(r"\b(?:ERROR|FATAL)\b|Exception\b|^Error\b")
_PYTHON_ERROR = re.compile(r"(?!org\.|java\.|py4j\.|Caused)[\w.]*(?:Error|Exception|BadInput)\b: ")
_JAVA_ERROR = re.compile(r"[: ]*(?:[\w$]+\.)+[\w$]+(?:Exception|Error)\b")
_TRACE = re.compile(r"^\s+at |^\s*\.\.\. \d+ more")
_HINTS = {
    r"exited unexpectedly|ExecutorLostFailure|OutOfMemoryError": (
        "out of memory? --conf spark.executor.memory=2g gives more"
    ),
    r"PYTHON_VERSION_MISMATCH|Cannot run program|Error from python worker": (
        "PYSPARK_PYTHON names the workers' Python"
    ),
    r"No FileSystem for scheme|ClassNotFoundException": (
        "--conf spark.jars.packages=… brings the classes of a file system"
    ),
}
"""By what stands in an error: what helps."""


class SparkFailed(BadInput):
    """Spark, its Java or the cluster failed the sweep; Spark's log may say more."""


@contextmanager
def told_in_a_line() -> Iterator[None]:
    """Turns what Spark raises in the block into SparkFailed."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise in_one_line(error) from None


def in_one_line(error: Exception) -> SparkFailed:
    """The error in Spark's own words, where it happened, and what helps."""
    text = str(error)
    # Py4J says no more where Java has gone in the middle of a call.
    if isinstance(error, (Py4JNetworkError, ConnectionError, EOFError)) or (
        isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    ):
        more = "out of memory? --conf spark.driver.memory=2g gives it more"
        return SparkFailed(f"Spark's Java died ({more}); {KEPT}")
    machines = _MACHINE.findall(text)
    where = f"{machines[-1]}: " if machines else ""
    hints = [f" ({words})" for pattern, words in _HINTS.items() if re.search(pattern, text)]
    return SparkFailed(f"{where}{reason_in(text)}{''.join(hints)}; {KEPT}")


def last_complaint(log: Path) -> str:
    """The last error in Spark's log, without its trace."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [line for line in lines if _COMPLAINT.search(line) and not _TRACE.match(line)]
    return _in_length(found[-1]) if found else "its log says nothing"


def reason_in(text: str) -> str:
    """The last line of a Python traceback, else the first that names an exception, or says any."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _TRACE.match(line)]
    python = [line for line in lines if _PYTHON_ERROR.match(line)]
    java = [line for line in lines if _JAVA_ERROR.match(line)]
    return _in_length((python[-1:] or java[:1] or lines[:1] or ["no reason given"])[0])


def _in_length(line: str) -> str:
    line = re.sub(r"^.*\(TID \d+\) \(\S+ executor \S+\): ", "", " ".join(line.split()))
    line = re.sub(r"^[: ]*(?:(?:[\w$]+\.)+[\w$]+: )*", "", line)
    return line if len(line) <= LENGTH_MAX else line[: LENGTH_MAX - 3] + "..."
