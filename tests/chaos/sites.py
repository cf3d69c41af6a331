"""Where sweeps run: worker processes, Spark in one machine, a standalone cluster of Spark's."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.running import STRAY_SECONDS, Running
from tests.sweeps.spark_cluster import Cluster, kill

PLAN = "scenarios/sweeps/demo.yaml"
ENGINES = ("process", "spark", "cluster")
WORKERS = 2
SMALL = (
    "spark.executor.memory=512m",
    "spark.driver.extraJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
)
"""Settings of Spark, so that a cluster and all that goes on beside it fit into one machine."""


@dataclass(frozen=True)
class Site:
    """A place that has one sweep at a time.

    Attributes:
        engine: One of `ENGINES`.
        cluster: This site's own, which nobody else's sweeps are on; None = it needs none.
    """

    engine: str
    cluster: Cluster | None = None

    def sweep(self, out: Path, count: int, log: Path, *more: str) -> Running:
        """Starts the sweep of `count` cases."""
        words = ["sweep", PLAN, "--count", str(count), "--out", str(out), *self._words(), *more]
        return Running(words, log, self._environment)

    def strays(self, sweep: Running) -> list[int]:
        """Processes that outlive a sweep, executors of the cluster included; they are killed."""
        left = sweep.strays()
        if self.cluster is not None:
            until = time.monotonic() + STRAY_SECONDS
            while (guests := self.cluster.guests()) and time.monotonic() < until:
                time.sleep(0.2)
            for pid in guests:
                kill(pid)
            left += guests
        return left

    def mend(self) -> None:
        """Starts again what of the cluster was killed."""
        if self.cluster is not None:
            self.cluster.mend()

    def _words(self) -> list[str]:
        if self.cluster is None:
            return ["--engine", self.engine]
        settings = [word for each in SMALL for word in ("--conf", each)]
        return ["--engine", "spark", "--master", self.cluster.master, *settings]

    @property
    def _environment(self) -> Mapping[str, str]:
        return os.environ if self.cluster is None else self.cluster.environment


@contextmanager
def sites(engines: Sequence[str], folder: Path, *, each: int) -> Iterator[list[Site]]:
    """Some of each engine, with their clusters in `folder` while the block runs."""
    with ExitStack() as stack:
        found = []
        for engine in engines:
            for number in range(each):
                cluster = None
                if engine == "cluster":
                    home = folder / f"cluster-{number}"
                    home.mkdir()
                    cluster = stack.enter_context(Cluster(home, workers=WORKERS))
                found.append(Site(engine, cluster))
        yield found
