"""KAFKA-17076 on a real cluster: all that is left at the end of a log is an empty segment.

Broker 1 leads and rolls with a record that broker 2 never gets; it is away until broker 2 leads,
and cuts the record off, which leaves its active segment empty. Then records without a key go, since
the topic becomes a compacted one, and broker 3 is filled from that log and elected. Before
KAFKA-17076 it gives committed offsets to other records (3.8.0); since then an empty batch stays and
keeps them (4.3.1).
"""

from __future__ import annotations

from contextlib import ExitStack, closing

from tests.conformance.cluster_clients import ClusterAdministrator
from tests.conformance.cluster_moments import Witness
from tests.conformance.cluster_topic import Say, SingleRecords, create_topic, let_fetches_end
from tests.conformance.nodes import BROKERS, Cluster

LOST = "kafka_03_lost_log_end"
KEPT = "kafka_04_log_end_kept"


def drive_log_end(
    cluster: Cluster, administrator: ClusterAdministrator, say: Say, *, story: str
) -> list[Witness]:
    """Carry out the story of this release: `LOST` or `KEPT`.

    Raises:
        Differs: A replica does not hold what the story predicts.
        BadInput: What is waited for does not happen in time.
    """
    say("a log end: three records without a key behind one with a key, on brokers 1 and 2")
    witness = Witness(cluster, administrator, story, story)
    create_topic(administrator, story, (1, 2), {"cleanup.policy": "delete"})
    witness.await_leader(1, (1, 2))
    with closing(SingleRecords(cluster, story, 1, acks="1")) as producer:
        producer.write("A", "A")
        for value in ("u1", "u2", "u3"):
            producer.write(None, value)
        witness.await_end(2, 4)
        witness.moment("written")
        say("a log end: broker 1 is away with a record that broker 2 never got")
        _fail_over(cluster, witness, producer)
        witness.await_leader(2, (1, 2))
        witness.await_end(1, 4)
        witness.moment("truncated")
        administrator.change(story, {"cleanup.policy": "compact"})
        witness.await_cleaned(1, 4)
        witness.moment("cleaned")
    say("a log end: broker 1 leads again, broker 3 is filled from it, and is elected")
    administrator.prefer(story, (1, 2))
    witness.await_leader(1, (1, 2))
    witness.moment("back")
    administrator.reassign(story, (3, 1, 2))
    witness.await_leader(1, BROKERS)
    witness.moment("joined")
    administrator.prefer(story, (3, 1, 2))
    witness.await_leader(3, BROKERS)
    with closing(SingleRecords(cluster, story, 3)) as producer:
        producer.write("E", "E")
    witness.moment("elected", leader=3)
    return [witness]


def _fail_over(cluster: Cluster, witness: Witness, producer: SingleRecords) -> None:
    """Broker 1 writes what broker 2 does not get, and is away until broker 2 leads."""
    with ExitStack() as away:
        with cluster.paused(2):
            let_fetches_end()
            producer.roll("T", "T")
            witness.moment("tail")
            away.enter_context(cluster.paused(1))
        witness.await_epoch(2, 1)  # the controller has fenced broker 1
        witness.moment("failed_over")
