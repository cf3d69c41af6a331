"""The lost tombstone on a real cluster, and the near miss beside it, in one outage.

Two topics differ in `delete.retention.ms` alone: broker 3 is away for longer than that of the one,
and for less than that of the other. It comes back, joins the in-sync set, and is elected.
"""

from __future__ import annotations

from contextlib import ExitStack, closing

from tests.conformance.cluster_clients import ClusterAdministrator
from tests.conformance.cluster_moments import Witness
from tests.conformance.cluster_topic import Say, SingleRecords, create_topic, let_fetches_end
from tests.conformance.nodes import BROKERS, Cluster

LOST = "kafka_01_lost_tombstone"
KEPT = "kafka_02_tombstone_kept"
_RETENTION_MS = {LOST: 2_000, KEPT: 3_600_000}


def drive_tombstones(
    cluster: Cluster, administrator: ClusterAdministrator, say: Say
) -> list[Witness]:
    """Carry out both stories.

    Raises:
        Differs: A replica does not hold what the story predicts.
        BadInput: What is waited for does not happen in time.
    """
    say("a tombstone: written by three replicas in sync")
    witnesses = [Witness(cluster, administrator, story, story) for story in _RETENTION_MS]
    with ExitStack() as stack:
        topics = [
            (witness, _begin(witness, cluster, administrator, stack)) for witness in witnesses
        ]
        with cluster.paused(3):
            let_fetches_end()
            say("a tombstone: broker 3 is away until after delete.retention.ms")
            for _, producer in topics:
                producer.write("K", None)  # acknowledged when the controller has fenced broker 3
                producer.roll("Y", "Y")
            for witness in witnesses:
                _cleaned(witness, (1, 2), 3, "first_pass")
            witnesses[0].await_horizons((1, 2))
            for witness, producer in topics:
                producer.roll("Z", "Z")
                _cleaned(witness, (1, 2), 4, "second_pass")
        say("a tombstone: broker 3 is back, and is elected")
        for witness, producer in topics:
            witness.await_leader(1, BROKERS)
            _cleaned(witness, (3,), 4, "back")
            administrator.prefer(witness.topic, (3, 1, 2))
            witness.await_leader(3, BROKERS)
            producer.write("W", "W")
            witness.moment("elected", leader=3)
    return witnesses


def _begin(
    witness: Witness, cluster: Cluster, administrator: ClusterAdministrator, stack: ExitStack
) -> SingleRecords:
    """Create the topic and write what all replicas get."""
    retention = {"delete.retention.ms": str(_RETENTION_MS[witness.story])}
    create_topic(administrator, witness.topic, BROKERS, {**retention, "cleanup.policy": "compact"})
    witness.await_leader(1, BROKERS)
    producer = stack.enter_context(closing(SingleRecords(cluster, witness.topic, 1)))
    producer.write("K", "K=v")
    producer.write("X", "X")
    witness.moment("written")
    return producer


def _cleaned(witness: Witness, brokers: tuple[int, ...], bound: int, moment: str) -> None:
    for broker in brokers:
        witness.await_cleaned(broker, bound)
    witness.moment(moment)
