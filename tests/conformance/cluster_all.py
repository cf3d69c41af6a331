"""The runs on real brokers that show bugs of Kafka's own: the index seek, and the clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.broker_index_seek import SeekResult, compare_index_seek
from tests.conformance.broker_recordings import write_index_seek
from tests.conformance.cluster_recordings import write_cluster_recording
from tests.conformance.cluster_run import CLUSTERS, ClusterResult, run_on_cluster
from tests.conformance.cluster_topic import Say
from tests.conformance.jars import KAFKA_VERSION


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
        yield from write_index_seek(self.seek.version, self.seek.runs)
        for result in self.clusters:
            yield from write_cluster_recording(result.version, result.seen)


def run_real(*, say: Say) -> RealResult:
    """Start all brokers and clusters, one after the other; takes about two minutes.

    Raises:
        BadInput: They do not start, or do not do in time what is waited for.
    """
    seek = compare_index_seek(KAFKA_VERSION, say=say)
    return RealResult(seek, tuple(run_on_cluster(version, say=say) for version in CLUSTERS))
