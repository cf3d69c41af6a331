"""One writer at a time where no kernel can say whether a writer lives: a file with a heartbeat.

What it promises: a second sweep that starts while another writes is refused, and one whose driver
died can be taken over after a while. What it does not: two that start within the same second on a
store without exclusive creation may both read back their own claim; and a driver that was stopped
for longer than the heartbeat may be taken over, which it notices at its next write. Then both have
written parts under names of their own waves; a manifest counts once, and `check` names the rest.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from sim.errors import BadInput
from sim.sweeps.layout import LOCK_FILE, STAGING

BEAT_SECONDS = 15.0
STALE_SECONDS = 90.0
"""A lock that nobody has written for so long is nobody's, by the clock of the file system."""
SETTLE_SECONDS = 1.0
"""After which a claim is read back, for stores where two may create the same file."""


class Claimed(Protocol):
    """What a lock asks of a folder."""

    @property
    def label(self) -> str:
        """What messages call it."""

    def read(self, name: str) -> bytes:
        """The content of a file."""

    def create(self, name: str, content: bytes, *, overwrite: bool) -> None:
        """Writes a file in its place; FileExistsError unless `overwrite`."""

    def remove(self, name: str) -> None:
        """Removes a file."""

    def modified_ms(self, name: str) -> int:
        """When a file was written last."""


class FileLock:
    """The lock of one writer on one folder."""

    def __init__(
        self,
        folder: Claimed,
        owner: str,
        *,
        beat_seconds: float = BEAT_SECONDS,
        stale_seconds: float = STALE_SECONDS,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self._folder = folder
        self._token = uuid.uuid4().hex
        self._content = json.dumps({"owner": owner, "token": self._token}).encode()
        self._beat_seconds = beat_seconds
        self._stale_seconds = stale_seconds
        self._settle_seconds = settle_seconds
        self._released = threading.Event()
        self._taken_by: str | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock. Raises BadInput, naming the owner, when somebody else does."""
        self._claim()
        heart = threading.Thread(target=self._beat, daemon=True)
        heart.start()
        try:
            yield
        finally:
            self._released.set()
            heart.join(timeout=self._beat_seconds)
            with suppress(OSError):
                if self._other() is None:
                    self._folder.remove(LOCK_FILE)

    def require_held(self) -> None:
        """Raises BadInput when another writer has taken the lock over."""
        if self._taken_by is not None:
            raise BadInput(
                f"{self._folder.label}: another sweep has taken it over ({self._taken_by}), for "
                f"this one was not heard of for {self._stale_seconds:g} s; nothing more is written"
            )

    def _claim(self) -> None:
        try:
            self._folder.create(LOCK_FILE, self._content, overwrite=False)
        except FileExistsError:
            self._refuse_unless_stale()
            self._folder.create(LOCK_FILE, self._content, overwrite=True)
        time.sleep(self._settle_seconds)
        other = self._other()
        if other is not None:
            raise self._refused(other)

    def _refuse_unless_stale(self) -> None:
        """Raises BadInput unless the lock is too old, by the clock that dates the files there."""
        probe = f"{STAGING}/{self._token}.lock"
        self._folder.create(probe, b"", overwrite=False)
        try:
            age = self._folder.modified_ms(probe) - self._folder.modified_ms(LOCK_FILE)
        except FileNotFoundError:
            return  # released in this moment
        finally:
            self._folder.remove(probe)
        if age < self._stale_seconds * 1000:
            raise self._refused(self._other() or "it just began", age / 1000)

    def _refused(self, owner: str, age: float = 0.0) -> BadInput:
        return BadInput(
            f"{self._folder.label}: another sweep is writing here ({owner}; last heard of "
            f"{max(age, 0):.0f} s ago); wait for its end, or name another folder; a dead one's "
            f"lock counts for {self._stale_seconds:g} s"
        )

    def _other(self) -> str | None:
        """The owner in the file; None = it is this one, or nobody."""
        try:
            content = json.loads(self._folder.read(LOCK_FILE))
            return None if content["token"] == self._token else str(content["owner"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return "it just began"

    def _beat(self) -> None:
        while not self._released.wait(self._beat_seconds):
            with suppress(OSError):  # the next beat, or the next write, says so
                self._taken_by = self._other()
                if self._taken_by is not None:
                    return
                self._folder.create(LOCK_FILE, self._content, overwrite=True)
