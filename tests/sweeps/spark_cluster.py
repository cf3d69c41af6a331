"""A standalone Spark cluster on loopback, of the jars that PySpark brings, to kill parts of.

Every process of it, and of the sweeps on it, carries a mark in its environment, by which it is
found: executors and their Python workers are started by others.
"""

import os
import re
import signal
import subprocess
import time
import uuid
import venv
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import pyspark

PATIENCE_SECONDS = 200
"""For what takes two seconds on an idle machine: another one may have a load of ten."""
SPARK_HOME = Path(pyspark.__file__).parent
SMALL_JAVA = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
MARK = "REPLOG_TEST_CLUSTER"
NOT_FOR_EXECUTORS = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")


class Cluster:
    """A master and workers of one core each; their Python has no package but Spark's own."""

    def __init__(self, folder: Path, *, workers: int) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.python = folder / "bare" / "bin" / "python"
        self._workers = workers
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        venv.create(self.folder / "bare", with_pip=False, symlinks=True)
        try:
            options = ("--host", "127.0.0.1", "--webui-port", "0")
            self._java("deploy.master.Master", *options, "--port", "0")
            log = self.folder / "Master-0.log"
            pattern = r"Starting Spark master at (spark://\S+)"
            wait_until(lambda: re.search(pattern, log.read_text()), "a master")
            self.master = re.findall(pattern, log.read_text())[0]
            for _ in range(self._workers):
                size = ("--cores", "1", "--memory", "1g")
                work = ("--work-dir", str(self.folder / "work"))
                self._java("deploy.worker.Worker", *options, *size, *work, self.master)
            wait_until(
                lambda: log.read_text().count("Registering worker") == self._workers, "workers"
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.kill()
            process.wait()
        for pid in self.processes():
            kill(pid)

    @property
    def environment(self) -> dict[str, str]:
        """Of a sweep on this cluster."""
        mine = {MARK: self.mark, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(self.python)}
        return os.environ | mine | {"XDG_CACHE_HOME": str(self.folder / "cache")}

    def _java(self, main: str, *arguments: str) -> None:
        """Starts a part of Spark; its log is named after it and its number among all."""
        scala = next(SPARK_HOME.glob("jars/spark-core_*.jar")).name.split("_")[1].split("-")[0]
        environment = {
            **{k: v for k, v in os.environ.items() if k not in NOT_FOR_EXECUTORS},
            MARK: self.mark,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_SCALA_VERSION": scala,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
        }
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home) / "bin" / "java") if home else "java"
        options = ("-Dspark.master.rest.enabled=false", "-cp", f"{SPARK_HOME}/jars/*")
        name = f"{main.rpartition('.')[2]}-{len(self._started)}"
        with (self.folder / f"{name}.log").open("wb") as log:
            self._started.append(
                subprocess.Popen(
                    [java, *SMALL_JAVA, *options, f"org.apache.spark.{main}", *arguments],
                    cwd=self.folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )

    def kill_master(self) -> None:
        """As if its machine went down."""
        kill(self._started[0].pid)

    def kill_worker(self) -> None:
        """The last one: its executors notice, and end."""
        kill(self._started[-1].pid)

    def processes(self, running: str = "") -> list[int]:
        """Those of the cluster and of sweeps on it whose command has these words."""
        return processes(f"{MARK}={self.mark}", running)

    def executors(self) -> list[int]:
        """The Java of each."""
        return self.processes("CoarseGrainedExecutorBackend")


def processes(mark: str, running: str = "") -> list[int]:
    """Those with a mark in their environment and these words in their command."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended, or is another user's
            continue
        if mark.encode() in environment and running.encode() in command:
            found.append(int(folder.name))
    return sorted(found)


def kill(pid: int) -> None:
    """Kills a process, unless it has just ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_until(true: Callable[[], object], what: str) -> None:
    """Returns when `true` says so; fails when it never does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline, f"waited {PATIENCE_SECONDS} s for {what}"
        time.sleep(0.05)
