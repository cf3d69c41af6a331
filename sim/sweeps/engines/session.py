"""The Spark session of a sweep: chooses settings, waits for a cluster no longer than it must.

Other people's sessions are left as they are. Spark's own log goes to a file, which a message names
when something went wrong and which is removed otherwise.
"""

from __future__ import annotations

import logging
import os
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
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from sim.errors import BadInput
from sim.sweeps.engines.executors import is_stopped, registered_executors
from sim.sweeps.engines.java import find_java
from sim.sweeps.engines.master import check_master, is_local
from sim.sweeps.engines.spark_errors import last_complaint

MASTER = "local[*,3]"
"""All cores of this machine; a task that dies is tried three times (`local[*]` tries once)."""
LOGGING = Path(__file__).with_name("log4j2.properties")
WAIT = "spark.scheduler.maxRegisteredResourcesWaitingTime"
"""Spark's own setting for how long to wait for executors before the first task."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
WAIT_SECONDS = 30.0
WAIT_SECONDS_MANAGED = 120.0
"""Where YARN or Kubernetes starts the executors: it may have to fetch an image first."""
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
        finally:
            with suppress(Py4JError, OSError):  # of a Java that has died
                session.stop()


@contextmanager
def _log_file() -> Iterator[Path]:
    """Where Spark's Java writes its log: kept when something went wrong, and named then."""
    handle, name = tempfile.mkstemp(prefix="replog-spark-", suffix=".log")
    os.close(handle)
    log = Path(name)
    try:
        yield log
    except BadInput as error:
        if not log.stat().st_size:
            log.unlink()
            raise
        raise BadInput(f"{error} (Spark's log: {log})") from None
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
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark JVM process")
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _start(master: str | None, settings: dict[str, str], log: Path) -> SparkSession:
    local = master is not None and is_local(master)
    # Workers take python3 from the PATH unless told otherwise. On this machine that misses this
    # environment; on others there is no such environment, but a Python of the same version.
    there = sys.executable if local else "python{}.{}".format(*sys.version_info)
    os.environ.setdefault("PYSPARK_PYTHON", settings.get("spark.pyspark.python", there))
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
    seconds = _wait_seconds(master, settings)
    context = _context(configuration, log, seconds=seconds, master=master)
    try:
        if not is_local(context.master):
            _wait_for_executors(context, seconds=seconds, log=log)
        return SparkSession(context)
    except BaseException:
        with suppress(Py4JError, OSError):
            context.stop()
        raise


def _context(
    configuration: SparkConf, log: Path, *, seconds: float, master: str | None
) -> SparkContext:
    """Starts Java, if this process has none yet, and Spark in it; ends Java if that takes long."""
    process: Any = None
    try:
        gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no other way to ask
        if gateway is None:
            with log.open("ab") as file:
                gateway = launch_gateway(configuration, {"stdout": file, "stderr": file})
        process = getattr(gateway, "proc", None)
        with _ended_after(process, seconds):
            return SparkContext(conf=configuration, gateway=gateway)
    except PySparkRuntimeError:
        raise BadInput(f"Java did not start: {last_complaint(log)}") from None
    except (Py4JError, OSError) as error:
        if process is not None and process.poll() is not None:
            SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - its Java is gone
            raise BadInput(
                f"--master {master}: did not accept the application within {seconds:g} s; is it the"
                f" master of a Spark of this version? --conf {WAIT}=…s waits longer"
            ) from None
        raise BadInput(f"Spark did not start: {last_complaint(log, error)}") from None


@contextmanager
def _ended_after(process: Any, seconds: float) -> Iterator[None]:
    """Kills a process unless the block is left in time: what waits for it goes on then."""
    if process is None:
        yield
        return
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _wait_for_executors(context: SparkContext, *, seconds: float, log: Path) -> None:
    """Returns once an executor is there, and a moment later, when its neighbours are, too."""
    deadline = time.monotonic() + seconds
    there = 0
    while time.monotonic() < deadline:
        if is_stopped(context):
            raise BadInput(f"{context.master}: no executor starts: {last_complaint(log)}")
        before, there = there, registered_executors(context)
        if there and there == before:
            return
        time.sleep(10 * POLL_SECONDS if there else POLL_SECONDS)
    raise BadInput(
        f"{context.master}: no worker accepted the application within {seconds:g} s; are there "
        "workers, with free cores and enough memory (--conf spark.executor.memory=1g)? "
        f"--conf {WAIT}=…s waits longer"
    )


def _wait_seconds(master: str | None, settings: Mapping[str, str]) -> float:
    """How long to wait for the first executor."""
    given = settings.get(WAIT)
    if given is None:
        managed = master is not None and not master.startswith("spark://")
        return WAIT_SECONDS_MANAGED if managed else WAIT_SECONDS
    number = given.removesuffix("s")
    if not number.isdecimal() or not int(number):
        raise BadInput(f"--conf {WAIT}={given}: give whole seconds, such as 120s")
    return float(number)


def _settings(*, local: bool) -> dict[str, str]:
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "1000",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.sql.session.timeZone": "UTC",
    }
    return chosen | ({"spark.sql.adaptive.enabled": "false"} if local else {})


def _java_options(more: str, *, local: bool) -> str:
    """Of the driver's Java. Out of memory it ends; else some of its threads wait for others.

    On one machine it competes with the simulations for the cores. Its own work is small: some
    thousand rows to sum up. What is saved on optimising code for that is worth more than what the
    better code would save.
    """
    options = ["-XX:+ExitOnOutOfMemoryError", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"]
    if local:
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return " ".join((*options, more)).rstrip()
