"""What went wrong on a cluster, in one line: out of what Spark, Py4J and Java make of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from sim.sweeps.engines.executors import KEPT, SparkFailed

CALL_ERRORS = (Py4JError, PySparkException)
"""What only a call of PySpark raises."""
SPARK_ERRORS = (*CALL_ERRORS, OSError, EOFError)
"""What a call of PySpark raises when the cluster, or the Java of the driver, fails it."""
LENGTH_MAX = 300
SOMEWHERE = "a worker"
"""Where the machine is not in the error's text."""
PYTHON_ADVICE = "PYSPARK_PYTHON names the workers' Python"
_HERE = "{}.{}".format(*sys.version_info)
_MORE = "--conf spark.executor.memory=2g gives them more"
_MACHINE = re.compile(r"\(TID \d+\) \((\S+) executor")
_COMPLAINT = re.compile(r"\b(?:ERROR|FATAL)\b|Exception\b|^Error\b")
_PYTHON_ERROR = re.compile(r"(?!org\.|java\.|py4j\.|Caused)[\w.]*(?:Error|Exception)\b: ")
_NO_ANSWER = re.compile(r"An error occurred while calling \S+\s*")
"""What Py4J says when Java has gone in the middle of a call: an error, and nothing of which."""
_TRACE = re.compile(r"^\s+at |^\s*\.\.\. \d+ more|^\tat ")


def in_one_line(error: Exception) -> SparkFailed:
    """What the person at the keyboard can do something about, and else the error's own words."""
    text = str(error)
    where = _machine(text)
    for pattern, words in _KNOWN:
        found = re.search(pattern, text)
        if found is not None:
            return SparkFailed(words.format(*found.groups(), where=where, reason=_shortened(text)))
    if isinstance(error, (Py4JNetworkError, ConnectionError)) or _NO_ANSWER.fullmatch(text):
        return SparkFailed(
            "Spark's Java died (out of memory? --conf spark.driver.memory=2g gives it more); "
            f"{KEPT}"
        )
    return SparkFailed(f"{where}: {_shortened(text)}; {KEPT}")


def with_machine(told: str, log: Path) -> str:
    """The line, with the machine's name out of Spark's log where the error had none."""
    if not told.startswith(f"{SOMEWHERE}: "):
        return told
    return _machine(_text(log)) + told.removeprefix(SOMEWHERE)


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


def last_complaint(log: Path, error: Exception | None = None) -> str:
    """The last error in Spark's log, without its trace; else that of the exception."""
    lines = _text(log).splitlines()
    found = [line for line in lines if _COMPLAINT.search(line) and not _TRACE.match(line)]
    if found:
        return _in_length(re.sub(r"^[\d:/ ]*(?:ERROR|FATAL) ", "", found[-1]))
    return _shortened(str(error)) if error is not None else "its log says nothing"


def _machine(text: str) -> str:
    found = _MACHINE.findall(text)
    return found[-1] if found else SOMEWHERE


def _shortened(text: str) -> str:
    """The last line of a Python traceback, else the first that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _TRACE.match(line)]
    python = [line for line in lines if _PYTHON_ERROR.match(line)]
    caused = [line.partition(": ")[2] for line in lines if line.startswith("Caused by: ")]
    return _in_length((python or caused[-1:] or lines[:1] or ["no reason given"])[-1])


def _in_length(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= LENGTH_MAX else line[: LENGTH_MAX - 3] + "..."


_KNOWN = (
    (
        r"Python worker exited unexpectedly",
        f"{{where}}: a worker process died (out of memory?); {KEPT}",
    ),
    (
        r'Cannot run program "([^"]*)"',
        f"{{where}}: no {{0}} there; workers need Python {_HERE}, as here; {PYTHON_ADVICE}",
    ),
    (
        r"PYTHON_VERSION_MISMATCH\].*?different version:? (\d+\.\d+)",
        f"{{where}}: Python {{0}} there, {_HERE} here; {PYTHON_ADVICE}",
    ),
    (
        r"No module named '?(pyspark|py4j)",
        "{where}: no {0} there; a whole Spark brings it, in python/lib of its folder",
    ),
    (
        r"Error from python worker:|the port number from pyspark\.daemon",
        (
            f"{{where}}: its Python does not start PySpark ({{reason}}); workers need Python "
            f"{_HERE}, as here; {PYTHON_ADVICE}"
        ),
    ),
    (
        r"ExecutorLostFailure",
        f"{{where}}: executors die with the same block (out of memory? {_MORE}); {KEPT}",
    ),
    (
        r"SparkContext was shut down|stopped SparkContext|SparkContext has been shutdown",
        f"the cluster ended the application; {KEPT}",
    ),
    (
        r"java\.lang\.OutOfMemoryError",
        f"{{where}}: Java is out of memory; --conf spark.driver.memory=2g gives it more; {KEPT}",
    ),
)
"""What is looked for in an error's text, and what it means."""
