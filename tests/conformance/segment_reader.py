"""What a segment file holds, read back with Kafka's own classes, in the words of a log file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.conformance.jvm import java_class

CURRENT_MAGIC = 2

Answer = dict[str, Any]
"""One object of the JSON output: a batch, a step, the whole answer."""


class SegmentContent(NamedTuple):
    """The batches of one segment as the output lists them, and which of its records are deletes."""

    batches: list[Answer]
    tombstones: list[int]


class SegmentReader:
    """Reads Kafka's `FileRecords`."""

    def __init__(self) -> None:
        self._marker = java_class(
            "common.record.internal.ControlRecordType", "common.record.ControlRecordType"
        )

    def segment(
        self, records: Any, *, base_offset: int, controls: Mapping[int, str]
    ) -> SegmentContent:
        """All batches of a segment.

        Args:
            records: Kafka's `FileRecords` of the segment.
            base_offset: Where the segment starts.
            controls: What control batch was written at which last offset. An emptied control batch
                has lost its record and with it the difference between a commit and an abort.
        """
        batches: list[Answer] = []
        tombstones: list[int] = []
        for batch in records.batches():
            offsets = []
            control = None
            last_offset = int(batch.lastOffset())
            is_control = bool(batch.isControlBatch())
            if is_control:
                control = controls[last_offset]
            for record in batch:
                offset = int(record.offset())
                offsets.append(offset)
                if is_control:
                    control = str(self._marker.parse(record.key()).name())
                elif not record.hasValue():
                    tombstones.append(offset)
            batches.append(
                {
                    "base_offset": int(batch.baseOffset()),
                    "last_offset": last_offset,
                    "record_offsets": offsets,
                    "delete_horizon_ms": _horizon(batch),
                    "control": control,
                    "max_timestamp_ms": int(batch.maxTimestamp()),
                    "size_bytes": size_of(batch),
                    "segment": base_offset,
                    **({} if batch.magic() >= CURRENT_MAGIC else {"magic": int(batch.magic())}),
                }
            )
        return SegmentContent(batches, tombstones)


def aborted(transaction: Any) -> Answer:
    """An entry of a segment's transaction index."""
    return {
        "producer_id": int(transaction.producerId()),
        "first_offset": int(transaction.firstOffset()),
        "last_offset": int(transaction.lastOffset()),
        "last_stable_offset": int(transaction.lastStableOffset()),
    }


def size_of(batch: Any) -> int | None:
    """Bytes of a batch of Kafka's; None where they depend on a library: of a compressed one."""
    return None if batch.isCompressed() else int(batch.sizeInBytes())


def _horizon(batch: Any) -> int | None:
    """None in a release that has no horizons, which came with KIP-534."""
    if not hasattr(batch, "deleteHorizonMs"):
        return None
    horizon = batch.deleteHorizonMs()
    return int(horizon.getAsLong()) if horizon.isPresent() else None
