"""Segment files, read with Kafka's own classes into the form of a log file.

The files may belong to a running broker; they are only read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype

from sim.protocol.log.record import STRAY_BYTES
from tests.conformance.compare import Json
from tests.conformance.jvm import java_class

CURRENT_MAGIC = 2

Answer = dict[str, Any]
"""An object of the JSON output: a batch, a step, the whole answer."""


def control_kinds() -> Any:
    """Kafka's class `ControlRecordType`, in any release."""
    return java_class("common.record.internal.ControlRecordType", "common.record.ControlRecordType")


class SegmentReader:
    """Reads batches from Kafka's `FileRecords`."""

    def __init__(self) -> None:
        self._kinds = control_kinds()

    def batches(
        self, records: Any, *, base_offset: int, controls: Mapping[int, str]
    ) -> Iterator[tuple[Answer, list[int]]]:
        """All batches of a segment as answers have them, each with the offsets of its tombstones.

        Args:
            records: Kafka's `FileRecords` of the segment.
            base_offset: Base offset of the segment.
            controls: Type of each control batch by its last offset. An emptied control batch has
                lost its record, and with it the difference between a commit and an abort.
        """
        for batch in records.batches():
            last_offset = int(batch.lastOffset())
            is_control = bool(batch.isControlBatch())
            control = controls[last_offset] if is_control else None
            offsets, tombstones = [], []
            for record in batch:
                offsets.append(int(record.offset()))
                if is_control:
                    control = str(self._kinds.parse(record.key()).name())
                elif not record.hasValue():
                    tombstones.append(offsets[-1])
            answer = {
                "base_offset": int(batch.baseOffset()),
                "last_offset": last_offset,
                "record_offsets": offsets,
                "delete_horizon_ms": horizon_of(batch),
                "control": control,
                "max_timestamp_ms": int(batch.maxTimestamp()),
                # That of a compressed one depends on a library.
                "size_bytes": None if batch.isCompressed() else int(batch.sizeInBytes()),
                "segment": base_offset,
                **({} if batch.magic() >= CURRENT_MAGIC else {"magic": int(batch.magic())}),
            }
            yield answer, tombstones


def aborted(transaction: Any) -> Answer:
    """An entry of a segment's transaction index, as answers have it."""
    return {
        "producer_id": int(transaction.producerId()),
        "first_offset": int(transaction.firstOffset()),
        "last_offset": int(transaction.lastOffset()),
        "last_stable_offset": int(transaction.lastStableOffset()),
    }


def horizon_of(batch: Any) -> int | None:
    """Delete horizon of a batch in ms; None without one, as in releases before KIP-534."""
    if not hasattr(batch, "deleteHorizonMs"):
        return None
    horizon = batch.deleteHorizonMs()
    return int(horizon.getAsLong()) if horizon.isPresent() else None


@dataclass(frozen=True, slots=True)
class RawSegment:
    """A segment as it is on disk.

    Attributes:
        base_offset: Its base offset.
        batches: Its batches in the form of a log file.
        answered: Its batches in the form of an answer to a log file.
    """

    base_offset: int
    batches: tuple[Json, ...]
    answered: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class RawLog:
    """A partition's segments and its index of aborted transactions, as they are on disk.

    Attributes:
        segments: The segments in order, the active one last.
        aborted: `producer_id`, `first_offset`, `last_offset`, `last_stable_offset` of each entry.
    """

    segments: tuple[RawSegment, ...]
    aborted: tuple[Json, ...]

    @property
    def batches(self) -> list[Json]:
        """All batches in order."""
        return [batch for segment in self.segments for batch in segment.batches]

    @property
    def end(self) -> int:
        """Log end offset: after the last batch, or the base of an empty active segment.

        0 where a broker has made the folder, and no segment in it yet.
        """
        ends = [int(batch["last_offset"]) + 1 for batch in self.batches[-1:]]
        return max(ends + [segment.base_offset for segment in self.segments[-1:]], default=0)

    def answered(self) -> list[Json]:
        """The batches in the form of an answer to a log file."""
        return [batch for segment in self.segments for batch in segment.answered]


def read_raw(partition: Path) -> RawLog:
    """Reads all segments in a partition's folder.

    No cleaner may work on it meanwhile: it would replace files while they are read.
    """
    index = tuple(entry for file in _files(partition) for entry in _aborted(file))
    return RawLog(tuple(read_segments(partition)), index)


def read_segments(partition: Path, *, since: int = 0) -> list[RawSegment]:
    """Reads the segments with a base offset from `since` on, in order."""
    return [_segment(file) for file in _files(partition) if int(file.stem) >= since]


def bases_in(partition: Path) -> list[int]:
    """The base offsets of a partition's segments, in order."""
    return [int(file.stem) for file in _files(partition)]


def _files(partition: Path) -> list[Path]:
    return sorted(partition.glob("*.log"))


def _segment(file: Path) -> RawSegment:
    records = java_class("common.record.internal.FileRecords", "common.record.FileRecords")
    mutable = False
    opened = records.open(jpype.java.io.File(str(file)), mutable)
    try:
        batches = tuple(batch_of(batch) for batch in opened.batches())
        controls = {batch["last_offset"]: batch["control"] for batch in batches}
        base = int(file.stem)
        read = SegmentReader().batches(opened, base_offset=base, controls=controls)
        return RawSegment(base, batches, tuple(answer for answer, _ in read))
    finally:
        opened.closeHandlers()


def batch_of(batch: Any) -> Json:
    """One of Kafka's batches in the form of a log file; an emptied marker counts as COMMIT."""
    records = [_record(record, control=bool(batch.isControlBatch())) for record in batch]
    control = None
    if batch.isControlBatch():
        control = records[0]["marker"] if records else "COMMIT"
    return {
        "base_offset": int(batch.baseOffset()),
        "last_offset": int(batch.lastOffset()),
        "epoch": int(batch.partitionLeaderEpoch()),
        "producer_id": int(batch.producerId()),
        "producer_epoch": int(batch.producerEpoch()),
        "base_sequence": int(batch.baseSequence()),
        "transactional": bool(batch.isTransactional()),
        "control": control,
        "timestamp_ms": int(batch.maxTimestamp()),
        "delete_horizon_ms": horizon_of(batch),
        "records": records,
    }


def _record(record: Any, *, control: bool) -> Json:
    written: Json = {
        "offset": int(record.offset()),
        "key": None if control else _text(record.key()),
        "value": None if control else _text(record.value()),
        "timestamp_ms": int(record.timestamp()),
        "headers": [
            [str(one.key()), {"hex": bytes(one.value() or b"").hex()}] for one in record.headers()
        ],
    }
    if control:
        written["marker"] = str(control_kinds().parse(record.key()).name())
    return written


def _text(buffer: Any) -> str | None:
    if buffer is None:
        return None
    return bytes(java_class("common.utils.Utils").toArray(buffer)).decode(errors=STRAY_BYTES)


def _aborted(file: Path) -> list[Json]:
    """The entries of a segment's transaction index."""
    path = file.with_suffix(".txnindex")
    if not path.exists():
        return []
    index = java_class("storage.internals.log.TransactionIndex")
    opened = index(jpype.JLong(int(file.stem)), jpype.java.io.File(str(path)))
    try:
        return [aborted(entry) for entry in opened.allAbortedTxns()]
    finally:
        opened.close()
