"""Where the offsets of a timed run are in the logs of the story that is made of it.

A story that leaves records out has lower offsets. What stands at an offset is told by the epoch it
was written in, as everywhere, so each batch of the story knows the offset that it had in the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.compaction.strategies import ENCODERS, VERSION_HEADER_BYTES, decode_varint
from sim.log import Batch, Record
from sim.replication import Replica
from sim.rules import Rules


class OffsetMap:
    """The offsets of a run for the batches of a story."""

    __slots__ = ("_in_run",)

    def __init__(self) -> None:
        """Nothing was written."""
        self._in_run: dict[tuple[int, int], int] = {}

    def note(self, batch: Batch, offset: int) -> None:
        """A batch of the story is what stood at `offset` in the run."""
        self._in_run[batch.epoch, batch.base_offset] = offset

    def in_story(self, replica: Replica, bound: int) -> int:
        """The offset in the replica's log of the story that a bound (exclusive) of the run is."""
        for batch, offset in self._batches(replica):
            if offset >= bound:
                return batch.base_offset
        return replica.log.log_end_offset

    def count_below(self, replica: Replica, start: int, bound: int) -> int:
        """Batches of the story's log from its offset `start` on that the run has below `bound`."""
        return sum(
            1
            for batch, offset in self._batches(replica)
            if batch.base_offset >= start and offset < bound
        )

    def count_from(self, replica: Replica, bound: int) -> int:
        """Batches of the story's log that the run has at `bound` or above it."""
        return sum(1 for _, offset in self._batches(replica) if offset >= bound)

    def _batches(self, replica: Replica) -> Iterator[tuple[Batch, int]]:
        for batch in replica.log.batches():
            yield batch, self._in_run.get((batch.epoch, batch.base_offset), batch.base_offset)


def fields_of(record: Record, label: str, *, rules: Rules, story: Rules) -> dict[str, Any]:
    """The fields of an `append` step that writes a record again.

    Args:
        record: The record as the run has it.
        label: What the story calls it.
        rules: Those of the run: what is a delete there.
        story: Those of the story: what is a delete, and which version decides.
    """
    fields: dict[str, Any] = {"label": label, "key": record.key}
    cleaner = story.cleaner
    if cleaner.strategy == "timestamp":
        fields["ts"] = record.timestamp_ms
    elif cleaner.strategy != "offset":
        fields |= _version(record, story)
    mark = cleaner.tombstone_mark
    if mark == "explicit":
        if record.value is None or (
            rules.cleaner.tombstone_mark != "null_value" and record.flagged
        ):
            fields["tombstone"] = True
    elif mark == "null_value":
        if record.value is None:
            fields["null_value"] = True
    elif record.flagged:
        fields["flag"] = True
    return fields


def _version(record: Record, rules: Rules) -> dict[str, Any]:
    """The version headers of a record: the last one, and one before it, which some rules read."""
    header, form = rules.topic.strategy_header, rules.cleaner.header_form
    values = [value for name, value in record.headers if name == header]
    numbers = [_number(value, form) for value in values]
    if not values:
        return {}
    if len(values) > 1 and numbers[-2] is not None:
        return {"hdr": numbers[-2], "hdr_bytes": values[-1]}
    return {"hdr_bytes": values[-1]} if numbers[-1] is None else {"hdr": numbers[-1]}


def _number(value: bytes, form: str) -> int | None:
    """The number that a story would write as these bytes; None = there is none."""
    if len(value) == VERSION_HEADER_BYTES:
        found: int | None = int.from_bytes(value, "big", signed=True)
    else:
        found = decode_varint(value)
    return found if found is not None and ENCODERS[form](found) == value else None
