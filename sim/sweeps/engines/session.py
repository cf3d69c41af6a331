"""The Spark session of a sweep: finds Java, chooses settings, leaves other people's sessions be."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from sim.errors import BadInput

MASTER = "local[*,3]"
"""All cores of this machine; a task that dies is tried three times (`local[*]` tries once)."""
LOGGING = Path(__file__).with_name("log4j2.properties")
JAVA_MIN = 17
JAVA_ADVICE = (
    "sweeps on Spark need Java 17 or 21; on Debian: apt-get install openjdk-17-jre-headless "
    "(--engine process needs no Java)"
)


def find_java() -> Path:
    """The `java` that Spark would start: JAVA_HOME's, then the PATH's.

    Raises BadInput, naming the package to install, when there is none or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise BadInput(f"JAVA_HOME is {home}, which has no bin/java; {JAVA_ADVICE}")
    else:
        on_path = shutil.which("java")
        if on_path is None:
            raise BadInput(f"no Java found in JAVA_HOME or on the PATH; {JAVA_ADVICE}")
        java = Path(on_path)
    major = _java_major(java)
    if major is None or major < JAVA_MIN:
        found = "does not run" if major is None else f"is Java {major}"
        raise BadInput(f"{java}: {found}; {JAVA_ADVICE}")
    return java


def _java_major(java: Path) -> int | None:
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(found[1]) if found else None


@contextmanager
def spark_session(*, master: str | None = None) -> Iterator[SparkSession]:
    """A session to run a sweep on.

    An active session is used as it is and left running. Otherwise one is started, and stopped at
    the end: on `master`, else on what `spark-submit` chose, else on all cores of this machine.

    Raises BadInput without a usable Java, or for a Spark Connect master (it has no job groups).
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    if master is not None and master.startswith("sc://"):
        raise BadInput(
            f"--master {master}: Spark Connect is not supported; give a local[N], "
            "spark:// or yarn master"
        )
    find_java()
    session = _start(master)
    try:
        yield session
    finally:
        session.stop()


def _start(master: str | None) -> SparkSession:
    # Workers take python3 from the PATH unless told otherwise, and then miss this environment.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    chosen = master or (None if submitted else MASTER)
    if chosen is not None and chosen.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("replog sweep")
    if chosen is not None:
        builder = builder.master(chosen)
    local = chosen is not None and chosen.startswith("local")
    settings = _settings() | (_local_settings() if local else {"spark.log.level": "ERROR"})
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _settings() -> dict[str, str]:
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.sql.session.timeZone": "UTC",
    }


def _local_settings() -> dict[str, str]:
    """For one machine, where the JVM competes with the simulations for the cores.

    Its own work is small: some thousand rows to sum up. What is saved on optimising code for that
    is worth more than what the better code would save.
    """
    return {
        "spark.driver.extraJavaOptions": " ".join(
            (
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
            )
        ),
        "spark.sql.adaptive.enabled": "false",
    }
