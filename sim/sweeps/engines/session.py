"""The Spark session of a sweep: chooses settings, waits for a cluster no longer than it must.

Other people's sessions are left as they are. Spark's own log goes to a file, which a message names
when something went wrong and which is removed otherwise.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark import __version__ as pyspark_version
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from sim.errors import BadInput
from sim.plugins import in_use
from sim.sweeps.engines.executors import SparkFailed, is_stopped, registered_executors
from sim.sweeps.engines.java import find_java
from sim.sweeps.engines.master import check_master, is_local
from sim.sweeps.engines.packing import NAME, PYTHON, packed
from sim.sweeps.engines.spark_errors import (
    SPARK_ERRORS,
    in_one_line,
    last_complaint,
    with_machine,
)
from sim.workers import SAFE_PATH, interruptibly, without_current_folder

MASTER = "local[*,3]"
"""All cores of this machine; a task that dies is tried three times (`local[*]` tries once)."""
LOGGING = Path(__file__).with_name("log4j2.properties")
WAIT = "spark.scheduler.maxRegisteredResourcesWaitingTime"
"""Spark's own setting for how long to wait for executors before the first task."""
PYTHON_SETTING = "spark.pyspark.python"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
SMALL_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a Java beside simulations, with which it competes for the cores. Its own work is small: to
hand on what they answer, and some thousand rows to sum up. What is saved on optimising code for
that is worth more than what the better code would save."""
ASKED, ANSWERED = "Connecting to master", "Connected to Spark cluster"
EXECUTOR_ADDED = "Executor added: "
"""What Spark's log says of a standalone cluster; the last, when a worker starts an executor."""
ANSWER_SECONDS = 15.0
"""For the master of a standalone cluster to answer."""
WAIT_SECONDS = 30.0
"""For a worker to accept the application."""
WAIT_SECONDS_STARTING = 120.0
"""For the first executor, where somebody is starting it: it may have to fetch an image first."""
END_SECONDS = 10.0
"""For Java to leave by itself, and remove its files, once nobody needs it."""
POLL_SECONDS = 0.1


@contextmanager
def spark_session(
    *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session to run a sweep on.

    An active session is used as it is and left running. Otherwise one is started, and stopped at
    the end: on `master`, else on what `spark-submit` chose, else on all cores of this machine.
    `settings` are Spark's, by name; they come before those that sweeps choose.

    Raises BadInput without a usable Java, for a master that nobody answers at or that sweeps do
    not run on, and when no executor has started after as long as the setting `WAIT` says.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    chosen = master or (None if submitted else MASTER)
    if chosen is not None:
        check_master(chosen)
    find_java()
    with _log_file() as log, _quiet():
        session = _start(chosen, dict(settings or {}), log)
        try:
            yield session
        except BaseException:
            try:
                _stop(session)
            finally:  # whoever is impatient presses Ctrl-C again
                _end_java()
            raise
        _stop(session)


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
        raise SparkFailed(f"{with_machine(str(error), log)} (Spark's log: {log})") from None
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


def _start(master: str | None, settings: dict[str, str], log: Path) -> SparkSession:
    local = master is not None and is_local(master)
    if local:  # Spark would take python3 from the PATH, which misses this environment
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    elif master is not None:
        settings = _with_environment(settings)
        os.environ["PYSPARK_PYTHON"] = settings[PYTHON_SETTING]
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    configuration = SparkConf()
    configuration.setAppName("replog sweep")
    if master is not None:
        configuration.setMaster(master)
    for name, value in (_settings(local=local) | settings).items():
        configuration.set(name, value)
    configuration.set(JAVA_OPTIONS, _java_options(settings.get(JAVA_OPTIONS, ""), local=local))
    given = _given_seconds(settings)
    # A Java whose start is cut in two waits for ever, and PySpark would take Ctrl-C for itself.
    context = interruptibly(
        lambda: _context(configuration, log, seconds=given or ANSWER_SECONDS, master=master),
        abandoned=SparkContext.stop,
    )
    try:
        if not is_local(context.master):
            _wait_for_executors(context, given=given, log=log)
        return SparkSession(context)
    except BaseException as error:
        with suppress(Py4JError, OSError):
            context.stop()
        if isinstance(error, SPARK_ERRORS):
            raise in_one_line(error) from None
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


def _context(
    configuration: SparkConf, log: Path, *, seconds: float, master: str | None
) -> SparkContext:
    """Starts Java, if this process has none yet, and Spark in it; ends it if no master answers."""
    process: Any = None
    try:
        gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no other way to ask
        if gateway is None:
            # Its Python workers start in the current folder, and would import what lies there.
            with log.open("ab") as file, without_current_folder():
                options = {"stdout": file, "stderr": file}
                gateway = launch_gateway(configuration, options)  # type: ignore[no-untyped-call]
        process = getattr(gateway, "proc", None)
        with _ended_unless_answered(process, log, seconds):
            return SparkContext(conf=configuration, gateway=gateway)
    except PySparkRuntimeError:
        raise SparkFailed(f"Java did not start: {last_complaint(log)}") from None
    except (Py4JError, OSError) as error:
        if process is not None and process.poll() is not None:
            SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - its Java is gone
            raise SparkFailed(
                f"--master {master}: no answer within {seconds:g} s; is it the master of a Spark "
                f"of this version ({pyspark_version}), and not its web page?"
            ) from None
        raise SparkFailed(f"Spark did not start: {last_complaint(log, error)}") from None


@contextmanager
def _ended_unless_answered(process: Any, log: Path, seconds: float) -> Iterator[None]:
    """Kills a Java whose master does not answer in the block: what waits for it goes on then."""
    if process is None:
        yield
        return
    left = threading.Event()

    def watch() -> None:
        asked = None
        while not left.wait(POLL_SECONDS):
            text = _text(log)
            if ANSWERED in text:
                return
            if asked is None and ASKED in text:
                asked = time.monotonic()
            if asked is not None and time.monotonic() - asked > seconds:
                process.kill()
                return

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        left.set()


def _wait_for_executors(context: SparkContext, *, given: float | None, log: Path) -> None:
    """Returns once an executor is there, and a moment later, when its neighbours are, too."""
    started = time.monotonic()
    there = 0
    while True:
        if is_stopped(context):
            raise SparkFailed(f"{context.master}: no executor starts: {last_complaint(log)}")
        before, there = there, registered_executors(context)
        if there and there == before:
            return
        accepted = not str(context.master).startswith("spark://") or EXECUTOR_ADDED in _text(log)
        seconds = given or (WAIT_SECONDS_STARTING if accepted else WAIT_SECONDS)
        if time.monotonic() - started > seconds:
            break
        time.sleep(10 * POLL_SECONDS if there else POLL_SECONDS)
    what = "no executor has started" if accepted else "no worker accepted the application"
    raise SparkFailed(
        f"{context.master}: {what} within {seconds:g} s; are there workers, with free cores and "
        f"memory (--conf spark.executor.memory=1g)? --conf {WAIT}=300s waits longer"
    )


def _text(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:  # Ctrl-C: nobody waits for Java any more
        return ""


def _given_seconds(settings: Mapping[str, str]) -> float | None:
    """How long to wait for an executor, where that was said."""
    given = settings.get(WAIT)
    if given is None:
        return None
    number = given.removesuffix("s")
    if not (number.isascii() and number.isdecimal() and int(number)):
        raise BadInput(f"--conf {WAIT}={given}: give whole seconds, such as 300s")
    return float(number)


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
