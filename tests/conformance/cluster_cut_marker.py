"""An ABORT marker is cut off by a broker that knows no producer any more.

Broker 1 alone has the marker, and is replaced by broker 2, which never got it (an unclean
election). The transaction is open again on both; an operator aborts it once more; broker 1 leads.
The near miss differs in `producer.id.expiration.ms` alone: broker 1 still knows the producer.
"""

from __future__ import annotations

from contextlib import ExitStack, closing

from tests.conformance.cluster_clients import ClusterAdministrator
from tests.conformance.cluster_moments import Witness
from tests.conformance.cluster_topic import (
    Say,
    SingleRecords,
    coordinate_on,
    create_topic,
    let_fetches_end,
)
from tests.conformance.nodes import Cluster

NOBODY = "kafka_08_cut_marker_nobody_known"
KNOWN = "kafka_09_cut_marker_producer_known"
_DAY_MS = 86_400_000
_EXPIRATION_MS = {KNOWN: _DAY_MS, NOBODY: 1_500}


def drive_cut_markers(
    cluster: Cluster, administrator: ClusterAdministrator, say: Say
) -> list[Witness]:
    """Carry out both stories, one after the other.

    Raises:
        Differs: A replica does not hold what the story predicts.
        BadInput: What is waited for does not happen in time.
    """
    coordinate_on(administrator, (3, 1, 2))
    return [_drive(story, cluster, administrator, say) for story in _EXPIRATION_MS]


def _drive(story: str, cluster: Cluster, administrator: ClusterAdministrator, say: Say) -> Witness:
    expiration_ms = _EXPIRATION_MS[story]
    say(f"a cut marker: producers are known for {expiration_ms} ms")
    administrator.expire_producers_after(expiration_ms)
    witness = Witness(cluster, administrator, story, story)
    settings = {"cleanup.policy": "compact", "unclean.leader.election.enable": "true"}
    create_topic(administrator, story, (1, 2), settings)
    witness.await_leader(1, (1, 2))
    with ExitStack() as stack:
        records, transactions = (
            stack.enter_context(closing(SingleRecords(cluster, story, 1, transactional_id=own)))
            for own in (None, story)
        )
        records.write("K", "K=old")
        transactions.begin()
        transactions.write("K", "K=aborted")
        witness.moment("written")
        say("a cut marker: broker 1 writes it alone, and is away until broker 2 leads")
        _fail_over(cluster, administrator, witness, transactions)
        say("a cut marker: broker 1 is back, the transaction is aborted again, broker 1 leads")
        witness.await_leader(2, (1, 2))
        witness.await_end(1, 2)
        witness.moment("truncated")
        administrator.expire_producers_after(_DAY_MS)  # what follows is known on both brokers
        administrator.abort_open(story)
        witness.moment("aborted_again")
        administrator.prefer(story, (1, 2))
        witness.await_leader(1, (1, 2))
        records.write("W", "W")
        witness.moment("elected", leader=1, isolation="read_committed")
        records.roll("Z", "Z")
    for broker in (1, 2):
        witness.await_cleaned(broker, 4)
    witness.moment("cleaned", leader=1, isolation="read_committed")
    return witness


def _fail_over(
    cluster: Cluster,
    administrator: ClusterAdministrator,
    witness: Witness,
    transactions: SingleRecords,
) -> None:
    """Broker 1 has a marker that broker 2 does not get, and is away until broker 2 leads."""
    with ExitStack() as away:
        with cluster.paused(2):
            let_fetches_end()
            transactions.end(commit=False)  # when the controller has fenced broker 2
            witness.await_end(1, 3)
            witness.moment("aborted")
            if witness.story == NOBODY:
                administrator.await_forgotten(witness.topic, 1)
            away.enter_context(cluster.paused(1))
        witness.await_epoch(2, 1)  # the controller has fenced broker 1
        witness.moment("failed_over")
