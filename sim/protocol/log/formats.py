"""Message formats of KIP-87 with their rolling upgrade, and batches of the formats before magic 2.

The mark of a delete at each stage of KIP-87:

| format       | magic | clients       | a delete is      | a null value is       |
|--------------|-------|---------------|------------------|-----------------------|
| until KIP-87 | 0, 1  | to version 2  | a null value     | a delete              |
| KIP-87's own | 2     | version 3     | the flag (bit 5) | refused without flag  |

KIP-87's magic 2 is not the one Kafka has: there bit 5 of a batch's attributes is KIP-98's control
flag, so that a tombstone would need a bit of each record. A record before magic 2 has no flag at
all: `flagged` is None. A topic that is not compacted keeps and shows the flag; as nothing compacts
it, the flag deletes nothing there. Source: KIP-87, Proposed Changes and Compatibility, Deprecation,
and Migration Plan.

| setting                       | 0.10.1                         | 0.10.2                         |
|-------------------------------|--------------------------------|--------------------------------|
| software                      | knows no flag, cleans by null  | knows it, cleans as rules say  |
| inter.broker.protocol.version | fetches in version 2, no flag  | fetches in version 3           |
| log.message.format.version    | stores magic 1, without flag   | stores magic 2                 |

A setting that is not given is as new as the software: without pinning the two lower ones, all three
change at once. Sources: KIP-87, Migration Plan (the versions and their order); KafkaConfig,
which refuses a message format above the protocol; Kafka's upgrade notes (the pinning);
ReplicaFetcherThread (the fetch version goes by the protocol). KIP-97's negotiation of versions came
later: a request in a version that a broker does not know gets no answer.

Batches before magic 2, which are converted to magic 2:

| magic | since          | has not got                                                          |
|-------|----------------|----------------------------------------------------------------------|
| 0     | 0.8            | timestamps, headers, producers, a leader epoch, room for a horizon   |
| 1     | 0.10 (KIP-32)  | headers, producers, a leader epoch, room for a horizon               |
| 2     | 0.11 (KIP-98)  |                                                                      |

An uncompressed message is a batch of its own. Several records are the content of one compressed
message, whose offset is that of its last record: it has no header in which the offsets of records
that are gone could stay. Sources: AbstractLegacyRecordBatch, LegacyRecord, MemoryRecords.filterTo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sim.protocol.log.record import STRAY_BYTES, Batch, Record, size_of

MAGIC_FLAG: Final = 2
"""KIP-87's format, in which the flag is the delete."""

TOMBSTONE_HEADER: Final = ("5", b"\x01")
"""The header that KIP-87 rejected for a flag: key 5 of KIP-82's draft, value true."""

MAGIC_OF_CLIENT = {2: 1, 3: MAGIC_FLAG}
"""Highest magic that a client of a fetch or produce version understands (KIP-87)."""

FIRST_WITH_FLAG: Final = 3
"""The first of those versions that has the flag."""


class Served(Struct, frozen=True, gc=False):
    """Stored batches in the form in which a reader gets them.

    Attributes:
        batches: Batches in offset order, in a format that the reader understands.
        converted_bytes: Size of the batches that had to be read and rewritten; 0 = zero copy.
        values_lost: Offsets of deletes whose value the reader does not get.
    """

    batches: tuple[Batch, ...]
    converted_bytes: int
    values_lost: tuple[int, ...]


def magic_of(record: Record) -> int:
    """The format of a record; 1 stands for 0, too, since they mark deletes alike."""
    return 1 if record.flagged is None else MAGIC_FLAG


def is_allowed(record: Record, *, magic: int) -> bool:
    """Decides whether a producer may send a record: at magic 2 a null value has to be a delete.

    A reader of an older format would take it for one (KIP-87, Migration Plan, NOTE).
    """
    return magic < MAGIC_FLAG or record.value is not None or record.flagged is True


