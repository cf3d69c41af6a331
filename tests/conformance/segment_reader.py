"""What a segment file holds, read back with Kafka's own classes, in the words of a log file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.conformance.jvm import java_class

CURRENT_MAGIC = 2

Answer = dict[str, Any]
"""One object of the JSON output: a batch, a step, the whole answer."""


def control_kinds() -> Any:
    """Kafka's `ControlRecordType`."""
    return java_class("common.record.internal.ControlRecordType", "common.record.ControlRecordType")


class SegmentReader:
    """Reads Kafka's `FileRecords`."""

    def __init__(self) -> None:
        self._kinds = control_kinds()

    def batches(
        self, records: Any, *, base_offset: int, controls: Mapping[int, str]
    ) -> Iterator[tuple[Answer, list[int]]]:
        """All batches of a segment as answers have them, each with the offsets of its deletes.

        Args:
            records: Kafka's `FileRecords` of the segment.
            base_offset: Where the segment starts.
            controls: What control batch was written at which last offset. An emptied control batch
                has lost its record and with it the difference between a commit and an abort.
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
    """An entry of a segment's transaction index."""
    return {
        "producer_id": int(transaction.producerId()),
        "first_offset": int(transaction.firstOffset()),
        "last_offset": int(transaction.lastOffset()),
        "last_stable_offset": int(transaction.lastStableOffset()),
    }


def horizon_of(batch: Any) -> int | None:
    """None in a release that has no horizons, which came with KIP-534."""
    if not hasattr(batch, "deleteHorizonMs"):
        return None
    horizon = batch.deleteHorizonMs()
    return int(horizon.getAsLong()) if horizon.isPresent() else None
