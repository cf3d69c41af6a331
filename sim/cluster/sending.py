"""From what a producer decided to the records a leader is asked to append."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sim.compaction.strategies import ENCODERS
from sim.log import Record
from sim.scenario.model import EndTransaction, Send

if TYPE_CHECKING:
    from sim.cluster.context import World

Headers = tuple[tuple[str, bytes], ...]
"""Name and value of each header of a record."""


class Line(NamedTuple):
    """Decisions that become one batch: records of one producer, or the end of a transaction.

    `headers` are those of each record beside its version; empty = no record has any.
    """

    sends: tuple[Send, ...]
    end: EndTransaction | None = None
    headers: tuple[Headers, ...] = ()


def records_of(world: World, line: Line, *, offset: int) -> tuple[Record, ...]:
    """The records of a line from `offset` on, each with an identity of its own."""
    header = world.rules.topic.strategy_header
    marked = world.rules.cleaner.tombstone_mark != "null_value"
    sends, more = line.sends, line.headers
    encode = ENCODERS[world.rules.cleaner.header_form]
    versions: list[Headers] = [
        () if send.version is None else ((header, encode(send.version)),) for send in sends
    ]
    return tuple(
        Record(
            offset + index,
            send.key,
            send.value,
            send.timestamp_ms,
            versions[index] + more[index] if more else versions[index],
            marked and send.value is None if send.flag is None else send.flag,
            world.take_uid(),
        )
        for index, send in enumerate(sends)
    )