def down_convert(record: Record) -> Record:
    """A record of magic 2 in magic 1, in which a delete has no value.

    A value that is not a delete is left as it is.
    """
    return replace(record, value=None if record.flagged else record.value, flagged=None)


def up_convert(record: Record) -> Record:
    """A record of magic 0 or 1 in magic 2: a null value is flagged as a delete.

    The KIP does not say it; a delete of an old producer would be lost otherwise. A value that was
    lost on the way down does not come back.
    """
    return replace(record, flagged=record.value is None)


def produced(record: Record, *, client: int) -> Record:
    """A record as a producer of version `client` sends it: 2 has a null value for the flag."""
    return record if MAGIC_OF_CLIENT[client] == MAGIC_FLAG else down_convert(record)


def stored(record: Record, *, produced: int, message_format: int) -> Record:
    """A record as a broker writes it that was produced at magic `produced`.

    `message_format` is the magic of `log.message.format.version`: until it is raised, the deletes
    of new producers lose their values here, for all readers. The record is one that is allowed.
    """
    if message_format < MAGIC_FLAG:
        return down_convert(record)
    return record if produced == MAGIC_FLAG else up_convert(record)


def serve(batches: Sequence[Batch], *, understood: int, client: int) -> Served:
    """Data batches in the form in which a client or a follower gets them.

    A reader that does not understand the format of a batch costs the broker its zero copy: the
    whole batch is read and rewritten, not only its deletes.

    Args:
        batches: In offset order, perhaps of different formats.
        understood: Highest magic that the broker understands; it converts nothing above.
        client: Fetch version, see `MAGIC_OF_CLIENT`.
    """
    if understood <= MAGIC_OF_CLIENT[client]:
        return Served(tuple(batches), 0, ())
    newer = [_is_newer(batch) for batch in batches]
    if not any(newer):
        return Served(tuple(batches), 0, ())
    pairs = list(zip(batches, newer, strict=True))
    return Served(
        tuple([_converted(batch) if is_newer else batch for batch, is_newer in pairs]),
        sum(batch.size_bytes for batch, is_newer in pairs if is_newer),
        tuple(values_lost(record for batch in batches for record in batch.records)),
    )


def values_lost(records: Iterable[Record]) -> list[int]:
    """Offsets of the deletes that lose a value when they are down-converted."""
    return [record.offset for record in records if record.flagged and record.value is not None]


def _is_newer(batch: Batch) -> bool:
    """Recognises a record of magic 2 in a batch; markers and empty batches have no format."""
    return batch.control is None and any(magic_of(record) > 1 for record in batch.records)


def _converted(batch: Batch) -> Batch:
    """The batch after down-conversion: smaller by the values that are lost."""
    records = tuple(down_convert(record) for record in batch.records)
    size = size_of(
        records, base_offset=batch.base_offset, base_timestamp_ms=batch.delete_horizon_ms
    )
    return replace(batch, records=records, size_bytes=size)


OLD, NEW = "0.10.1", "0.10.2"
"""The releases before and with KIP-87."""

RELEASES = (OLD, NEW)

SOFTWARE = "software"
PROTOCOL = "inter.broker.protocol.version"
MESSAGE_FORMAT = "log.message.format.version"
VERSION_SETTINGS = (SOFTWARE, PROTOCOL, MESSAGE_FORMAT)
"""The settings by the names they have in files, the one that bounds the others first."""


