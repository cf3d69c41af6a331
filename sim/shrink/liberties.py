"""Liberties of a story: what its steps may do, and no cluster does.

A step of a story does what it says, without asking who may: a replica that is in no in-sync set
leads, a disk is replaced that everybody counts on. What is violated after that says nothing about
the rules. So a story that is made of a run takes no liberty that the run did not take itself, such
as an unclean election.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Final

from sim import trace
from sim.check import Checker, Violation
from sim.check.replica_view import ReplicaView
from sim.rules import Rules
from sim.shrink.sought import Cause, Events

OUT_OF_SYNC: Final = "a replica leads that is not in sync"
NO_MAJORITY: Final = "a replica leads that no majority would elect"
NOT_ADMITTED: Final = "a replica is in sync that was not admitted"
DISK_COUNTED_ON: Final = "a disk is replaced that others count on"
ACKNOWLEDGED_LOST: Final = "a crash loses what was acknowledged"
NOT_THE_LEADER: Final = "a replica writes in an epoch that it does not lead"
PUSHED: Final = "a follower gives offsets to what it copies"
NO_SNAPSHOT: Final = "the beginning of a log goes without a snapshot"
UNCOMMITTED: Final = "a snapshot has what is not committed"


def lawful(cause_of: Cause, past: Events, rules: Rules) -> Cause:
    """A cause that also tells whether no liberty was taken but those of a run."""
    allowed = liberties(past, rules)

    def told(events: Events, violation: Violation, rules: Rules) -> Hashable:
        return cause_of(events, violation, rules), liberties(events, rules) <= allowed

    return told


def liberties(events: Sequence[tuple[int, trace.Event]], rules: Rules) -> set[str]:
    """The liberties that were taken.

    Args:
        events: (when, event) of a run or a story from its beginning.
        rules: Say who elects: a controller out of the in-sync set, or a majority.
    """
    watch = _Watch(rules)
    return {liberty for at, event in events for liberty in watch.on(at, event)}


class _Watch:
    """Looks for liberties event by event."""

    def __init__(self, rules: Rules) -> None:
        self._by_majority = rules.replication.commit == "majority"
        self._checker = Checker(rules, ())
        self._history = self._checker.history
        self._isr: tuple[str, ...] | None = None
        self._led: set[tuple[str, int]] = set()
        self._acknowledged: dict[str, int] = {}

    def on(self, at: int, event: trace.Event) -> list[str]:
        """What liberties an event takes."""
        found = list(self._taken_by(event))
        self._checker.on(at, event)
        return found

    def _taken_by(self, event: trace.Event) -> Iterator[str]:
        match event:
            case trace.LeaderElected():
                yield from self._elected(event)
            case trace.IsrChanged():
                if event.joined is None:
                    yield from self._not_admitted(event.isr)
                self._isr = event.isr
            case trace.Appended():
                if (event.replica, event.batch.epoch) not in self._led:
                    yield NOT_THE_LEADER
            case trace.Pushed():
                yield PUSHED
            case trace.SnapshotTaken():
                if event.end_offset > self._view(event.replica).high_watermark:
                    yield UNCOMMITTED
            case trace.PrefixDeleted():
                ends = {end for end, _ in self._view(event.replica).snapshots}
                if event.log_start_offset not in ends:
                    yield NO_SNAPSHOT
            case _:
                yield from self._lost_by(event)

    def _view(self, name: str) -> ReplicaView:
        return self._history.replicas.get(name) or ReplicaView(name)

    def _elected(self, event: trace.LeaderElected) -> Iterator[str]:
        if self._by_majority:
            own = self._entry(event.replica)
            votes = [name for name in event.voters if name != event.replica and self._up(name)]
            granted = [name for name in votes if self._entry(name) <= own]
            if len(granted) + 1 < len(event.voters) // 2 + 1:
                yield NO_MAJORITY
        else:
            before = event.isr if self._isr is None else self._isr
            if event.replica not in before or event.replica not in event.isr:
                yield OUT_OF_SYNC
            yield from self._not_admitted(event.isr)
        self._isr = event.isr
        self._led.add((event.replica, event.epoch))

    def _up(self, name: str) -> bool:
        return self._view(name).up and name not in self._history.removed_replicas

    def _entry(self, name: str) -> tuple[int, int]:
        """The epoch of the last record that a log was given, and where the log ends."""
        view = self._view(name)
        written = self._history.written.get(view.lineage[-1] if view.lineage else 0)
        return (0 if written is None else written.batch.epoch, view.log_end_offset)

    def _not_admitted(self, isr: Collection[str]) -> Iterator[str]:
        if self._isr is not None and not set(isr) <= set(self._isr):
            yield NOT_ADMITTED

    def _lost_by(self, event: trace.Event) -> Iterator[str]:
        """Looks at what followers told their leaders that they have, and lose."""
        known = self._acknowledged
        match event:
            case trace.PositionRecorded(follower=name, position=position):
                end = self._view(name).log_end_offset
                known[name] = max(known.get(name, 0), min(position, end))
            case trace.Truncated(replica=name, target=target, lowest=lowest):
                known[name] = min(known.get(name, 0), target if lowest is None else lowest)
            case trace.ReplicaCrashed(replica=name, log_end_offset=left):
                end = self._view(name).log_end_offset
                counted_on = max(known.get(name, 0), len(self._history.committed))
                if left < min(counted_on, end):
                    yield ACKNOWLEDGED_LOST
                known[name] = min(known.get(name, 0), left)
            case trace.ReplicaWiped(replica=name, reason=reason):
                holds = self._view(name).log_end_offset > 0
                counted = holds if self._by_majority else name in (self._isr or ())
                if reason != trace.REBUILT and counted:
                    yield DISK_COUNTED_ON
                known.pop(name, None)
                self._led = {(other, epoch) for other, epoch in self._led if other != name}
            case _:
                pass
