"""Why an offset of a log holds no record, told by the event that took the record or left it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sim import trace
from sim.check.replica_view import EMPTY, ReplicaView


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


_NEVER_GIVEN = Reason("never given to a record")
_REMOVED = {
    "tombstone": Reason("tombstone removed", "tomb", "tombstone", "removed"),
    "aborted": Reason("aborted, so removed", "abort", "aborted", "removed"),
    "marker": Reason("marker removed", "mark", "marker", "removed"),
    "no key": Reason("no key, so removed", "", "no key", "removed"),
    "unmapped": Reason("removed, though not in the cleaner's map"),
}
_CUT: Mapping[type[trace.Event], Reason] = {
    trace.Truncated: Reason("truncated", "cut", "truncated"),
    trace.ReplicaCrashed: Reason("lost in a crash", "lost", "lost"),
    trace.ReplicaRestarted: Reason("lost in a crash", "lost", "lost"),
    trace.LogStartedAfresh: Reason("dropped: the leader's log starts later", "drop", "dropped"),
    trace.Cleaned: Reason("the log end fell with a cleaning pass"),
}
_CUT_WITH_BATCH = Reason("truncated with the rest of its batch", "cut", "truncated", "with batch")
_BETWEEN_FILES = Reason("lost in a crash between two files", "lost", "lost", "in a crash")
_COVERED = Reason("in a snapshot", "snap", "snapshot")
_NOT_COVERED = Reason("in no snapshot of it", "deleted", "deleted")
_NOT_COPIED = "not copied from"


def told_by(event: trace.Event, known: Mapping[str, Mapping[int, Reason]]) -> Mapping[int, Reason]:
    """The reasons that an event brings: of the records it removes, or of those a leader lacks.

    Args:
        event: What happened.
        known: Replica -> offset -> reason, before the event.
    """
    match event:
        case trace.Cleaned():
            return {gone.offset: _removal(gone) for gone in event.removals}
        case trace.Copied() | trace.GapLearned():
            return known.get(event.leader, {})
        case _:
            return {}


def reason_after(
    event: trace.Event, view: ReplicaView, offset: int, known: Reason | None, told: Reason | None
) -> Reason | None:
    """Why there is no record at an offset after an event; None = nothing is to be said.

    Args:
        event: What happened.
        view: The replica after it, without a record at the offset.
        offset: Where to look; the event may have changed it.
        known: The reason before the event.
        told: What `told_by` says of the offset.
    """
    if offset >= view.log_end_offset:
        return _cut(event)
    if offset < view.log_start_offset:
        return _below(event, view, known)
    empty = view.slots[offset] == EMPTY
    match event:
        case trace.Appended() | trace.Pushed():
            return None if empty else _NEVER_GIVEN
        case trace.Copied() | trace.GapLearned():
            return told if empty else _not_copied(event.leader, told)
        case trace.Cleaned():
            reason = told or known
            return _batch_went(reason) if offset in event.dropped else reason
        case trace.SegmentsLost():
            return _BETWEEN_FILES
        case trace.Truncated():
            return _CUT_WITH_BATCH
        case _:
            return known


def _removal(gone: trace.Removal) -> Reason:
    won = gone.winner_offset
    if won is not None:
        return Reason(f"superseded by {won}", f">{won}", "superseded", f"by {won}", won)
    return _REMOVED.get(gone.reason) or Reason(gone.reason)


def _batch_went(reason: Reason | None) -> Reason:
    return Reason(f"the empty batch went{_colon(reason)}", "gone", "empty batch", "removed")


def _not_copied(leader: str, reason: Reason | None) -> Reason:
    if reason is None:
        return Reason(f"{_NOT_COPIED} {leader}", "gap", "gap")
    if reason.words.startswith(_NOT_COPIED):
        return reason
    words = f"{_NOT_COPIED} {leader}{_colon(reason)}"
    return Reason(words, reason.short, "gap", reason.brief, reason.winner)


def _colon(reason: Reason | None) -> str:
    return "" if reason is None else f": {reason.words}"


def _below(event: trace.Event, view: ReplicaView, known: Reason | None) -> Reason | None:
    """Why the log starts later."""
    match event:
        case trace.SnapshotInstalled(_, end, epoch):
            return Reason(f"in snapshot ({end}, {epoch})", "snap", "snapshot")
        case trace.LogStartedAfresh():
            return Reason("the leader's log starts later", "", "deleted")
        case trace.PrefixDeleted(_, start):
            covered = any(end >= start for end, _ in view.snapshots)
            return _COVERED if covered else _NOT_COVERED
        case trace.LogStartMoved():
            return Reason(event.cause, "", "deleted")
        case _:
            return known


def _cut(event: trace.Event) -> Reason:
    """Why the log ends earlier than before."""
    match event:
        case trace.ReplicaWiped(_, reason):
            return Reason(f"wiped: {reason}", "wiped", "wiped")
        case trace.LogEmptied(_, end, epoch) | trace.SnapshotInstalled(_, end, epoch):
            return Reason(f"dropped for snapshot ({end}, {epoch})", "drop", "dropped")
        case _:
            return _CUT.get(type(event)) or Reason("gone")
