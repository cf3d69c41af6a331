"""One offset of one replica as a cell: what is written into it, and how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sim.check.facts import Written
from sim.diagnose.draw.frames import Replay
from sim.diagnose.draw.looks import KEY_COLOURS
from sim.diagnose.draw.spots import NEVER_HAD, NOT_THERE, Kind, Spot
from sim.files.foreign.lines import one_line
from sim.protocol.log.record import Control

LONGEST = 200
"""Keys and values are hostile: no more of one is ever shown."""


_CONTROL = {Control.LEADER_CHANGE: "LEADER", Control.SNAPSHOT: "SNAPSHOT"}


def printable(text: str, *, longest: int = LONGEST) -> str:
    """A text of anybody's as one line that moves no cursor and reverses no direction."""
    shown = one_line(text if len(text) <= longest else text[: longest - 1] + "…")
    if shown.isascii():
        return shown
    return "".join([" " if one.isspace() else one for one in shown])


class Cell(NamedTuple):
    """What to show.

    Attributes:
        look: The name of a look: `k2` for a record of the third key, `hole`, and so on.
        text: The upper line.
        small: The lower line: what decides between versions, or why there is nothing.
        words: What is there, within a sentence.
        more: What else there is to say.
        line: The cell of a strip of text.
    """

    look: str
    text: str
    small: str
    words: str
    more: str
    line: str


NOTHING = Cell("beyond", "", "", str(Kind.BEYOND), "", "")


class Cells:
    """Makes cells out of spots; the same spot gives the same cell.

    Args:
        replay: What happened so far; it may go on.
        labels: The label of each record of a story, by uid; others are named by key and value.
        versions: Whether the rules are known, and so which version decides.
    """

    def __init__(
        self, replay: Replay, labels: Mapping[int, str] | None = None, *, versions: bool = True
    ) -> None:
        self._written = replay.history.written
        self._keys = replay.history.uids_of_key
        self._strategy = replay.rules.cleaner.strategy if versions else "offset"
        self._labels = labels or {}
        self._known: dict[tuple[Spot, bool], Cell] = {(NOT_THERE, False): NOTHING}

    def of(self, spot: Spot, committed: Spot) -> Cell:
        """What a replica has at an offset where `committed` was committed first."""
        wrong = 0 < spot.uid != committed.uid > 0
        known = self._known.get((spot, wrong))
        if known is None:
            made = self._record(spot, wrong=wrong) if spot.uid else _missing(spot)
            known = self._known[(spot, wrong)] = made
        return known

    def key(self, uid: int) -> str | None:
        """The key of a record, as it is; None = it has none."""
        known = self._written.get(uid)
        return None if known is None else known.record.key

    def _record(self, spot: Spot, *, wrong: bool) -> Cell:
        name, small, more, look = "?", "", "", "marker"
        known = self._written.get(spot.uid)
        if known is not None:
            name, small = self._named(spot.uid, known), self._version(known)
            more = f", epoch {known.batch.epoch}, timestamp {known.record.timestamp_ms}"
        line = words = f"{name} {small}".rstrip()
        if known is not None and known.batch.transactional:
            producer = known.batch.producer_id
            more += f", transaction of producer {producer}"
            small += "" if spot.kind is Kind.MARKER else f" tx {producer}"
        if spot.horizon_ms is not None:
            small += f" h{spot.horizon_ms}"
            more += f", delete horizon {spot.horizon_ms} ms"
        if wrong:
            look, small, line = "wrong", f"≠ {small.strip()}", f"{line} !"
            more += ": not what was committed"
        elif spot.kind is not Kind.MARKER:
            look = f"{'d' if spot.kind is Kind.TOMBSTONE else 'k'}{self._colour(spot.uid)}"
        return Cell(look, name, small.strip(), words, more, line)

    def _colour(self, uid: int) -> int:
        """The number of a key's colour: keys get them in the order in which they were written."""
        key = self.key(uid)
        return next((n for n, each in enumerate(self._keys) if each == key), 0) % KEY_COLOURS

    def _named(self, uid: int, known: Written) -> str:
        """A record: `A=d`, `del A`, `COMMIT 7`."""
        control, producer = known.batch.control, known.batch.producer_id
        if control is not None:
            text = _CONTROL.get(control, str(control))
            return f"{text} {producer}" if producer >= 0 else text
        key = "no key" if known.record.key is None else printable(known.record.key)
        if known.tombstone:
            label = self._labels.get(uid)
            return f"del {key}" if label is None else f"{printable(label)}: del {key}"
        value = "null" if known.record.value is None else printable(known.record.value)
        return f"{key}={value}"

    def _version(self, known: Written) -> str:
        """What decides between records of its key, beside the offset: `v9`, `t40`; or nothing."""
        time = known.record.timestamp_ms
        if known.record.key is None or known.batch.control is not None:
            return ""
        match self._strategy:
            case "offset":
                return ""
            case "timestamp":
                return f"t{time}" if time >= 0 else "no time"
            case "header":
                has_one, number = known.version[:2]
                return f"v{number}" if has_one else "no version"
            case _:
                return "v" + ".".join(map(str, known.version[:-1]))


def _missing(spot: Spot) -> Cell:
    """A cell without a record, with the reason."""
    kind, reason = spot.kind, spot.reason
    if kind is Kind.HOLE:
        reason = reason or NEVER_HAD
    words, brief, short = str(kind), "", ""
    if reason is not None:
        words, brief, short = printable(f"{kind} ({reason.words})"), reason.brief, reason.short
    look = kind.name.lower()
    match kind:
        case Kind.EMPTY:
            line = f"(empty {short})" if short else "(empty)"
            return Cell(look, "empty", brief, words, "", line)
        case Kind.HOLE:
            assert reason is not None
            return Cell(look, reason.upper or "hole", reason.lower, words, "", f"╌╌{short}")
        case Kind.BELOW:
            return Cell(look, "", brief or "deleted", words, "", f"·{short or 'deleted'}")
        case Kind.NOT_COMMITTED:
            return Cell("beyond", "", "", words, "", "·")
        case _:
            return Cell(look, "", brief, words, "", f"·{short}" if short else "")
