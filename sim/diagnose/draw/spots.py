"""What is at one offset of one log, and why there is no record: by the event that took it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from sim.check.replica_view import ReplicaView
from sim.protocol import events as on
from sim.protocol.events import Event, Removal


class Kind(StrEnum):
    """What is at one offset of one log."""

    RECORD = "a record"
    TOMBSTONE = "a tombstone"
    MARKER = "a marker"
    EMPTY = "an empty batch"
    """A batch whose records are gone: its offsets and epoch are kept."""
    HOLE = "a hole"
    """Neither a record nor a batch."""
    BELOW = "below the log start"
    BEYOND = "beyond the log end"
    NOT_COMMITTED = "not committed"
    """Of the committed history alone."""


class Reason(NamedTuple):
    """Why there is no record.

    Attributes:
        words: Within a sentence.
        short: In a few characters, for a strip.
        upper: The first of two short lines in a cell.
        lower: The second.
        winner: The offset of the record that it lost to.
    """

    words: str
    short: str = ""
    upper: str = ""
    lower: str = ""
    winner: int | None = None

    @property
    def brief(self) -> str:
        """In a word or two."""
        return self.upper if self.winner is None else self.lower


class Spot(NamedTuple):
    """One offset of one log.

    Attributes:
        kind: What is there.
        uid: The append that made the record; 0 where there is none.
        reason: Why there is no record; None = there is one, or there never was.
        horizon_ms: The delete horizon of its batch, where that has one.
    """

    kind: Kind
    uid: int = 0
    reason: Reason | None = None
    horizon_ms: int | None = None


NOT_THERE: Final = Spot(Kind.BEYOND)
NOT_COMMITTED: Final = Spot(Kind.NOT_COMMITTED)
NEVER_HAD: Final = Reason("never had a record here")
_REMOVED = {
    "tombstone": Reason("tombstone removed", "tomb", "tombstone", "removed"),
    "aborted": Reason("aborted, so removed", "abort", "aborted", "removed"),
    "marker": Reason("marker removed", "mark", "marker", "removed"),
    "no key": Reason("no key, so removed", "", "no key", "removed"),
    "unmapped": Reason("removed, though not in the cleaner's map"),
}
_LOST = Reason("lost in a crash", "lost", "lost")
_LOST_BETWEEN = Reason("lost in a crash between two files", "lost", "lost", "in a crash")
_CUT_WITH_BATCH = Reason("truncated with the rest of its batch", "cut", "truncated", "with batch")
_AFRESH = Reason("dropped: the leader's log starts later", "drop", "dropped")
_NEVER_GIVEN = Reason("never given to a record")
_COVERED = Reason("in a snapshot", "snap", "snapshot")
_NOT_COVERED = Reason("in no snapshot of it", "deleted", "deleted")
_NOT_COPIED = "not copied from"

_LEFT_BY: Mapping[type[Event], Mapping[Kind, Reason]] = {
    on.Appended: {Kind.HOLE: _NEVER_GIVEN},
    on.Pushed: {Kind.HOLE: _NEVER_GIVEN},
    on.Truncated: {
        Kind.BEYOND: Reason("truncated", "cut", "truncated"),
        Kind.HOLE: _CUT_WITH_BATCH,
        Kind.EMPTY: _CUT_WITH_BATCH,
    },
    on.ReplicaCrashed: {Kind.BEYOND: _LOST},
    on.ReplicaRestarted: {Kind.BEYOND: _LOST},
    on.SegmentsLost: {Kind.HOLE: _LOST_BETWEEN, Kind.EMPTY: _LOST_BETWEEN},
    on.LogStartedAfresh: {
        Kind.BEYOND: _AFRESH,
        Kind.BELOW: Reason("the leader's log starts later", "", "deleted"),
    },
    on.Cleaned: {Kind.BEYOND: Reason("the log end fell with a cleaning pass")},
}
"""Why there is no record where an event of this class left none."""


def reason_after(
    event: Event, view: ReplicaView, kind: Kind, known: Reason | None, told: Reason | None
) -> Reason | None:
    """Why there is no record at an offset that an event may have changed; None = no reason.

    Args:
        event: What happened.
        view: The replica after it.
        kind: What is at the offset now.
        known: The reason before the event.
        told: The reason in the log that it copied from, or for a removal by it.
    """
    left = _left_by(event, view).get(kind)
    if left is not None or kind is Kind.BEYOND:
        return left or Reason("gone")
    if kind is Kind.BELOW:
        return known
    match event:
        case on.Appended() | on.Pushed():
            return None
        case on.Copied() | on.GapLearned():
            return told if kind is Kind.EMPTY else _not_copied(event.leader, told)
        case on.Cleaned():
            return told or known
        case _:
            return known


def _left_by(event: Event, view: ReplicaView) -> Mapping[Kind, Reason]:
    match event:
        case on.SnapshotInstalled(_, end, epoch) | on.LogEmptied(_, end, epoch):
            dropped = Reason(f"dropped for snapshot ({end}, {epoch})", "drop", "dropped")
            below = Reason(f"in snapshot ({end}, {epoch})", "snap", "snapshot")
            return {Kind.BEYOND: dropped, Kind.BELOW: below}
        case on.PrefixDeleted(_, start):
            covered = any(end >= start for end, _ in view.snapshots)
            return {Kind.BELOW: _COVERED if covered else _NOT_COVERED}
        case on.LogStartMoved():
            return {Kind.BELOW: Reason(event.cause, "", "deleted")}
        case on.ReplicaWiped(_, reason):
            return {Kind.BEYOND: Reason(f"wiped: {reason}", "wiped", "wiped")}
        case _:
            return _LEFT_BY.get(type(event), {})


def removals_of(event: on.Cleaned, known: Mapping[int, Reason | None]) -> dict[int, Reason]:
    """Offset -> why, of the records and the empty batches that a cleaning pass took.

    Args:
        event: The pass.
        known: Offset -> why there was no record before.
    """
    found = {gone.offset: _removal(gone) for gone in event.removals}
    for offset in event.dropped:
        before = found.get(offset) or known.get(offset)
        why = f": {before.words}" if before else ""
        found[offset] = Reason(f"the empty batch went{why}", "gone", "empty batch", "removed")
    return found


def _removal(gone: Removal) -> Reason:
    won = gone.winner_offset
    if won is not None:
        return Reason(f"superseded by {won}", f">{won}", "superseded", f"by {won}", won)
    return _REMOVED.get(gone.reason) or Reason(gone.reason)


def _not_copied(leader: str, reason: Reason | None) -> Reason:
    if reason is None:
        return Reason(f"{_NOT_COPIED} {leader}", "gap", "gap")
    if reason.words.startswith(_NOT_COPIED):
        return reason
    words = f"{_NOT_COPIED} {leader}: {reason.words}"
    return Reason(words, reason.short, "gap", reason.brief, reason.winner)
