"""Events as a trace file has them (`FORMAT.md` in this folder), and the digest of all of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from sim.protocol.events import NAMES, Event
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


DIGEST_BYTES: Final = 16
CHUNK: Final = 2048
"""So many events go into the digest at once; it depends on that."""


def digest_of(events: Sequence[tuple[int, Event]]) -> str:
    """Digest of (ms or step, event) in order, 32 hex digits; a run takes it along the way."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for start in range(0, len(events) + 1, CHUNK):
        digest.update(encoded(events[start : start + CHUNK]))
    return digest.hexdigest()


def encoded(events: Iterable[tuple[int, Event]]) -> bytes:
    """The bytes of (ms or step, event) in a digest: an array of time, kind and event for each."""
    return msgspec.msgpack.encode([(at, NAMES[type(event)], event) for at, event in events])
