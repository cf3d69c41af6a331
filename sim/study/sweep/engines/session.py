"""The Spark session of a sweep: its settings, its log, and an end that leaves nothing behind.

Other people's sessions are left as they are. Spark's own log goes to a file, which a message names
when something went wrong and which is removed otherwise.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from sim.errors import BadInput
from sim.plugins import in_use
from sim.study.sweep.engines.packing import NAME, PYTHON, packed
from sim.study.sweep.engines.spark_errors import KEPT, SparkFailed, last_complaint, told_in_a_line
from sim.study.workers import SAFE_PATH, interruptibly, without_current_folder

MASTER = "local[*,3]"
"""All cores of this machine; a task that dies is tried three times (`local[*]` tries once)."""
LOGGING = Path(__file__).with_name("log4j2.properties")
JAVA_ADVICE = (
    "sweeps on Spark need Java 17 or 21; on Debian: apt-get install openjdk-17-jre-headless "
    "(--engine process needs no Java)"
)
WAIT = "spark.scheduler.maxRegisteredResourcesWaitingTime"
"""Spark's own setting for how long to wait for executors before the first task."""
PYTHON_SETTING = "spark.pyspark.python"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
SMALL_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a Java beside simulations, with which it competes for the cores: its own work is small."""
CONNECT_SECONDS = 5.0
ALONE_SECONDS = 30.0
"""How long a sweep goes on without an executor, in which a cluster may start another."""
FIRST_SECONDS = 120.0
"""The same for the first one: somebody may have to fetch an image for it."""
LOOK_SECONDS = 1.0
END_SECONDS = 10.0
"""For Java to leave by itself, and remove its files, once nobody needs it."""


@contextmanager
def spark_session(
    *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session to run a sweep on.

    An active session is used as it is and left running. Otherwise one is started, and stopped at
    the end: on `master`, else on what `spark-submit` chose, else on all cores of this machine.
    `settings` are Spark's, by name; they come before those that sweeps choose.

    Raises BadInput without Java, for a master that nobody answers at, when no executor starts, and
    for whatever Spark raises in the block.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        with told_in_a_line():
            yield active
        return
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    chosen = master or (None if submitted else MASTER)
    if chosen is not None:
        _check_master(chosen)
    find_java()
    with _log_file() as log, _quiet(), told_in_a_line():
        session = _start(chosen, dict(settings or {}), log)
        try:
            with told_in_a_line():  # PySpark asks Java what an error says, so while there is one
                yield session
        except BaseException:
            try:
                _stop(session)
            finally:  # whoever is impatient presses Ctrl-C again
                _end_java()
            raise
        _stop(session)


def find_java() -> Path:
    """The `java` that Spark would start: JAVA_HOME's, then the PATH's. Raises BadInput for none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        found = (
            f"JAVA_HOME is {home}, which has no bin/java"
            if home
            else "no Java found in JAVA_HOME or on the PATH"
        )
        raise BadInput(f"{found}; {JAVA_ADVICE}")
    return Path(java)


def is_local(master: str | None) -> bool:
    """Whether its workers are processes of this machine, with this Python."""
    return master is not None and re.match(r"local(\[|$)", master) is not None


