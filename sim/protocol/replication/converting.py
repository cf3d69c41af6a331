"""What mixed software makes of records on their way: producer to log, log to reader (KIP-87).

Nothing happens here where brokers or clients have no versions: there `versions` or `version` is
None. See `sim.protocol.log.formats`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sim.protocol.events import AppendRefused, Converted, Event
from sim.protocol.log import Batch, Record
from sim.protocol.log.formats import (
    MAGIC_OF_CLIENT,
    Served,
    Versions,
    is_allowed,
    produced,
    serve,
    stored,
    values_lost,
)


class StoredRecords(Struct, frozen=True, gc=False):
    """What a leader writes of what a producer sends.

    Attributes:
        records: In the format of its log; empty = it refuses all of them, since one is not allowed.
        events: What happened.
    """

    records: tuple[Record, ...]
    events: tuple[Event, ...] = ()


class ServedBatches(Struct, frozen=True, gc=False):
    """What a reader is given of stored batches.

    Attributes:
        batches: In a format that it understands.
        events: What happened.
    """

    batches: tuple[Batch, ...]
    events: tuple[Event, ...] = ()


def speaks(versions: Versions | None, version: int | None) -> bool:
    """Whether a broker understands requests of a version."""
    return versions is None or version is None or version <= versions.newest_client


def as_stored(
    leader: str, versions: Versions | None, records: tuple[Record, ...], *, version: int | None
) -> StoredRecords:
    """What a leader writes of what a producer of a version sends."""
    if versions is None or version is None:
        return StoredRecords(records)
    sent = [produced(record, client=version) for record in records]
    magic = MAGIC_OF_CLIENT[version]
    for record in sent:
        if not is_allowed(record, magic=magic):
            return StoredRecords((), (AppendRefused(leader, record.key, "null_value"),))
    written = tuple([stored(r, produced=magic, message_format=versions.stores) for r in sent])
    lost = tuple(values_lost(sent)) if versions.stores < magic else ()
    return StoredRecords(written, (Converted(leader, leader, 0, lost),) if lost else ())


def as_served(
    replica: str, batches: Sequence[Batch], *, understood: int, reader: str, version: int
) -> ServedBatches:
    """What a replica gives a consumer or a follower that asks in a version.

    Args:
        replica: Who is asked.
        batches: What it has to give, in offset order.
        understood: Highest magic that the replica can read, so as to convert it.
        reader: Who asks.
        version: In which version.
    """
    served = serve(batches, understood=understood, client=version)
    return ServedBatches(served.batches, _conversion(replica, reader, served))


def _conversion(replica: str, reader: str, served: Served) -> tuple[Event, ...]:
    if not served.converted_bytes:
        return ()
    return (Converted(replica, reader, served.converted_bytes, served.values_lost),)
