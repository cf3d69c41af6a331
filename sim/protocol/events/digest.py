"""The digest of a run: equal exactly when the same things happened at the same times."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec

from sim.protocol.events import NAMES, Event, Named

DIGEST_BYTES: Final = 16
CHUNK: Final = 2048
"""So many events go into the digest at once; it depends on that."""


def digest_of(events: Sequence[tuple[int, Event]]) -> str:
    """Digest of (ms or step, event) in order, 32 hex digits; a run takes it along the way."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for start in range(0, len(events) + 1, CHUNK):
        part = events[start : start + CHUNK]
        chunk: list[Named] = [(at, NAMES[type(event)], event) for at, event in part]
        digest.update(msgspec.msgpack.encode(chunk))
    return digest.hexdigest()
