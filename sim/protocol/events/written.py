"""The form of an event in a written trace, see `FORMAT.md` in this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from sim.protocol.events import Event
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.log.record import Record

IsTombstone = Callable[[Record], bool]
"""Decides whether a keyed record is a tombstone under the mark of the run."""


def as_row(at: int, event: Event, is_tombstone: IsTombstone) -> dict[str, Any]:
    """An event as a mapping with `at`, `event` and its fields; what is in it as mappings, too.

    Every record says whether it is a `tombstone`, as `isTombstone` of KIP-87 does for a reader.
    """
    return {"at": at, "event": event.__class__.__name__, **_plain(event, is_tombstone)}


def _plain(value: Any, is_tombstone: IsTombstone) -> Any:
    if isinstance(value, Struct | EpochEntry):
        named = asdict(value) if isinstance(value, Struct) else value._asdict()
        parts = {name: _plain(part, is_tombstone) for name, part in named.items()}
        if isinstance(value, Record):
            parts["tombstone"] = value.key is not None and is_tombstone(value)
        return parts
    return [_plain(part, is_tombstone) for part in value] if isinstance(value, tuple) else value
