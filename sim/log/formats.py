"""KIP-87's message formats side by side: what marks a delete in each, and what converting costs.

| format       | magic | clients       | a delete is      | a null value is       |
|--------------|-------|---------------|------------------|-----------------------|
| until KIP-87 | 0, 1  | to version 2  | a null value     | a delete              |
| KIP-87's own | 2     | version 3     | the flag (bit 5) | refused without flag  |

KIP-87's magic 2 is not the one Kafka has: see `sim.log.attributes`. A topic that is not compacted
keeps and shows the flag; as nothing compacts it, the flag deletes nothing there. Source: KIP-87,
Proposed Changes and Compatibility, Deprecation, and Migration Plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sim.errors import BadInput
from sim.log.record import Batch, Record, size_of

MAGIC_NULL_VALUE = (0, 1)
"""Formats in which a null value is the delete."""

MAGIC_FLAG = 2
"""KIP-87's format, in which the flag is the delete."""

MAGIC_OF_CLIENT = {2: 1, 3: MAGIC_FLAG}
"""Highest magic that a client of a fetch or produce version understands (KIP-87)."""


class Served(NamedTuple):
    """What a reader is given of stored batches.

    Attributes:
        records: In offset order, in the reader's format.
        converted_bytes: Size of the batches that had to be read and written anew; 0 = zero copy.
        values_lost: Offsets of deletes whose value the reader does not get.
    """

    records: tuple[Record, ...]
    converted_bytes: int
    values_lost: tuple[int, ...]


def is_tombstone(record: Record, *, magic: int) -> bool:
    """Whether a record in the format `magic` is a delete: what cleaner and reader go by.

    Raises:
        BadInput: There is no such format.
    """
    if magic in MAGIC_NULL_VALUE:
        return record.value is None
    _check_magic(magic)
    return record.flagged


def check_allowed(record: Record, *, magic: int) -> None:
    """Refuse what a producer must not send: at magic 2 a null value that is not a delete.

    A reader of an older format would take it for a delete (KIP-87, Migration Plan, NOTE).

    Raises:
        BadInput: The record is not allowed, or there is no such format.
    """
    _check_magic(magic)
    if magic == MAGIC_FLAG and record.value is None and not record.flagged:
        raise BadInput(
            f"record of key {record.key!r}: a null value without the tombstone flag, which readers "
            "before magic 2 take for a delete; allowed: a value, or the flag"
        )


def down_convert(record: Record) -> Record:
    """A record of magic 2 as magic 1 can say it: a delete has no value, whatever it said.

    A value that is not a delete is left as it is.
    """
    return record._replace(value=None, flagged=False) if record.flagged else record


def up_convert(record: Record) -> Record:
    """A record of magic 0 or 1 as magic 2 says it: what is null is flagged.

    The KIP does not say it; a delete of an old producer would be lost otherwise. A value that was
    lost on the way down does not come back.
    """
    return record._replace(flagged=record.value is None)


def stored(record: Record, *, produced: int, message_format: int) -> Record:
    """What a broker writes of a record produced at magic `produced`.

    `message_format` is the magic of `log.message.format.version`: until it is raised, the deletes
    of new producers lose their values here, for everybody.

    Raises:
        BadInput: The record is not allowed in its format, or there is no such format.
    """
    _check_magic(message_format)
    check_allowed(record, magic=produced)
    if produced == MAGIC_FLAG and message_format < MAGIC_FLAG:
        return down_convert(record)
    if produced < MAGIC_FLAG and message_format == MAGIC_FLAG:
        return up_convert(record)
    return record


def serve(batches: Sequence[Batch], *, message_format: int, client: int) -> Served:
    """What a client is given of data batches that are stored at magic `message_format`.

    A client that does not understand the format costs the broker its zero copy: every batch is
    read and written anew, not only those with deletes.

    Args:
        batches: In offset order.
        message_format: Magic of the stored records.
        client: Fetch version, see `MAGIC_OF_CLIENT`.

    Raises:
        BadInput: There is no such format or client.
    """
    _check_magic(message_format)
    if client not in MAGIC_OF_CLIENT:
        known = ", ".join(str(version) for version in MAGIC_OF_CLIENT)
        raise BadInput(f"client of version {client}; allowed: {known}")
    records = tuple(record for batch in batches for record in batch.records)
    if message_format <= MAGIC_OF_CLIENT[client]:
        return Served(records, 0, ())
    return Served(
        tuple(down_convert(record) for record in records),
        sum(batch.size_bytes for batch in batches),
        tuple(record.offset for record in records if record.flagged and record.value is not None),
    )


def converted_size(batch: Batch) -> int:
    """Bytes of a batch after down-conversion: less by the values that are lost."""
    records = tuple(down_convert(record) for record in batch.records)
    return size_of(
        records, base_offset=batch.base_offset, base_timestamp_ms=batch.delete_horizon_ms
    )


def _check_magic(magic: int) -> None:
    if magic != MAGIC_FLAG and magic not in MAGIC_NULL_VALUE:
        allowed = ", ".join(str(known) for known in (*MAGIC_NULL_VALUE, MAGIC_FLAG))
        raise BadInput(f"message format of magic {magic}; allowed: {allowed}")