class Versions(NamedTuple):
    """The version settings of one broker; None = as new as the software.

    Attributes:
        software: Release of its code.
        protocol: `inter.broker.protocol.version`.
        message_format: `log.message.format.version`.
    """

    software: str
    protocol: str | None = None
    message_format: str | None = None

    @property
    def newest_client(self) -> int:
        """Highest fetch and produce version it understands."""
        return 2 if self.software == OLD else 3

    @property
    def understood(self) -> int:
        """Highest magic it can read, so as to convert it."""
        return 1 if self.software == OLD else MAGIC_FLAG

    @property
    def fetch_version(self) -> int:
        """The version in which it fetches from a leader."""
        return 2 if (self.protocol or self.software) == OLD else 3

    @property
    def stores(self) -> int:
        """The magic in which it appends what producers send."""
        return 1 if (self.message_format or self.software) == OLD else MAGIC_FLAG

    @property
    def given(self) -> dict[str, str]:
        """The settings that are given, by their names in `VERSION_SETTINGS`."""
        pairs = zip(VERSION_SETTINGS, self, strict=True)
        return {name: value for name, value in pairs if value is not None}

    def with_settings(self, settings: Mapping[str, object]) -> Versions:
        """These versions with those that `settings` names by `VERSION_SETTINGS`."""
        given = [settings.get(name, old) for name, old in zip(VERSION_SETTINGS, self, strict=True)]
        return Versions(*given)  # type: ignore[arg-type]

    def contradiction(self) -> str | None:
        """The reason, a clause, why a broker does not start with these settings; None = it does."""
        protocol = self.protocol or self.software
        message_format = self.message_format or self.software
        if protocol > self.software:
            return f"{PROTOCOL} {protocol} is above the software, {self.software}"
        if message_format > protocol:
            return f"{MESSAGE_FORMAT} {message_format} is above {PROTOCOL}, {protocol}"
        return None


def speaks(versions: Versions | None, version: int | None) -> bool:
    """Decides whether a broker understands requests of a version.

    Brokers and clients that declare no versions understand each other.
    """
    return versions is None or version is None or version <= versions.newest_client


OVERHEAD_BYTES: Final = {0: 12 + 14, 1: 12 + 22}
"""Magic -> bytes of a message beside key and value: offset, size and header (LegacyRecord)."""


class OldBatch(Batch, frozen=True, gc=False, array_like=True):
    """A batch of magic 0 or 1: data, of no producer, with at least one record.

    Attributes:
        magic: Number of its format: 0 without timestamps, 1 with them (KIP-32).
    """

    magic: int = 1

    def rebuilt(self, records: tuple[Record, ...], delete_horizon_ms: int | None) -> Batch:
        """The batch with fewer records in its own format, which has no place for a horizon.

        It begins at the first and ends at the last of `records`.
        """
        del delete_horizon_ms
        return old_batch(self.magic, records)


def old_batch(magic: int, records: tuple[Record, ...]) -> OldBatch:
    """A batch of magic 0 or 1 that holds `records`: at least one, of magic 0 without a time."""
    return OldBatch(
        base_offset=records[0].offset,
        last_offset=records[-1].offset,
        epoch=-1,
        records=records,
        timestamp_ms=max(record.timestamp_ms for record in records),
        size_bytes=size_of_old(records, magic),
        magic=magic,
    )


def size_of_old(records: Iterable[Record], magic: int) -> int:
    """Bytes of a batch before compression; several records are the content of one more message."""
    sizes = [
        OVERHEAD_BYTES[magic]
        + sum(
            len(text.encode(errors=STRAY_BYTES))
            for text in (record.key, record.value)
            if text is not None
        )
        for record in records
    ]
    return sum(sizes) + (OVERHEAD_BYTES[magic] if len(sizes) > 1 else 0)


def converted(batch: Batch, records: tuple[Record, ...]) -> Batch:
    """A batch of magic 0 or 1 as one of magic 2, with those of its records that stay.

    It begins at the first and ends at the last of `records`. Source:
    MemoryRecords.buildRetainedRecordsInto since KAFKA-13093 (KIP-724).
    """
    newer = tuple([up_convert(record) for record in records])
    return Batch(
        base_offset=newer[0].offset,
        last_offset=newer[-1].offset,
        epoch=batch.epoch,
        records=newer,
        timestamp_ms=max([record.timestamp_ms for record in newer]),
        size_bytes=size_of(newer, base_offset=newer[0].offset),
    )
