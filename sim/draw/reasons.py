"""Why an offset of a log holds no record: the history of the checks only says that it does not."""

from __future__ import annotations

from collections.abc import Mapping

from sim.check.replica_view import EMPTY, ReplicaView
from sim.trace import (
    Appended,
    Cleaned,
    Copied,
    Event,
    GapLearned,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PrefixDeleted,
    Pushed,
    Removal,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotInstalled,
    Truncated,
)

NEVER_GIVEN = "never given to a record"
NOT_COPIED = "not copied from"
_REMOVED = {
    "tombstone": "tombstone removed",
    "aborted": "aborted, so removed",
    "marker": "marker removed",
    "no key": "no key, so removed",
    "unmapped": "removed, though not in the cleaner's map",
}


class Reasons:
    """Of every replica: offset -> why it holds no record there.

    A reason goes when a record comes. Above the log end it says how a record went that was there.
    """

    def __init__(self, views: Mapping[str, ReplicaView]) -> None:
        """Nothing is missing on `views`, which whoever keeps the history brings up to date."""
        self._views = views
        self._why: dict[str, dict[int, str]] = {}

    def of(self, replica: str) -> Mapping[int, str]:
        """Those of one replica."""
        return self._why.get(replica, {})

    def log_end(self, event: Event) -> int:
        """The log end offset of the replica that an event is about, as the history has it now."""
        view = self._views.get(event.replica or "")
        return 0 if view is None else view.log_end_offset

    def note(self, event: Event, before: int) -> None:
        """The history has taken in an event; `before` is what `log_end` was until then."""
        why = self._why.setdefault(event.replica or "", {})
        end = self.log_end(event)
        match event:
            case Appended(_, batch) | Pushed(_, _, batch):
                self._written(event.replica, range(min(before, batch.base_offset), end), None)
            case Copied() | GapLearned():
                start = min(before, event.fetch_offset)
                self._written(event.replica, range(start, end), event.leader)
            case Cleaned():
                why.update((gone.offset, _removal(gone)) for gone in event.removals)
                for offset in event.dropped:
                    why[offset] = "the empty batch went" + _colon(why.get(offset, ""))
            case SegmentsLost(_, offsets):
                why.update(dict.fromkeys(offsets, "lost in a crash between two files"))
            case Truncated(_, target, _, _, _, _, lowest) if lowest is not None:
                cut = range(lowest, min(target, end))
                why.update(dict.fromkeys(cut, "truncated with the rest of its batch"))
            case SnapshotInstalled(_, last, epoch):
                why.update(dict.fromkeys(range(last), f"in snapshot ({last}, {epoch})"))
            case LogStartedAfresh(_, start):
                why.update(dict.fromkeys(range(start), "the leader's log starts later"))
            case PrefixDeleted(_, start):
                covered = any(end >= start for end, _ in self._views[event.replica].snapshots)
                because = "in a snapshot" if covered else "in no snapshot of it"
                why.update(dict.fromkeys(range(start), because))
            case LogStartMoved(_, start, _, cause):
                why.update(dict.fromkeys(range(start), cause))
            case _:
                pass
        if end < before:
            why.update(dict.fromkeys(range(end, before), _cut(event)))

    def _written(self, replica: str, span: range, leader: str | None) -> None:
        """The log goes on over `span`; where nothing came, `leader` has a reason for it."""
        why, slots = self._why[replica], self._views[replica].slots
        known = {} if leader is None else self.of(leader)
        for offset in span:
            if slots[offset] > 0:
                why.pop(offset, None)
            elif slots[offset] == EMPTY:
                why[offset] = known.get(offset, "")
            elif leader is None:
                why[offset] = NEVER_GIVEN
            else:
                reason = known.get(offset, "")
                copied = reason.startswith(NOT_COPIED)
                why[offset] = reason if copied else f"{NOT_COPIED} {leader}{_colon(reason)}"


def _colon(reason: str) -> str:
    return f": {reason}" if reason else ""


def _removal(gone: Removal) -> str:
    if gone.winner_offset is not None:
        return f"superseded by {gone.winner_offset}"
    return _REMOVED.get(gone.reason, gone.reason)


def _cut(event: Event) -> str:
    """Why the log ends earlier than before."""
    match event:
        case Truncated():
            return "truncated"
        case ReplicaCrashed() | ReplicaRestarted():
            return "lost in a crash"
        case ReplicaWiped(_, reason):
            return f"wiped: {reason}"
        case LogEmptied(_, end, epoch):
            return f"dropped for snapshot ({end}, {epoch})"
        case SnapshotInstalled(_, end, epoch):
            return f"dropped for snapshot ({end}, {epoch})"
        case LogStartedAfresh():
            return "dropped: the leader's log starts later"
        case Cleaned():
            return "the log end fell with a cleaning pass"
        case _:
            return "gone"
