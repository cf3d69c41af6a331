"""Replog's sweeps as somebody starts them, with all the processes that each starts in turn."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.commands import ROOT
from tests.sweeps.spark_cluster import Cluster, kill, processes

PLAN = "scenarios/sweeps/demo.yaml"
ENGINES = ("process", "spark", "cluster")
MARK = "REPLOG_CHAOS"
"""A variable that every process of a command inherits, so that all of them can be found."""
BLOCKS = 20
"""So many that there is a middle to disturb."""
END_SECONDS = 180.0
"""A command that takes longer hangs."""
STRAY_SECONDS = 20.0
"""How long after its command a process may live: a Java machine takes a while to notice."""


class Running:
    """A command under way, in a session of its own; `log` is where it complains."""

    def __init__(self, words: list[str], log: Path, cluster: Cluster | None = None) -> None:
        self._mark = f"{MARK}={uuid.uuid4().hex}"
        self._log = log
        environment = dict(os.environ if cluster is None else cluster.environment)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each would compile all of Replog again
        with log.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "sim", *words],
                cwd=ROOT,
                env={**environment, "PYTHONPATH": str(ROOT), **dict([self._mark.split("=")])},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                start_new_session=True,
            )

    def said(self) -> str:
        """What it complained so far."""
        return self._log.read_text(errors="backslashreplace")

    def others(self, *words: str) -> list[int]:
        """The processes that it started, and these in turn, whose command has one of `words`."""
        found = {pid for word in words or [""] for pid in processes(self._mark, word)}
        return sorted(found - {self.process.pid})

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process that was started, which may be gone."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def wait(self) -> int:
        """Its exit status, negative for a signal. Raises AssertionError when it hangs."""
        try:
            return self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill_all()
            self.process.wait()
            raise AssertionError(f"it did not end within {END_SECONDS:.0f} s") from None

    def kill_all(self) -> None:
        """Kill every process of the command at once."""
        for pid in (self.process.pid, *self.others()):
            kill(pid)

    def strays(self) -> list[int]:
        """Processes that outlive the command; they are killed."""
        until = time.monotonic() + STRAY_SECONDS
        while (left := self.others()) and time.monotonic() < until:
            time.sleep(0.2)
        for pid in left:
            kill(pid)
        return left


@dataclass(frozen=True)
class Site:
    """Where sweeps run: worker processes, Spark in one machine, or a standalone cluster."""

    engine: str
    cluster: Cluster | None = None

    def sweep(self, out: Path, count: int) -> Running:
        """Starts the sweep of `count` cases, or continues it."""
        words = ["sweep", PLAN, "--count", str(count), "--out", str(out)]
        words += ["--partitions", str(BLOCKS)]
        words += ["--resume"] if out.exists() else []
        if self.cluster is None:
            return Running([*words, "--engine", self.engine], out.with_suffix(".log"))
        words += ["--engine", "spark", *self.cluster.options]
        return Running(words, out.with_suffix(".log"), self.cluster)


@contextmanager
def site(engine: str, folder: Path) -> Iterator[Site]:
    """A place for sweeps of an engine while the block runs; a cluster lies in `folder`."""
    if engine != "cluster":
        yield Site(engine)
        return
    with Cluster(folder, workers=2) as cluster:
        yield Site(engine, cluster)
