"""How many bytes a broker's failure sends to all others: KIP-630, Amount of Data Replicated.

With records that can be compacted by key, each partition the broker led, or was in sync with, is a
record of its own. With deltas one event says that the broker is gone and every replica works out
the rest. Pure arithmetic; the small cases agree with what simulated clusters count.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.log import Record
from sim.log.record import size_of

ISR_CHANGE: dict[str, int] = {
    "partition": 4,
    "topic": 16,
    "in-sync replicas": 8,
    "leader": 4,
    "epoch": 4,
    "key": 2,
    "version": 2,
}
"""Bytes of each field of the record that says who leads a partition and who is in sync."""

DELETE_BROKER: dict[str, int] = {"broker": 4, "key": 2, "version": 2}
"""Bytes of each field of the event that says that a broker is gone."""

KEY_BYTES = {"IsrChange": ISR_CHANGE["topic"] + ISR_CHANGE["partition"], "DeleteBroker": 4}
"""How much of a record is its key; it makes no difference to the sums without framing."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one failed broker costs under one design.

    Attributes:
        design: `key-value` or `deltas`.
        record: What is written.
        record_bytes: Bytes of its fields.
        records: So many are written.
        per_replica: Bytes each replica is sent, fields alone.
        to_all: Bytes all of them are sent, fields alone.
        framed_to_all: The same with record and batch headers.
    """

    design: str
    record: str
    record_bytes: int
    records: int
    per_replica: int
    to_all: int
    framed_to_all: int


def traffic_of_a_failure(
    *,
    brokers: int,
    partitions: int,
    replication: int = 1,
    receivers: int | None = None,
    batch_records: int = 1,
) -> tuple[Traffic, Traffic]:
    """The failure of one of `brokers`, with records by key and with deltas.

    Args:
        brokers: Over which the replicas are spread evenly.
        partitions: Of the whole cluster.
        replication: Replicas of each partition. The KIP's own example leaves them out: 1.
        receivers: Replicas that are sent the records; None = one per broker.
        batch_records: So many records go into one batch, the last one of fewer; for the framed sum.

    Raises:
        ValueError: A number is below 1.
    """
    count = brokers if receivers is None else receivers
    if min(brokers, partitions, replication, count, batch_records) < 1:
        raise ValueError("every number has to be 1 or more")
    affected = partitions * replication // brokers
    return (
        _traffic(
            "key-value", "IsrChange", sum(ISR_CHANGE.values()), affected, count, batch_records
        ),
        _traffic("deltas", "DeleteBroker", sum(DELETE_BROKER.values()), 1, count, batch_records),
    )


def _traffic(
    design: str, record: str, record_bytes: int, records: int, receivers: int, batch_records: int
) -> Traffic:
    key_bytes = KEY_BYTES[record]
    framed = framed_bytes(records, key_bytes, record_bytes - key_bytes, batch_records=batch_records)
    bare = records * record_bytes
    return Traffic(
        design, record, record_bytes, records, bare, bare * receivers, framed * receivers
    )


def framed_bytes(records: int, key_bytes: int, value_bytes: int, *, batch_records: int) -> int:
    """Bytes of equal records in batches of `batch_records`, with all headers and one timestamp."""

    def batch(size: int) -> int:
        key, value = "k" * key_bytes, "v" * value_bytes
        return size_of(Record(number, key, value, 0) for number in range(size)) if size else 0

    whole, rest = divmod(records, batch_records)
    return whole * batch(batch_records if whole else 0) + batch(rest)
