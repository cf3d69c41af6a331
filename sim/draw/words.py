"""What is written into pictures: records, versions and marks in few characters, safe to print."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from sim.check.history import Written
from sim.draw.frames import Lane, Replay, Spot
from sim.foreign.lines import one_line
from sim.log.record import Control

LONGEST = 200
"""Keys and values are hostile: no more of one is ever shown."""

_CONTROL = {Control.LEADER_CHANGE: "LEADER", Control.SNAPSHOT: "SNAPSHOT"}


def printable(text: str, *, longest: int = LONGEST) -> str:
    """A text of anybody's as one line that moves no cursor and reverses no direction."""
    shown = one_line(text if len(text) <= longest else text[: longest - 1] + "…")
    if shown.isascii():
        return shown
    return "".join([" " if one.isspace() else one for one in shown])


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in text)
    combining = sum(unicodedata.combining(one) > 0 for one in text)
    return len(text) + wide - combining


def clipped(text: str, columns: int) -> str:
    """At most so many columns of a text, with … where something is left out."""
    if columns_of(text) <= columns:
        return text
    while text and columns_of(text) > columns - 1:
        text = text[:-1]
    return text + "…"


class Words:
    """Names what a replay's history knows.

    Args:
        replay: What happened so far; it may go on.
        labels: The label of each record of a story, by uid; others are named by key and value.
        versions: Whether the rules are known, and so which version decides.
    """

    def __init__(
        self, replay: Replay, labels: Mapping[int, str] | None = None, *, versions: bool = True
    ) -> None:
        self._written = replay.history.written
        self._strategy = replay.rules.cleaner.strategy
        self._labels = labels or {}
        self._versions = versions

    def key(self, uid: int) -> str | None:
        """The key of a record, as it is; None = it has none."""
        known = self._written.get(uid)
        return None if known is None else known.record.key

    def record(self, uid: int) -> str:
        """A record: `A=d`, `del A`, `COMMIT 7`."""
        known = self._written.get(uid)
        if known is None:
            return "?"
        if known.batch.control is not None:
            return _marker(known)
        key = "no key" if known.record.key is None else printable(known.record.key)
        if known.tombstone:
            label = self._labels.get(uid)
            return f"del {key}" if label is None else f"{printable(label)}: del {key}"
        value = "null" if known.record.value is None else printable(known.record.value)
        return f"{key}={value}"

    def version(self, uid: int) -> str:
        """What decides between records of its key, beside the offset: `v9`, `t40`; or nothing."""
        known = self._written.get(uid)
        if known is None or not self._versions or known.record.key is None:
            return ""
        if known.batch.control is not None or self._strategy == "offset":
            return ""
        if self._strategy == "timestamp":
            return f"t{known.record.timestamp_ms}" if known.record.timestamp_ms >= 0 else "no time"
        if self._strategy == "header":
            has_one, number = known.version[:2]
            return f"v{number}" if has_one else "no version"
        return "v" + ".".join(map(str, known.version[:-1]))

    def full(self, uid: int) -> str:
        """A record with its version: `A=d v1`."""
        return f"{self.record(uid)} {self.version(uid)}".rstrip()

    def spot(self, spot: Spot) -> str:
        """One offset of a log in a sentence."""
        if spot.uid:
            return self.full(spot.uid)
        return f"{spot.kind} ({spot.reason.words})" if spot.reason else str(spot.kind)


def _marker(known: Written) -> str:
    control = known.batch.control
    assert control is not None
    text = _CONTROL.get(control, str(control))
    return f"{text} {known.batch.producer_id}" if known.batch.producer_id >= 0 else text


def marks(lane: Lane) -> str:
    """The marks of a log in words; those that say nothing new are left out."""
    parts = [f"hw {lane.high_watermark}", f"end {lane.log_end_offset}"]
    if lane.log_start_offset:
        parts.insert(0, f"start {lane.log_start_offset}")
    if lane.last_stable_offset != lane.high_watermark:
        parts.append(f"stable {lane.last_stable_offset}")
    return " ".join(parts)


def role(lane: Lane) -> str:
    """Beside the name of a replica: `leader e2`, `old leader e1, down`; empty = nothing."""
    parts = [] if lane.up else ["down"]
    if lane.leads is not None:
        parts.insert(0, f"{'leader' if lane.newest else 'old leader'} e{lane.leads}")
    return ", ".join(parts)
