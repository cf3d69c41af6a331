"""What a run is written as: rows for JSON, and traces as NDJSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from sim.check import Violation
from sim.trace import Event
from sim.writing import replacing


def violation_row(violation: Violation, *, when: str) -> dict[str, Any]:
    """A violation as a flat mapping; `when` names its time: `at_ms` or `step`."""
    return {
        "invariant": violation.invariant,
        when: violation.at,
        "replica": violation.replica,
        "offset": violation.offset,
        "key": violation.key,
        "sentence": violation.sentence,
    }


def write_trace(path: Path, events: Iterable[tuple[int, Event]]) -> None:
    """Write events as NDJSON: one object a line with `at`, `event` and the event's fields.

    Raises BadInput when `path` cannot be written; then nothing is.
    """
    encoder = msgspec.json.Encoder()
    with replacing(path) as file:
        for at, event in events:
            file.write(encoder.encode(as_row(at, event)) + b"\n")


def as_row(at: int, event: Event) -> dict[str, Any]:
    """An event as a mapping, with the batches, records and removals in it as mappings, too."""
    fields = {name: _plain(value) for name, value in event._asdict().items()}
    return {"at": at, "event": event.__class__.__name__, **fields}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        if hasattr(value, "_asdict"):
            return {name: _plain(part) for name, part in value._asdict().items()}
        return [_plain(part) for part in value]
    return value
