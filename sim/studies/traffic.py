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


def traffic_of_a_failure(*, brokers: int, partitions: int) -> tuple[Traffic, Traffic]:
    """The failure of one of `brokers`, with records by key and with deltas.

    As in the KIP's example each partition counts once, and every broker is sent each record, which
    is a batch of its own. The `partitions` of the whole cluster are spread over `brokers` evenly.
    """
    return (
        _traffic("key-value", "IsrChange", ISR_CHANGE, partitions // brokers, brokers),
        _traffic("deltas", "DeleteBroker", DELETE_BROKER, 1, brokers),
    )


def _traffic(
    design: str, record: str, fields: dict[str, int], records: int, receivers: int
) -> Traffic:
    record_bytes, key_bytes = sum(fields.values()), KEY_BYTES[record]
    framed = size_of([Record(0, "k" * key_bytes, "v" * (record_bytes - key_bytes), 0)])
    to_each, framed_to_each = records * record_bytes, records * framed
    return Traffic(
        design,
        record,
        record_bytes,
        records,
        to_each,
        to_each * receivers,
        framed_to_each * receivers,
    )
