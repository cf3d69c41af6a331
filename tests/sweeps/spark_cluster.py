"""A standalone Spark cluster on loopback, of the jars that PySpark brings, to kill parts of.

Every process of it, and of the sweeps on it, carries a mark in its environment, by which it is
found: executors and their Python workers are started by others.
"""

import os
import re
import signal
import subprocess
import sys
import tarfile
import time
import uuid
import venv
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import pyspark

from tests.commands import ROOT

PATIENCE_SECONDS = 300
"""For what takes two seconds on an idle machine: another one may have a load of twenty."""
SPARK_HOME = Path(pyspark.__file__).parent
FRUGAL = (
    *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
)
"""What spares a Java machine of seconds the optimising that one of hours is made for, and the
checking of classes, a third of its start."""
SMALL_JAVA = ("-Xmx256m", *FRUGAL)
SMALL_SPARK = {
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": " ".join(FRUGAL),
    "spark.executor.extraJavaOptions": " ".join(FRUGAL),
    "spark.ui.enabled": "false",
}
"""Settings of Spark, so that a cluster and all that goes on beside it fit into one machine."""
MARK = "REPLOG_TEST_CLUSTER"
NOT_FOR_EXECUTORS = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")


class Cluster:
    """A master and workers of one core each; their Python has no package but Spark's own.

    Attributes:
        settings: Of a sweep on it: small, and with an environment for the executors, as venv-pack
            makes it, but with its packages where they are.
    """

    def __init__(self, folder: Path, *, workers: int) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.python = folder / "bare" / "bin" / "python"
        archive = f"{folder}/environment.tar.gz#environment"
        self.settings = {**SMALL_SPARK, "spark.archives": archive}
        self._workers = workers
        self._started: list[subprocess.Popen[bytes]] = []
        self._logs = 0

    def __enter__(self) -> Self:
        venv.create(self.folder / "bare", with_pip=False, symlinks=True)
        packages = [ROOT, *(path for path in sys.path if path.endswith("site-packages"))]
        pth = self.folder / "packages.pth"
        pth.write_text("".join(f"{path}\n" for path in packages))
        with tarfile.open(self.folder / "environment.tar.gz", "w:gz") as packing:
            packing.add(self.folder / "bare", ".")
            library = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
            packing.add(pth, f"{library}/site-packages/{pth.name}")
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            _end(process)
        self._started.clear()
        for pid in self.processes():
            kill(pid)

    def _start(self) -> None:
        try:
            self._log = self._java("deploy.master.Master", "--port", "0")
            pattern = r"Starting Spark master at (spark://\S+)"
            wait_until(lambda: re.search(pattern, self._log.read_text()), "a master")
            self.master = re.findall(pattern, self._log.read_text())[0]
            self._start_workers(self._workers)
        except BaseException:
            self.__exit__()
            raise

    def _start_workers(self, number: int) -> None:
        wanted = self._registered() + number
        for _ in range(number):
            size = ("--cores", "1", "--memory", "1g")
            work = ("--work-dir", str(self.folder / "work"))
            self._java("deploy.worker.Worker", *size, *work, self.master)
        wait_until(lambda: self._registered() == wanted, "workers")

    def _registered(self) -> int:
        """How many workers the master has seen so far, those that are gone included."""
        return self._log.read_text().count("Registering worker")

    @property
    def options(self) -> list[str]:
        """Of `replog sweep` on this cluster."""
        settings = [word for one in self.settings.items() for word in ("--conf", "=".join(one))]
        return ["--master", self.master, *settings]

    @property
    def environment(self) -> dict[str, str]:
        """Of a sweep on this cluster."""
        mine = {MARK: self.mark, "SPARK_LOCAL_IP": "127.0.0.1"}
        return os.environ | mine | {"PYSPARK_PYTHON": "./environment/bin/python"}

    def _java(self, main: str, *arguments: str) -> Path:
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
        here = ("--host", "127.0.0.1", "--webui-port", "0")
        path = self.folder / f"{main.rpartition('.')[2]}-{self._logs}.log"
        self._logs += 1
        with path.open("wb") as log:
            self._started.append(
                subprocess.Popen(
                    [java, *SMALL_JAVA, *options, f"org.apache.spark.{main}", *here, *arguments],
                    cwd=self.folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C at a terminal is for whoever uses the cluster
                )
            )
        return path

    def kill_worker(self, number: int = -1) -> None:
        """By its number, else the last one: its executors notice, and end."""
        _end(self._started[1:][number])

    def mend(self) -> None:
        """Starts workers in place of those that were killed."""
        there = [process for process in self._started if process.poll() is None]
        lost = len(self._started) - len(there)
        self._started = there
        self._start_workers(lost)

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


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


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
