"""The stories of `scenarios/seen_on_kafka` on real clusters of the releases that they speak of.

`python -m tests.conformance.cluster_run` runs them alone; `--record` keeps what the brokers held.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import jpype
from rich.console import Console

from sim.errors import BadInput
from tests.conformance.cluster import BROKERS, Cluster, running_cluster
from tests.conformance.cluster_clients import ClusterAdministrator, cluster_connected
from tests.conformance.cluster_log_end import KEPT as LOG_END_KEPT
from tests.conformance.cluster_log_end import LOST as LOG_END_LOST
from tests.conformance.cluster_log_end import drive_log_end
from tests.conformance.cluster_moments import Differs, Witness
from tests.conformance.cluster_recordings import write_cluster_recording
from tests.conformance.cluster_tombstone import drive_tombstones
from tests.conformance.cluster_topic import Say
from tests.conformance.compare import Json
from tests.conformance.jars import kafka_jars, logger_jar
from tests.conformance.jvm import start_jvm

Drive = Callable[[Cluster, ClusterAdministrator, Say], list[Witness]]

CLUSTERS: dict[str, tuple[Drive, ...]] = {
    "3.8.0": (partial(drive_log_end, story=LOG_END_LOST),),
    "4.3.1": (partial(drive_log_end, story=LOG_END_KEPT), drive_tombstones),
}
"""What is run on a cluster of each release; one cluster serves all its stories."""


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


def run_on_cluster(
    version: str, *, kept: Path | None = None, say: Say = lambda text: None
) -> ClusterResult:
    """Run the stories of a release on a cluster of its own.

    Args:
        version: One of `CLUSTERS`.
        kept: Where the nodes' logs are kept if anything fails; default a new temporary folder.
        say: Takes what the run does now.

    Raises:
        BadInput: The cluster does not start, or does not do in time what is waited for.
    """
    begun = time.monotonic()
    jars, logger = kafka_jars(version), logger_jar()
    start_jvm()
    folder = kept or Path(tempfile.gettempdir()) / f"replog-cluster-{version}"
    logs = f"; the logs of the nodes: {folder}"
    seen: dict[str, dict[str, Json]] = {}
    difference = None
    try:
        say(f"Kafka {version}: starting a controller and three brokers")
        with (
            running_cluster(jars, logger, kept=folder) as cluster,
            cluster_connected(",".join(cluster.addresses.values()), cluster.controller) as admin,
        ):
            admin.await_live(BROKERS)
            for drive in CLUSTERS[version]:
                for witness in drive(cluster, admin, say):
                    seen[witness.story] = witness.seen
    except Differs as found:
        difference = f"{found}{logs}"
    except (BadInput, jpype.JException) as error:
        raise BadInput(f"Kafka {version}: {error}{logs}") from None
    return ClusterResult(version, seen, difference, time.monotonic() - begun)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all of them; 0 all agree, 1 not so, 2 it cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.cluster_run")
    parser.add_argument("--kafka", choices=CLUSTERS, help="of one release alone")
    parser.add_argument("--record", action="store_true", help="keep what the brokers held")
    chosen = parser.parse_args(arguments)
    output = Console(soft_wrap=True, highlight=False)
    status = Console(stderr=True, soft_wrap=True, highlight=False)
    different = False
    try:
        for version in [chosen.kafka] if chosen.kafka else CLUSTERS:
            result = run_on_cluster(version, say=status.print)
            output.print(f"{result.summary}; {result.seconds:.0f} s")
            different = different or result.difference is not None
            if chosen.record and result.difference is None:
                for path in write_cluster_recording(result.version, result.seen):
                    output.print(f"recording: {path}")
    except BadInput as error:
        status.print(str(error), style="red")
        return 2
    except KeyboardInterrupt:
        status.print("interrupted")
        return 130
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
