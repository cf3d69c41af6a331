"""Traces as NDJSON: an event is a line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from sim.compaction import TOMBSTONE_MARKS
from sim.compaction.tombstones import TombstoneMark
from sim.files.atomic import replacing
from sim.log import Record
from sim.trace import Event


def write_trace(
    path: Path, events: Iterable[tuple[int, Event]], *, tombstone_mark: str = "null_value"
) -> None:
    """Write events as NDJSON: one object a line with `at`, `event` and the event's fields.

    Every record says whether it is a `tombstone` under `tombstone_mark`, as `isTombstone` of KIP-87
    tells a reader.

    Raises BadInput when `path` cannot be written; then nothing is.
    """
    encoder = msgspec.json.Encoder()
    with replacing(path) as file:
        for at, event in events:
            row = as_row(at, event, tombstone_mark=tombstone_mark)
            file.write(encoder.encode(row) + b"\n")


def as_row(at: int, event: Event, *, tombstone_mark: str = "null_value") -> dict[str, Any]:
    """An event as a mapping, with the batches, records and removals in it as mappings, too."""
    is_tombstone = TOMBSTONE_MARKS[tombstone_mark]
    fields = {name: _plain(value, is_tombstone) for name, value in event._asdict().items()}
    return {"at": at, "event": event.__class__.__name__, **fields}


def _plain(value: Any, is_tombstone: TombstoneMark) -> Any:
    if isinstance(value, tuple):
        if hasattr(value, "_asdict"):
            parts = {name: _plain(part, is_tombstone) for name, part in value._asdict().items()}
            if isinstance(value, Record):
                parts["tombstone"] = value.key is not None and is_tombstone(value)
            return parts
        return [_plain(part, is_tombstone) for part in value]
    return value
