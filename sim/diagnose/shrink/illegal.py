"""Illegal steps: actions that a story can take and no cluster does.

A story takes its steps without checks: a replica outside every in-sync set leads, a disk that
others count on is replaced. A violation after that says nothing about the rules. So a story made of
a run takes only the kinds of illegal steps that the run took, such as an unclean election.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from sim.check import Checker
from sim.check.facts import ReplicaView
from sim.diagnose.explain.past import Recorded
from sim.protocol import events as on
from sim.protocol.events import Event
from sim.protocol.rules import Rules

OUT_OF_SYNC: Final = "a replica leads that is not in sync"
NO_MAJORITY: Final = "a replica leads that no majority would elect"
NOT_ADMITTED: Final = "a replica is in sync that was not admitted"
DISK_COUNTED_ON: Final = "a disk is replaced that others count on"
ACKNOWLEDGED_LOST: Final = "a crash loses what was acknowledged"
NOT_THE_LEADER: Final = "a replica writes in an epoch that it does not lead"
NO_SNAPSHOT: Final = "the beginning of a log goes without a snapshot"
UNCOMMITTED: Final = "a snapshot has what is not committed"

ELECTIONS: Final = ("election-safety", "epoch-monotonic")
"""Invariants that only illegal elections violate."""


def illegal_steps(events: Recorded, rules: Rules) -> set[str]:
    """The kinds of illegal steps in a run; for elections the invariants that they violate.

    Args:
        events: (time, event) of a run or a story from its beginning.
        rules: Rules of the run: a controller elects from the in-sync set, or a majority votes.
    """
    watch = _Watch(rules)
    found = set[str]()
    for at, event in events:
        found.update(watch.illegal(event, watch.view(getattr(event, "replica", ""))))
        watch.checker.on(at, event)
    return found | {violation.invariant for violation in watch.checker.violations}


class _Watch:
    """Compares each event with the history before it.

    Attributes:
        checker: Checker that keeps the history and judges the elections.
    """

    def __init__(self, rules: Rules) -> None:
        self.checker = Checker(rules, ELECTIONS)
        self._by_majority = rules.replication.commit == "majority"
        self._history = self.checker.history
        self._led: set[tuple[str, int]] = set()
        self._acknowledged: dict[str, int] = {}

    def view(self, name: str) -> ReplicaView:
        """The state of a replica before the event; an empty one if it does not exist."""
        return self._history.replicas.get(name) or ReplicaView(name)

    def illegal(self, event: Event, view: ReplicaView) -> Iterator[str]:
        """Yields the illegal steps in an event; a recorded position counts as acknowledged."""
        name, end, known = view.name, view.log_end_offset, self._acknowledged
        match event:
            case on.LeaderElected():
                yield from (
                    self._elected_by_votes(event) if self._by_majority else self._elected(event)
                )
                self._led.add((name, event.epoch))
            case on.IsrChanged(joined=None, isr=isr):
                yield from self._not_admitted(isr)
            case on.Appended(batch=batch) if (name, batch.epoch) not in self._led:
                yield NOT_THE_LEADER
            case on.SnapshotTaken(end_offset=taken) if taken > view.high_watermark:
                yield UNCOMMITTED
            case on.PrefixDeleted(log_start_offset=start):
                if start not in {taken for taken, _ in view.snapshots}:
                    yield NO_SNAPSHOT
            case on.PositionRecorded(follower=follower, position=position):
                there = min(position, self.view(follower).log_end_offset)
                known[follower] = max(known.get(follower, 0), there)
            case on.Truncated(target=target, lowest=lowest):
                known[name] = min(known.get(name, 0), target if lowest is None else lowest)
            case on.ReplicaCrashed(log_end_offset=left):
                if left < min(max(known.get(name, 0), len(self._history.committed)), end):
                    yield ACKNOWLEDGED_LOST
                known[name] = min(known.get(name, 0), left)
            case on.ReplicaWiped(reason=reason):
                counted = end > 0 if self._by_majority else name in self._history.isr
                if reason != on.REBUILT and counted:
                    yield DISK_COUNTED_ON
                known.pop(name, None)
                self._led = {(other, epoch) for other, epoch in self._led if other != name}

    def _elected_by_votes(self, event: on.LeaderElected) -> Iterator[str]:
        votes = [
            self.view(name)
            for name in event.voters
            if name not in {event.replica, *self._history.removed_replicas}
        ]
        own = self._entry(self.view(event.replica))
        granted = [voter for voter in votes if voter.up and self._entry(voter) <= own]
        if len(granted) < len(event.voters) // 2:
            yield NO_MAJORITY

    def _elected(self, event: on.LeaderElected) -> Iterator[str]:
        if event.replica not in (self._history.isr or event.isr) or event.replica not in event.isr:
            yield OUT_OF_SYNC
        yield from self._not_admitted(event.isr)

    def _entry(self, view: ReplicaView) -> tuple[int, int]:
        """The epoch of the last record of a log, and the log end."""
        written = self._history.written.get(view.lineage[-1] if view.lineage else 0)
        return (0 if written is None else written.batch.epoch, view.log_end_offset)

    def _not_admitted(self, isr: Collection[str]) -> Iterator[str]:
        if self._history.isr and not set(isr) <= set(self._history.isr):
            yield NOT_ADMITTED
