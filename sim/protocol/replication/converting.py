"""Conversion between message formats: from producer to log, from log to reader (KIP-87).

Brokers and clients without declared versions convert nothing: there `versions` or `version` is
None. See `sim.protocol.log.formats`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sim.protocol.events import AppendRefused, Converted, Event
from sim.protocol.log import Batch, Record
from sim.protocol.log.formats import (
    MAGIC_OF_CLIENT,
    Versions,
    is_allowed,
    produced,
    serve,
    stored,
    values_lost,
)


class StoredRecords(Struct, frozen=True, gc=False):
    """A producer's records as a leader writes them.

    Attributes:
        records: Records in the format of the log; empty = all are refused, since one is not
            allowed.
        events: The conversion or the refusal; empty without either.
    """

    records: tuple[Record, ...]
    events: tuple[Event, ...] = ()


class ServedBatches(Struct, frozen=True, gc=False):
    """Stored batches as a reader gets them.

    Attributes:
        batches: Batches in a format that the reader understands.
        events: The conversion; empty without one.
    """

    batches: tuple[Batch, ...]
    events: tuple[Event, ...] = ()


def speaks(versions: Versions | None, version: int | None) -> bool:
    """Decides whether a broker understands requests of a version."""
    return versions is None or version is None or version <= versions.newest_client


def as_stored(
    leader: str, versions: Versions | None, records: tuple[Record, ...], *, version: int | None
) -> StoredRecords:
    """Converts the records of a producer of a version to what a leader writes."""
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
    """Converts batches for a consumer or a follower that fetches in a version.

    Args:
        replica: Name of the replica that serves them.
        batches: Stored batches in offset order.
        understood: Highest magic that the replica can read, so as to convert it.
        reader: Name of the consumer or follower.
        version: Version of its request.
    """
    served = serve(batches, understood=understood, client=version)
    if not served.converted_bytes:
        return ServedBatches(served.batches)
    converted = Converted(replica, reader, served.converted_bytes, served.values_lost)
    return ServedBatches(served.batches, (converted,))
