"""Segment files as Replog's reader of partitions takes them, in the forms that are compared.

That it reads what Kafka's own classes read is compared in `tests.conformance.partitions`. The files
may belong to a running broker; they are only read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import asdict

from sim.protocol.log import AbortedTransaction, Batch, Record
from sim.protocol.log.formats import OldBatch
from sim.simulate.partition.segments import Detail, Stored, segment_at
from tests.conformance.compare import Json


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment as it is on disk.

    Attributes:
        base_offset: Its base offset.
        stored: Its batches.
        aborted: The entries of its index of aborted transactions.
    """

    base_offset: int
    stored: Sequence[Stored]
    aborted: Sequence[AbortedTransaction]

    @property
    def batches(self) -> list[Json]:
        """The batches of the segment in the form of a log file."""
        return [as_json(one.batch) for one in self.stored]


@dataclass(frozen=True, slots=True)
class StoredLog:
    """The segments of a partition as they are on disk.

    Attributes:
        segments: The segments in order, the active one last.
    """

    segments: Sequence[StoredSegment]

    @property
    def batches(self) -> list[Json]:
        """All batches in order, in the form of a log file."""
        return [batch for segment in self.segments for batch in segment.batches]

    @property
    def aborted(self) -> list[Json]:
        """The entries of all indexes of aborted transactions, in the order of the segments."""
        return [asdict(entry) for segment in self.segments for entry in segment.aborted]

    @property
    def end(self) -> int:
        """Log end offset: after the last batch, or the base of an empty active segment.

        0 where a broker has made the folder, and no segment in it yet.
        """
        ends = [one.batch.last_offset + 1 for segment in self.segments for one in segment.stored]
        return max(ends[-1:] + [segment.base_offset for segment in self.segments[-1:]], default=0)

    def answered(self) -> Json:
        """The batches, and what follows from them, in the form of an answer to a log file."""
        stored = [(segment, one) for segment in self.segments for one in segment.stored]
        records = [(record, one.batch.control) for _, one in stored for record in one.batch.records]
        deletes = [one for one, control in records if one.value is None and control is None]
        return {
            "batches": [_answered(segment.base_offset, one) for segment, one in stored],
            "surviving_offsets": [record.offset for record, _ in records],
            "tombstone_offsets": [record.offset for record in deletes],
            "aborted_txns": self.aborted,
        }


def _answered(segment: int, stored: Stored) -> Json:
    batch = stored.batch
    return {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "record_offsets": [record.offset for record in batch.records],
        "delete_horizon_ms": batch.delete_horizon_ms,
        "control": None if batch.control is None else str(batch.control),
        "max_timestamp_ms": batch.timestamp_ms,
        # That of a compressed one depends on a library.
        "size_bytes": batch.size_bytes if stored.codec == "none" else None,
        "segment": segment,
        **({"magic": batch.magic} if isinstance(batch, OldBatch) else {}),
    }


def read_log(partition: Path, *, since: int = 0) -> StoredLog:
    """Reads the segments in a partition's folder with a base offset from `since` on, in order.

    No cleaner may work on them meanwhile: it would replace files while they are read.
    """
    return StoredLog([_segment(file) for file in _files(partition) if int(file.stem) >= since])


def bases_in(partition: Path) -> list[int]:
    """The base offsets of a partition's segments, in order."""
    return [int(file.stem) for file in _files(partition)]


def _files(partition: Path) -> list[Path]:
    return sorted(partition.glob("*.log"))


def _segment(file: Path) -> StoredSegment:
    found = segment_at(file)
    return StoredSegment(found.base_offset, list(found.read(Detail.WHOLE)), found.aborted or ())


def as_json(batch: Batch) -> Json:
    """A batch in the form of a log file; an emptied marker that no index has counts as COMMIT."""
    left_out = {"size_bytes", "magic", "records"}
    fields = {name: value for name, value in asdict(batch).items() if name not in left_out}
    control = None if batch.control is None else str(batch.control)
    records = [_record(one, control) for one in batch.records]
    return {**fields, "control": control, "records": records}


def _record(record: Record, control: str | None) -> Json:
    return {
        "offset": record.offset,
        "key": record.key,
        "value": record.value,
        "timestamp_ms": record.timestamp_ms,
        "headers": [[name, {"hex": content.hex()}] for name, content in record.headers],
        **({} if control is None else {"marker": control}),
    }