def _check_master(master: str) -> None:
    """Raises BadInput where nobody listens; Spark itself waits a minute for a standalone master."""
    if master.startswith("sc://"):
        raise BadInput(f"--master {master}: Spark Connect is not supported")
    if not master.startswith("spark://"):
        return
    complaints = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
        except (OSError, OverflowError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            complaints.append(f"nobody answers at {address} ({reason})")
        else:
            return
    raise BadInput(f"--master {master}: {'; '.join(complaints)}; is the master running?")


@dataclass(slots=True)
class Watch:
    """Notices a cluster that will not answer any more. Spark itself waits for ever."""

    context: SparkContext
    seconds: float = ALONE_SECONDS
    _looked: float = 0.0
    _seen: float = field(default_factory=time.monotonic)

    def look(self) -> None:
        """Raises SparkFailed once there has been no executor for so many seconds."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS or is_local(self.context.master):
            return
        self._looked = now
        if _scala(self.context).isStopped():
            raise SparkFailed(f"{self.context.master}: the cluster ended the application; {KEPT}")
        if executors(self.context):
            self._seen = now
        elif now - self._seen > self.seconds:
            raise SparkFailed(
                f"{self.context.master}: no executor for {self.seconds:g} s; are there workers, "
                f"with free cores and memory (--conf spark.executor.memory=1g)? {KEPT}"
            )


def executors(context: SparkContext) -> int:
    """How many executors are there now; the driver is none."""
    return int(_scala(context).getExecutorMemoryStatus().size()) - 1


def _scala(context: SparkContext) -> Any:
    return context._jsc.sc()  # noqa: SLF001 - PySpark has no other way to ask


def _stop(session: SparkSession) -> None:
    with suppress(Py4JError, OSError):  # of a Java that has died
        interruptibly(session.stop)


def _end_java() -> None:
    """End the Java that PySpark started, and with it every call that waits for its answer.

    Spark never answers a job that begins in the moment in which it stops, and Python would wait at
    its own end for the thread that asked.
    """
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - as below
    if process is None:
        return
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - the next starts its own
    process.stdin.close()  # as when this process ends
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


@contextmanager
def _log_file() -> Iterator[Path]:
    """Where Spark's Java writes its log: kept when something went wrong, and named then."""
    handle, name = tempfile.mkstemp(prefix="replog-spark-", suffix=".log")
    os.close(handle)
    log = Path(name)
    try:
        yield log
    except SparkFailed as error:
        raise SparkFailed(f"{error} (Spark's log: {log})") from None
    except BaseException:
        log.unlink()
        raise
    log.unlink()


@contextmanager
def _quiet() -> Iterator[None]:
    """What Py4J and PySpark would tell about a Java that died is told once, in the message."""
    logger = logging.getLogger("py4j")
    before, logger.propagate = logger.propagate, False
    handler = logging.NullHandler()
    logger.addHandler(handler)
    # It stays: a thread that is told late that its Java is gone logs when nobody waits any more.
    logging.getLogger().addFilter(_not_of_py4j)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark JVM process")
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Py4J logs what interrupts a call by the root logger."""
    return f"{os.sep}py4j{os.sep}" not in record.pathname


def _say_nothing(_request: object, _address: object) -> None:
    """PySpark's server of accumulators shows a traceback for a Java that died in mid-message."""


def _start(master: str | None, settings: dict[str, str], log: Path) -> SparkSession:
    local = is_local(master)
    if local:  # Spark would take python3 from the PATH, which misses this environment
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    elif master is not None:
        settings = _with_environment(settings)
        os.environ["PYSPARK_PYTHON"] = settings[PYTHON_SETTING]
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    configuration = SparkConf().setAppName("replog sweep")
    if master is not None:
        configuration.setMaster(master)
    configuration.setAll([*(_settings(local=local) | settings).items()])
    configuration.set(JAVA_OPTIONS, _java_options(settings.get(JAVA_OPTIONS, ""), local=local))
    # A Java whose start is cut in two waits for ever, and PySpark would take Ctrl-C for itself.
    context = interruptibly(lambda: _context(configuration, log), abandoned=SparkContext.stop)
    context._accumulatorServer.handle_error = _say_nothing  # type: ignore[method-assign, assignment]  # noqa: SLF001
    try:
        watch = Watch(context, _seconds(settings.get(WAIT)))
        while not is_local(context.master) and not executors(context):
            watch.look()
            time.sleep(LOOK_SECONDS)  # the others come with the first
        return SparkSession(context)
    except BaseException:
        with suppress(Py4JError, OSError):
            context.stop()
        raise


def _with_environment(settings: dict[str, str]) -> dict[str, str]:
    """The settings, with the environment that executors get, unless they have one of their own."""
    chosen = os.environ.get("PYSPARK_PYTHON", PYTHON)
    if PYTHON_SETTING in settings or chosen != PYTHON:
        return {PYTHON_SETTING: chosen} | settings
    given = settings.get("spark.archives")
    archive = f"{packed(in_use()).as_uri()}#{NAME}"
    archives = f"{given},{archive}" if given else archive
    return settings | {PYTHON_SETTING: PYTHON, "spark.archives": archives}


def _context(configuration: SparkConf, log: Path) -> SparkContext:
    """Starts Java, if this process has none yet, and Spark in it."""
    try:
        gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no other way to ask
        if gateway is None:
            # Its Python workers start in the current folder, and would import what lies there.
            with log.open("ab") as file, without_current_folder():
                options = {"stdout": file, "stderr": file}
                gateway = launch_gateway(configuration, options)  # type: ignore[no-untyped-call]
        return SparkContext(conf=configuration, gateway=gateway)
    except PySparkRuntimeError:
        raise SparkFailed(f"Java did not start: {last_complaint(log)}; {JAVA_ADVICE}") from None
    except (Py4JError, OSError):
        raise SparkFailed(f"Spark did not start: {last_complaint(log)}") from None


def _seconds(given: str | None) -> float:
    """How long to wait for an executor."""
    if given is None:
        return FIRST_SECONDS
    if not re.fullmatch(r"[1-9]\d{0,8}s?", given, re.ASCII):
        raise BadInput(f"--conf {WAIT}={given}: give whole seconds, such as 300s")
    return float(given.removesuffix("s"))


def _settings(*, local: bool) -> dict[str, str]:
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "1000",
        "spark.driver.memory": "1g",
        "spark.executor.extraJavaOptions": " ".join(SMALL_JAVA),
        f"spark.executorEnv.{SAFE_PATH}": "1",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.sql.session.timeZone": "UTC",
    }
    return chosen | ({"spark.sql.adaptive.enabled": "false"} if local else {})


def _java_options(more: str, *, local: bool) -> str:
    """Of the driver's Java. Out of memory it ends; else some of its threads wait for others.

    Unless it leads a cluster it is a small one, too.
    """
    options = ["-XX:+ExitOnOutOfMemoryError", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"]
    return " ".join((*options, *(SMALL_JAVA if local else ()), more)).rstrip()
