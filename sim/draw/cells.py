"""One offset of one replica as a cell: what is written into it, and how it looks."""

from __future__ import annotations

from typing import NamedTuple

from sim.check.history import Written
from sim.draw.frames import NOT_THERE, Kind, Replay, Spot, kind_of
from sim.draw.looks import KEY_COLOURS
from sim.draw.words import Words, printable


class Cell(NamedTuple):
    """What to show.

    Attributes:
        look: The name of a look: `k2` for a record of the third key, `hole`, and so on.
        text: The upper line.
        small: The lower line: what decides between versions, or why there is nothing.
        title: All there is to say, in a sentence.
        line: The cell of a strip of text.
    """

    look: str
    text: str
    small: str
    title: str
    line: str


NOTHING = Cell("beyond", "", "", str(Kind.BEYOND), "")
_NOT_COMMITTED = NOTHING._replace(title="not committed", line="·")


class Cells:
    """Makes cells out of spots; the same spot gives the same cell."""

    def __init__(self, replay: Replay, words: Words) -> None:
        """Cells about what has happened in `replay`, which may go on."""
        self._words = words
        self._written = replay.history.written
        self._keys = replay.history.uids_of_key
        self._known: dict[tuple[Spot, bool], Cell] = {(NOT_THERE, False): NOTHING}

    def of(self, spot: Spot, committed: int) -> Cell:
        """What a replica has at an offset where `committed` is the committed uid, 0 = none."""
        wrong = spot.uid > 0 and committed > 0 and committed != spot.uid
        known = self._known.get((spot, wrong))
        if known is None:
            made = self._record(spot, wrong=wrong) if spot.uid else self._missing(spot)
            known = self._known[(spot, wrong)] = made
        return known

    def committed(self, uid: int) -> Cell:
        """A record of committed history; 0 = none."""
        known = self._written.get(uid)
        if uid <= 0:
            return _NOT_COMMITTED
        return self.of(Spot(Kind.MARKER if known is None else kind_of(known), uid), uid)

    def _record(self, spot: Spot, *, wrong: bool) -> Cell:
        words, uid = self._words, spot.uid
        version, known = words.version(uid), self._written.get(uid)
        small, title, line = version, words.full(uid), words.full(uid)
        if known is not None:
            small, title = _noted(known, version, title, spot.kind)
        if spot.horizon_ms is not None:
            small = f"{small} h{spot.horizon_ms}".strip()
            title += f", delete horizon {spot.horizon_ms} ms"
        if wrong:
            title, line = f"{title}: not what was committed", f"{line} !"
            return Cell("wrong", words.record(uid), f"≠ {small}".strip(), title, line)
        look = "marker"
        if spot.kind is not Kind.MARKER:
            letter = "d" if spot.kind is Kind.TOMBSTONE else "k"
            look = f"{letter}{self._colour(words.key(uid))}"
        return Cell(look, words.record(uid), small, title, line)

    def _colour(self, key: str | None) -> int:
        """The number of a key's colour: keys get them in the order in which they were written."""
        return next((n for n, each in enumerate(self._keys) if each == key), 0) % KEY_COLOURS

    def _missing(self, spot: Spot) -> Cell:
        title, reason = printable(self._words.spot(spot)), spot.reason
        brief, short = ("", "") if reason is None else (reason.brief, reason.short)
        if spot.kind is Kind.EMPTY:
            return Cell("empty", "empty", brief, title, f"(empty {short})".replace(" )", ")"))
        if spot.kind is Kind.HOLE:
            assert reason is not None
            return Cell("hole", reason.upper or "hole", reason.lower, title, f"╌╌{short}")
        if spot.kind is Kind.BELOW:
            return Cell("below", "", brief or "deleted", title, f"·{short or 'deleted'}")
        return Cell("beyond", "", brief, title, f"·{short}" if short else "")


def _noted(known: Written, version: str, title: str, kind: Kind) -> tuple[str, str]:
    """The lower line of a record and its title, with the transaction that it is part of."""
    title += f", epoch {known.batch.epoch}, timestamp {known.record.timestamp_ms}"
    if not known.batch.transactional:
        return version, title
    producer = known.batch.producer_id
    title += f", transaction of producer {producer}"
    return version if kind is Kind.MARKER else f"{version} tx {producer}".strip(), title
