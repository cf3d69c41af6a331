"""The contents of single offsets, why they hold no record, and the cells that show them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from sim.check.facts import Written
from sim.check.history import ClusterHistory
from sim.diagnose.draw.shapes import KEY_COLOURS
from sim.diagnose.explain.removed import removal_at
from sim.files.foreign import one_line
from sim.protocol import events as on
from sim.protocol.events import Event
from sim.protocol.log.record import Control


class CellKind(StrEnum):
    """The kinds of contents of an offset."""

    RECORD = "a record"
    TOMBSTONE = "a tombstone"
    MARKER = "a marker"
    EMPTY = "an empty batch"
    """A batch whose records are gone: its offsets and epoch are kept."""
    HOLE = "a hole"
    """An offset with neither a record nor a batch."""
    BELOW = "below the log start"
    BEYOND = "beyond the log end"
    NOT_COMMITTED = "not committed"
    """Used for the committed history only."""


class CellReason(NamedTuple):
    """The reason why an offset holds no record.

    Attributes:
        words: Words for a sentence.
        short: A few characters for a strip.
        upper: The first of two short lines in a cell.
        lower: The second line.
        winner: Offset of the record that superseded it; None without one.
    """

    words: str
    short: str = ""
    upper: str = ""
    lower: str = ""
    winner: int | None = None

    @property
    def brief(self) -> str:
        """The reason in a word or two."""
        return self.upper if self.winner is None else self.lower


class Spot(NamedTuple):
    """The content of one offset of one log.

    Attributes:
        kind: Kind of the content.
        uid: uid of the record; 0 without one.
        reason: Reason why there is no record; None if there is one or never was, or if unknown.
        horizon_ms: Delete horizon of the record's batch in ms; None without one.
    """

    kind: CellKind
    uid: int = 0
    reason: CellReason | None = None
    horizon_ms: int | None = None


NOT_THERE: Final = Spot(CellKind.BEYOND)
NOT_COMMITTED: Final = Spot(CellKind.NOT_COMMITTED)
NEVER_HAD: Final = CellReason("never had a record here")
_REMOVED = {
    "tombstone": CellReason("tombstone removed", "tomb", "tombstone", "removed"),
    "aborted": CellReason("aborted, so removed", "abort", "aborted", "removed"),
    "marker": CellReason("marker removed", "mark", "marker", "removed"),
    "no key": CellReason("no key, so removed", "", "no key", "removed"),
    "unmapped": CellReason("removed, though not in the cleaner's map"),
}
_LOST = {CellKind.BEYOND: CellReason("lost in a crash", "lost", "lost")}
_LOST_BETWEEN = CellReason("lost in a crash between two files", "lost", "lost", "in a crash")
_CUT_WITH_BATCH = CellReason(
    "truncated with the rest of its batch", "cut", "truncated", "with batch"
)
_FOR_SNAPSHOT = {
    CellKind.BELOW: CellReason(
        "in snapshot ({event.end_offset}, {event.epoch})", "snap", "snapshot"
    ),
    CellKind.BEYOND: CellReason(
        "dropped for snapshot ({event.end_offset}, {event.epoch})", "drop", "dropped"
    ),
}
_NOT_COPIED = "not copied from"

_LEFT_BY: Mapping[type[Event], Mapping[CellKind, CellReason]] = {
    on.Truncated: {
        CellKind.BEYOND: CellReason("truncated", "cut", "truncated"),
        CellKind.HOLE: _CUT_WITH_BATCH,
        CellKind.EMPTY: _CUT_WITH_BATCH,
    },
    on.ReplicaCrashed: _LOST,
    on.ReplicaRestarted: _LOST,
    on.SegmentsLost: {CellKind.HOLE: _LOST_BETWEEN, CellKind.EMPTY: _LOST_BETWEEN},
    on.LogStartedAfresh: {
        CellKind.BEYOND: CellReason("dropped: the leader's log starts later", "drop", "dropped"),
        CellKind.BELOW: CellReason("the leader's log starts later", "", "deleted"),
    },
    on.Cleaned: {CellKind.BEYOND: CellReason("the log end fell with a cleaning pass")},
    on.SnapshotInstalled: _FOR_SNAPSHOT,
    on.LogEmptied: _FOR_SNAPSHOT,
    on.PrefixDeleted: {CellKind.BELOW: CellReason("in a snapshot", "snap", "snapshot")},
    on.LogStartMoved: {CellKind.BELOW: CellReason("{event.cause}", "", "deleted")},
    on.ReplicaWiped: {CellKind.BEYOND: CellReason("wiped: {event.reason}", "wiped", "wiped")},
}
"""Class of an event -> the reason it leaves for no record, by the kind of the content; its words
may name fields of the event."""


def left_by(event: Event, kind: CellKind, snapshot: tuple[int, int] | None) -> CellReason | None:
    """The reason that an event leaves for an offset without a record; None if it leaves none.

    Args:
        event: The event that changed the offset.
        kind: Kind of the content after it.
        snapshot: End offset and epoch of the replica's newest snapshot; None without one.
    """
    found = _LEFT_BY.get(type(event), {}).get(kind)
    if found and isinstance(event, on.PrefixDeleted):
        covered = snapshot is not None and snapshot[0] >= event.log_start_offset
        return found if covered else CellReason("in no snapshot of it", "deleted", "deleted")
    return found and found._replace(words=found.words.format(event=event))


def removal_of(event: on.Cleaned, offset: int, known: CellReason | None) -> CellReason | None:
    """The reason why a cleaning pass removed a record or an empty batch; None if it did not.

    Args:
        event: The pass.
        offset: The offset.
        known: Reason why there was no record before.
    """
    gone, found = removal_at(event, offset), None
    if gone is not None:
        won, found = gone.winner_offset, _REMOVED.get(gone.reason) or CellReason(gone.reason)
        if won is not None:
            found = CellReason(f"superseded by {won}", f">{won}", "superseded", f"by {won}", won)
    if offset in event.dropped:
        before = found or known
        why = f": {before.words}" if before else ""
        found = CellReason(f"the empty batch went{why}", "gone", "empty batch", "removed")
    return found


def not_copied(leader: str, reason: CellReason | None) -> CellReason:
    """The reason why a follower holds no record where its leader had none to copy.

    Args:
        leader: The log that it copied from.
        reason: Reason why that log held no record there; None if unknown.
    """
    if reason is None:
        return CellReason(f"{_NOT_COPIED} {leader}", "gap", "gap")
    if reason.words.startswith(_NOT_COPIED):
        return reason
    words = f"{_NOT_COPIED} {leader}: {reason.words}"
    return CellReason(words, reason.short, "gap", reason.brief, reason.winner)


# How contents are shown.

LONGEST = 200
"""Characters of a key or a value; longer ones are shortened."""


_CONTROL = {Control.LEADER_CHANGE: "LEADER", Control.SNAPSHOT: "SNAPSHOT"}


def printable(text: str, *, longest: int = LONGEST) -> str:
    """Makes any text one line without control characters, safe for terminals and pages."""
    shown = one_line(text if len(text) <= longest else text[: longest - 1] + "…")
    if shown.isascii():
        return shown
    return "".join([" " if one.isspace() else one for one in shown])


class Cell(NamedTuple):
    """A cell of a grid, a page or a strip.

    Attributes:
        look: Name of a look: `k2` for a record of the third key, `hole`, and so on.
        text: The upper line.
        small: The lower line: the version that decides, or the reason for no record.
        words: Words for the content, for a sentence.
        more: Further details, appended to the words in a tooltip.
        line: The cell as text, for a strip.
    """

    look: str
    text: str
    small: str
    words: str
    more: str
    line: str


NOTHING = Cell("beyond", "", "", str(CellKind.BEYOND), "", "")


class Cells:
    """Makes cells out of spots; equal spots give the same cell.

    Args:
        history: History of the run so far; it may be folded further.
        strategy: Strategy of the cleaner, which selects the version to show; `offset` shows none.
        labels: uid -> label of a record of a story, shown with a tombstone.
    """

    def __init__(self, history: ClusterHistory, strategy: str, labels: Mapping[int, str]) -> None:
        self._history = history
        self._strategy = strategy
        self._labels = labels
        self._known: dict[tuple[Spot, bool], Cell] = {(NOT_THERE, False): NOTHING}

    def of(self, spot: Spot, committed: Spot) -> Cell:
        """Makes the cell of a replica at an offset where `committed` was committed first."""
        wrong = 0 < spot.uid != committed.uid > 0
        known = self._known.get((spot, wrong))
        if known is None:
            made = self._record(spot, wrong=wrong) if spot.uid else _missing(spot)
            known = self._known[(spot, wrong)] = made
        return known

    def _record(self, spot: Spot, *, wrong: bool) -> Cell:
        name, small, more, look = "?", "", "", "marker"
        known = self._history.written.get(spot.uid)
        if known is not None:
            name, small = self._named(spot.uid, known), self._version(known)
            more = f", epoch {known.batch.epoch}, timestamp {known.record.timestamp_ms}"
        line = words = f"{name} {small}".rstrip()
        if known is not None and known.batch.transactional:
            producer = known.batch.producer_id
            more += f", transaction of producer {producer}"
            small += "" if spot.kind is CellKind.MARKER else f" tx {producer}"
        if spot.horizon_ms is not None:
            small += f" h{spot.horizon_ms}"
            more += f", delete horizon {spot.horizon_ms} ms"
        if wrong:
            look, small, line = "wrong", f"≠ {small.strip()}", f"{line} !"
            more += ": not what was committed"
        elif spot.kind is not CellKind.MARKER:
            # Keys get their colours in the order in which they were written.
            key = self._history.key_of(spot.uid)
            keys = enumerate(self._history.uids_of_key)
            colour = next((n for n, each in keys if each == key), 0) % KEY_COLOURS
            look = f"{'d' if spot.kind is CellKind.TOMBSTONE else 'k'}{colour}"
        return Cell(look, name, small.strip(), words, more, line)

    def _named(self, uid: int, known: Written) -> str:
        """The name of a record: `A=d`, `del A`, `COMMIT 7`."""
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
        """The version that decides between records of a key: `v9`, `t40`; empty for offsets."""
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
    """The cell of an offset without a record, with the reason."""
    kind, look = spot.kind, spot.kind.name.lower()
    reason = spot.reason or (NEVER_HAD if kind is CellKind.HOLE else CellReason(""))
    words = printable(f"{kind} ({reason.words})") if reason.words else str(kind)
    brief, short = reason.brief, reason.short
    match kind:
        case CellKind.EMPTY:
            return Cell(look, "empty", brief, words, "", f"(empty {short})" if short else "(empty)")
        case CellKind.HOLE:
            return Cell(look, reason.upper or "hole", reason.lower, words, "", f"╌╌{short}")
        case CellKind.NOT_COMMITTED:
            return Cell("beyond", "", "", words, "", "·")
        case CellKind.BELOW:
            brief, short = brief or "deleted", short or "deleted"
    return Cell(look, "", brief, words, "", f"·{short}" if short else "")
