"""Runs on real brokers that show bugs of Kafka's own, beside what is predicted.

The index seek on one broker, and the stories of `scenarios/seen_on_kafka` on clusters of the
releases that they speak of.

`python -m tests.conformance.cluster_run --kafka 3.9.0` runs on one release alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import jpype
from rich.console import Console

from sim.errors import BadInput
from tests.conformance.broker_index_seek import SeekResult, compare_index_seek, record_index_seek
from tests.conformance.cluster_clients import ClusterAdministrator
from tests.conformance.cluster_cut_marker import drive_cut_markers
from tests.conformance.cluster_log_end import KEPT as LOG_END_KEPT
from tests.conformance.cluster_log_end import LOST as LOG_END_LOST
from tests.conformance.cluster_log_end import drive_log_end
from tests.conformance.cluster_moments import Differs, Witness
from tests.conformance.cluster_tombstone import drive_tombstones
from tests.conformance.cluster_topic import Say
from tests.conformance.cluster_transactions import drive_transactions
from tests.conformance.compare import Json
from tests.conformance.jars import KAFKA_VERSION, kafka_jars
from tests.conformance.jvm import start_jvm
from tests.conformance.nodes import BROKERS, Cluster, running_cluster
from tests.conformance.recordings import CLUSTERS as RECORDINGS
from tests.conformance.recordings import write_file

Drive = Callable[[Cluster, ClusterAdministrator, Say], list[Witness]]

CLUSTERS: dict[str, tuple[Drive, ...]] = {
    "3.8.0": (partial(drive_log_end, story=LOG_END_LOST),),
    "4.3.1": (
        partial(drive_log_end, story=LOG_END_KEPT),
        drive_tombstones,
        drive_transactions,
        drive_cut_markers,
    ),
}
"""What is run on a cluster of each release; one cluster serves all its stories."""

ANY_RELEASE: tuple[Drive, ...] = (drive_cut_markers,)
"""What is run on a cluster of another release: what it is asked whether it has the bug."""


@dataclass(frozen=True, slots=True)
class ClusterResult:
    """What the comparison with the cluster of one release found.

    Attributes:
        version: The release.
        seen: What the cluster held, by story and moment, as far as it agrees.
        difference: The first difference in one sentence; None = all agree.
        seconds: How long it took.
    """

    version: str
    seen: dict[str, dict[str, Json]] = field(default_factory=dict)
    difference: str | None = None
    seconds: float = 0.0

    @property
    def summary(self) -> str:
        """The outcome in one line."""
        moments = sum(len(held) for held in self.seen.values())
        agree = f"{moments} moments of {len(self.seen)} stories as predicted"
        return f"real cluster, Kafka {self.version}: {self.difference or agree}"


def run_on_cluster(version: str, *, say: Say = lambda text: None) -> ClusterResult:
    """Run the stories of a release on a cluster of its own; else those of `ANY_RELEASE`.

    Raises:
        BadInput: The cluster does not start, or does not do in time what is waited for.
    """
    begun = time.monotonic()
    jars = kafka_jars(version)
    start_jvm()
    seen: dict[str, dict[str, Json]] = {}
    difference = None
    try:
        say(f"Kafka {version}: starting a controller and three brokers")
        with running_cluster(jars) as cluster, closing(ClusterAdministrator(cluster)) as admin:
            admin.await_live(BROKERS)
            for drive in CLUSTERS.get(version, ANY_RELEASE):
                for witness in drive(cluster, admin, say):
                    seen[witness.story] = witness.seen
    except Differs as found:
        difference = str(found)
    except (BadInput, jpype.JException) as error:
        raise BadInput(f"Kafka {version}: {error}") from None
    return ClusterResult(version, seen, difference, time.monotonic() - begun)


@dataclass(frozen=True, slots=True)
class RealResult:
    """What real brokers did, beside the predictions.

    Attributes:
        seek: The index seek on one broker.
        clusters: The clusters of each release.
    """

    seek: SeekResult
    clusters: tuple[ClusterResult, ...]

    @property
    def complaints(self) -> list[str]:
        """What differs from the predictions, one sentence each."""
        seek = [("index seek", self.seek.difference)]
        clusters = [(f"cluster of Kafka {one.version}", one.difference) for one in self.clusters]
        return [f"{where}: {what}" for where, what in seek + clusters if what is not None]

    @property
    def summary(self) -> list[str]:
        """The outcome in a few lines for a terminal."""
        return [self.seek.summary, *(result.summary for result in self.clusters)]

    def record(self) -> Iterator[Path]:
        """Write all recordings anew; yields each file."""
        yield from record_index_seek(self.seek)
        for result in self.clusters:
            for story, moments in result.seen.items():
                recording = {"kafka": result.version, "story": story, "moments": moments}
                yield write_file(RECORDINGS / f"{story}.json", recording)


def run_real(*, say: Say) -> RealResult:
    """Start all brokers and clusters, one after the other; takes about four minutes.

    Raises:
        BadInput: They do not start, or do not do in time what is waited for.
    """
    seek = compare_index_seek(KAFKA_VERSION, say=say)
    return RealResult(seek, tuple(run_on_cluster(version, say=say) for version in CLUSTERS))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one release alone; 0 as predicted, 1 not so, 2 it cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.cluster_run")
    parser.add_argument("--kafka", default=KAFKA_VERSION, help=f"release ({KAFKA_VERSION})")
    chosen = parser.parse_args(arguments)
    status = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        result = run_on_cluster(chosen.kafka, say=status.print)
    except BadInput as error:
        status.print(str(error), style="red")
        return 2
    except KeyboardInterrupt:
        status.print("interrupted")
        return 130
    Console(soft_wrap=True, highlight=False).print(f"{result.summary}; {result.seconds:.0f} s")
    return int(result.difference is not None)


if __name__ == "__main__":
    sys.exit(main())
