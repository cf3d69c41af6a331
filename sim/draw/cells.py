"""One offset of one replica as a cell: what is written into it, and how it looks."""

from __future__ import annotations

from typing import NamedTuple

from sim.draw.frames import Frame, Kind, Lane, Replay, Spot
from sim.draw.looks import KEY_COLOURS
from sim.draw.words import Words, printable


class Cell(NamedTuple):
    """What to show.

    Attributes:
        look: The name of a look: `k2` for a record of the third key, `hole`, and so on.
        text: The upper line.
        small: The lower line: what decides between versions, or why there is nothing.
        title: All there is to say, in a sentence.
    """

    look: str
    text: str
    small: str
    title: str


NOTHING = Cell("beyond", "", "", "beyond the log end")


class Cells:
    """Makes cells out of spots; the same spot gives the same cell."""

    def __init__(self, replay: Replay, words: Words) -> None:
        """Cells about what has happened in `replay`, which may go on."""
        self._words = words
        self._written = replay.history.written
        self._keys = replay.history.uids_of_key
        self._colours: dict[str | None, int] = {}
        self._known: dict[tuple[Spot, bool], Cell] = {}

    def of(self, spot: Spot, committed: int) -> Cell:
        """What a replica has at an offset where `committed` is the committed uid, 0 = none."""
        wrong = spot.uid > 0 and committed > 0 and committed != spot.uid
        known = self._known.get((spot, wrong))
        if known is None:
            known = self._known[(spot, wrong)] = self._cell(spot, wrong=wrong)
        return known

    def at(self, lane: Lane, offset: int, frame: Frame) -> Cell:
        """What a replica has at an offset of a frame."""
        return self.of(lane.at(offset), _committed(frame, offset))

    def committed_at(self, offset: int, frame: Frame) -> Cell:
        """What was committed first at an offset of a frame."""
        return self.committed(_committed(frame, offset))

    def committed(self, uid: int) -> Cell:
        """A record of committed history; 0 = none."""
        if uid <= 0:
            return NOTHING._replace(title="not committed")
        known = self._written.get(uid)
        control = known is not None and known.batch.control is not None
        kind = Kind.MARKER if control else Kind.RECORD
        if known is not None and known.tombstone:
            kind = Kind.TOMBSTONE
        return self.of(Spot(kind, uid), uid)

    def colour(self, key: str | None) -> int:
        """The number of a key's colour: keys get them in the order in which they are drawn."""
        return self._colours.setdefault(key, len(self._colours) % KEY_COLOURS)

    def _cell(self, spot: Spot, *, wrong: bool) -> Cell:
        if not spot.uid:
            return _without_a_record(spot)
        words, uid = self._words, spot.uid
        name, version, epoch = words.record(uid), words.version(uid), words.epoch(uid)
        title = f"{words.full(uid)}, epoch {epoch}, {self._appended(uid)}"
        producer = words.transaction(uid)
        if producer is not None:
            title += f", transaction of producer {producer}"
        if spot.horizon_ms is not None:
            title += f", delete horizon {spot.horizon_ms} ms"
        small = version
        if spot.kind is not Kind.MARKER and producer is not None:
            small = f"{version} tx {producer}".strip()
        if spot.horizon_ms is not None:
            small = f"{small} h{spot.horizon_ms}".strip()
        if wrong:
            return Cell("wrong", name, f"≠ {small}".strip(), f"{title}: not what was committed")
        if spot.kind is Kind.MARKER:
            return Cell("marker", name, small, title)
        letter = "d" if spot.kind is Kind.TOMBSTONE else "k"
        return Cell(f"{letter}{self.colour(words.key(uid))}", name, small, title)

    def _appended(self, uid: int) -> str:
        known = self._written.get(uid)
        return "" if known is None else f"timestamp {known.record.timestamp_ms}"


def _committed(frame: Frame, offset: int) -> int:
    return frame.committed[offset] if offset < len(frame.committed) else 0


def _without_a_record(spot: Spot) -> Cell:
    reason = printable(spot.reason)
    if spot.kind is Kind.EMPTY:
        return Cell("empty", "empty", _brief(reason), f"empty batch: {reason}".rstrip(": "))
    if spot.kind is Kind.HOLE:
        first, second = _two_lines(reason)
        return Cell("hole", first, second, f"hole: {reason}")
    if spot.kind is Kind.BELOW:
        kept = reason.startswith(("in a snapshot", "in snapshot"))
        title = f"below the log start: {reason}".rstrip(": ")
        return Cell("below", "", "snapshot" if kept else "deleted", title)
    return Cell("beyond", "", _brief(reason), f"beyond the log end: {reason}".rstrip(": "))


def _two_lines(reason: str) -> tuple[str, str]:
    """Why there is a hole, in two short lines."""
    source, colon, theirs = reason.partition(": ")
    if source.startswith("not copied"):
        return ("gap", _brief(theirs)) if colon else ("gap", "")
    if reason.startswith("superseded by "):
        return "superseded", reason.removeprefix("superseded ")
    return next((two for start, two in _TWO.items() if reason.startswith(start)), ("hole", ""))


_TWO = {
    "tombstone removed": ("tombstone", "removed"),
    "aborted": ("aborted", "removed"),
    "marker removed": ("marker", "removed"),
    "no key": ("no key", "removed"),
    "the empty batch went": ("empty batch", "removed"),
    "truncated": ("truncated", "with batch"),
    "lost in a crash": ("lost", "in a crash"),
}


def _brief(reason: str) -> str:
    """A reason in a word or two."""
    if reason.startswith("superseded by "):
        return "by " + reason.removeprefix("superseded by ")
    brief = {"tombstone removed": "tombstone", "aborted": "aborted", "marker removed": "marker"}
    brief |= {"truncated": "truncated", "lost": "lost", "wiped": "wiped", "dropped": "dropped"}
    return next((short for start, short in brief.items() if reason.startswith(start)), "")
