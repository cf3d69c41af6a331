"""Aborted transactions on a real cluster while a broker is away, in one outage.

Broker 3 has the transaction's record and misses its ABORT marker. The topics differ in how long
markers are kept, and in what more comes of the producer: another transaction, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass

from tests.conformance.cluster_clients import ClusterAdministrator
from tests.conformance.cluster_moments import Witness
from tests.conformance.cluster_topic import (
    Say,
    SingleRecords,
    coordinate_on,
    create_topic,
    let_fetches_end,
)
from tests.conformance.nodes import BROKERS, Cluster

READ = "kafka_05_aborted_record_is_read"
KEPT_BACK = "kafka_06_aborted_record_is_kept_back"
HANGS = "kafka_07_transaction_hangs"
_RETENTION_MS: Mapping[str, int] = {READ: 0, KEPT_BACK: 3_600_000, HANGS: 0}
_ROLLS = {"X": "first_pass", "Y": "second_pass", "Z": "third_pass"}


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic of one story, and who writes to it."""

    witness: Witness
    records: SingleRecords
    transactions: SingleRecords


def drive_transactions(
    cluster: Cluster, administrator: ClusterAdministrator, say: Say
) -> list[Witness]:
    """Carry out the three stories.

    Raises:
        Differs: A replica does not hold what the story predicts.
        BadInput: What is waited for does not happen in time.
    """
    say("an ABORT marker: its transaction is begun with three replicas in sync")
    coordinate_on(administrator, BROKERS)
    with ExitStack() as stack:
        topics = [_begin(story, cluster, administrator, stack) for story in _RETENTION_MS]
        with cluster.paused(3):
            let_fetches_end()
            say("an ABORT marker: broker 3 is away until it is cleaned away")
            ends = {topic.witness.story: _end(topic) for topic in topics}
            for key, moment in _ROLLS.items():
                for topic in topics:
                    end = ends[topic.witness.story]
                    topic.records.roll(key, key)
                    _cleaned(topic.witness, (1, 2), end, moment)
                    ends[topic.witness.story] = end + 1
        say("an ABORT marker: broker 3 is back, and is elected")
        for topic in topics:
            _elect(topic, administrator, ends[topic.witness.story])
    return [topic.witness for topic in topics]


def _begin(
    story: str, cluster: Cluster, administrator: ClusterAdministrator, stack: ExitStack
) -> _Topic:
    """Create the topic; all replicas get the record of a transaction."""
    witness = Witness(cluster, administrator, story, story)
    settings = {"delete.retention.ms": str(_RETENTION_MS[story]), "cleanup.policy": "compact"}
    create_topic(administrator, story, BROKERS, settings)
    witness.await_leader(1, BROKERS)
    records, transactions = (
        stack.enter_context(closing(SingleRecords(cluster, story, 1, transactional_id=own)))
        for own in (None, story)
    )
    transactions.begin()
    transactions.write("K", "K=aborted")
    witness.moment("written")
    return _Topic(witness, records, transactions)


def _end(topic: _Topic) -> int:
    """Abort the transaction, go on unless it is to hang; returns the log end (exclusive)."""
    witness, transactions = topic.witness, topic.transactions
    transactions.end(commit=False)  # when the controller has fenced broker 3
    _both_have(witness, 2)
    if witness.story == HANGS:
        return 2
    transactions.begin()
    transactions.write("L", "L=good")
    transactions.end(commit=True)
    _both_have(witness, 4)
    return 4


def _both_have(witness: Witness, end: int) -> None:
    for broker in (1, 2):
        witness.await_end(broker, end)


def _cleaned(witness: Witness, brokers: tuple[int, ...], bound: int, moment: str) -> None:
    for broker in brokers:
        witness.await_cleaned(broker, bound)
    witness.moment(moment)


def _elect(topic: _Topic, administrator: ClusterAdministrator, end: int) -> None:
    """Broker 3 catches up, cleans where nothing hangs, leads, and is read from."""
    witness = topic.witness
    witness.await_leader(1, BROKERS)
    hangs = witness.story == HANGS
    _cleaned(witness, () if hangs else (3,), end - 1, "back")
    administrator.prefer(witness.topic, (3, 1, 2))
    witness.await_leader(3, BROKERS)
    topic.records.write("W", "W")
    witness.moment("elected", leader=3, isolation="read_committed")
