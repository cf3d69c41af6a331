"""Liberties of a story: what its steps may do, and no cluster does.

A step of a story does what it says, without asking who may: a replica that is in no in-sync set
leads, a disk is replaced that everybody counts on. What is broken after that says nothing about
the rules. So a story that is made of a run takes no liberty that the run did not take itself, such
as an unclean election.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Final

from sim.check import Violation
from sim.rules import Rules
from sim.shrink.story_shows import Cause
from sim.trace import (
    REBUILT,
    Appended,
    Cleaned,
    Copied,
    EpochCacheChanged,
    Event,
    GapLearned,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    LogStartedAfresh,
    PositionRecorded,
    PrefixDeleted,
    Pushed,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRemoved,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotInstalled,
    SnapshotTaken,
    Truncated,
)

OUT_OF_SYNC: Final = "a replica leads that is not in sync"
NO_MAJORITY: Final = "a replica leads that no majority would elect"
NOT_ADMITTED: Final = "a replica is in sync that was not admitted"
DISK_COUNTED_ON: Final = "a disk is replaced that others count on"
ACKNOWLEDGED_LOST: Final = "a crash loses what was acknowledged"
NOT_THE_LEADER: Final = "a replica writes in an epoch that it does not lead"
PUSHED: Final = "a follower gives offsets to what it copies"
NO_SNAPSHOT: Final = "the beginning of a log goes without a snapshot"
UNCOMMITTED: Final = "a snapshot has what is not committed"


def lawful(cause_of: Cause, allowed: Collection[str]) -> Cause:
    """A cause that also tells whether no liberty was taken but those in `allowed`."""

    def told(events: Sequence[tuple[int, Event]], violation: Violation, rules: Rules) -> Hashable:
        return cause_of(events, violation, rules), liberties(events, rules) <= set(allowed)

    return told


def liberties(events: Sequence[tuple[int, Event]], rules: Rules) -> set[str]:
    """The liberties that were taken.

    Args:
        events: (when, event) of a run or a story from its beginning.
        rules: Say who elects: a controller out of the in-sync set, or a majority.
    """
    watch = _Watch(by_majority=rules.replication.commit == "majority")
    for _, event in events:
        watch.on(event)
    return watch.found


class _Log:
    """What is known of a replica."""

    __slots__ = ("acknowledged", "end", "epochs", "high_watermark", "led", "snapshots", "up")

    def __init__(self) -> None:
        self.end = 0
        self.high_watermark = 0
        self.acknowledged = 0
        self.epochs: list[tuple[int, int]] = []
        self.led: set[int] = set()
        self.snapshots: set[int] = set()
        self.up = True

    def begin(self, epoch: int, offset: int) -> None:
        if not self.epochs or self.epochs[-1][0] < epoch:
            self.epochs.append((epoch, offset))

    def cut(self, end: int) -> None:
        self.end = min(self.end, end)
        self.acknowledged = min(self.acknowledged, end)
        self.epochs = [entry for entry in self.epochs if entry[1] < end]

    def entry(self) -> tuple[int, int]:
        return (self.epochs[-1][0] if self.epochs else 0, self.end)


class _Watch:
    """Looks for liberties event by event."""

    def __init__(self, *, by_majority: bool) -> None:
        self.found: set[str] = set()
        self._by_majority = by_majority
        self._logs: dict[str, _Log] = {}
        self._isr: tuple[str, ...] | None = None
        self._committed = 0

    def on(self, event: Event) -> None:
        match event:
            case LeaderElected():
                self._elected(event)
            case IsrChanged():
                if event.joined is None:
                    self._isr_is(event.isr)
                self._isr = event.isr
            case Appended() | Copied() | GapLearned() | Truncated() | Cleaned() | Pushed():
                self._written(event)
            case HighWatermarkMoved():
                self._log(event.replica).high_watermark = event.high_watermark
                if event.leading:
                    self._committed = max(self._committed, event.high_watermark)
            case PositionRecorded():
                log = self._log(event.follower)
                log.acknowledged = max(log.acknowledged, min(event.position, log.end))
            case ReplicaAdded() | ReplicaRemoved() | ReplicaRestarted():
                self._log(event.replica).up = not isinstance(event, ReplicaRemoved)
            case ReplicaCrashed() | ReplicaWiped():
                self._lost(event)
            case SnapshotTaken() | SnapshotInstalled() | PrefixDeleted() | LogStartedAfresh():
                self._snapshot(event)
            case EpochCacheChanged():
                self._log(event.replica).epochs = [
                    (entry.epoch, entry.start_offset) for entry in event.epochs
                ]
            case _:
                pass

    def _log(self, name: str) -> _Log:
        return self._logs.setdefault(name, _Log())

    def _elected(self, event: LeaderElected) -> None:
        log = self._log(event.replica)
        if self._by_majority:
            own = log.entry()
            votes = [
                name
                for name in event.voters
                if name != event.replica and self._log(name).up and self._log(name).entry() <= own
            ]
            if len(votes) + 1 < len(event.voters) // 2 + 1:
                self.found.add(NO_MAJORITY)
        else:
            if event.replica not in (event.isr if self._isr is None else self._isr):
                self.found.add(OUT_OF_SYNC)
            if event.replica not in event.isr:
                self.found.add(OUT_OF_SYNC)
            self._isr_is(event.isr)
        self._isr = event.isr
        log.led.add(event.epoch)
        log.begin(event.epoch, log.end)

    def _isr_is(self, isr: Collection[str]) -> None:
        if self._isr is not None and not set(isr) <= set(self._isr):
            self.found.add(NOT_ADMITTED)

    def _written(
        self, event: Appended | Copied | GapLearned | Truncated | Cleaned | Pushed
    ) -> None:
        log = self._log(event.replica)
        match event:
            case Appended() | Pushed():
                batch = event.batch
                if isinstance(event, Pushed):
                    self.found.add(PUSHED)
                elif batch.epoch not in log.led:
                    self.found.add(NOT_THE_LEADER)
                log.begin(batch.epoch, batch.base_offset)
                log.end = batch.last_offset + 1
            case Copied():
                for batch in event.batches:
                    log.begin(batch.epoch, batch.base_offset)
                log.end = event.log_end_offset
            case GapLearned():
                for entry in event.epochs:
                    log.begin(entry.epoch, entry.start_offset)
                log.end = event.log_end_offset
            case Truncated():
                log.cut(event.target if event.lowest is None else event.lowest)
            case Cleaned():
                log.end = event.log_end_offset

    def _lost(self, event: ReplicaCrashed | ReplicaWiped) -> None:
        name, log = event.replica, self._log(event.replica)
        if isinstance(event, ReplicaCrashed):
            counted_on = max(log.acknowledged, min(self._committed, log.end))
            if event.log_end_offset < min(counted_on, log.end):
                self.found.add(ACKNOWLEDGED_LOST)
            log.cut(event.log_end_offset)
            log.up = False
            return
        counted = log.end > 0 if self._by_majority else name in (self._isr or ())
        if event.reason != REBUILT and counted:
            self.found.add(DISK_COUNTED_ON)
        up = log.up
        self._logs[name] = log = _Log()
        log.up = up

    def _snapshot(
        self, event: SnapshotTaken | SnapshotInstalled | PrefixDeleted | LogStartedAfresh
    ) -> None:
        log = self._log(event.replica)
        match event:
            case SnapshotTaken():
                if event.end_offset > log.high_watermark:
                    self.found.add(UNCOMMITTED)
                log.snapshots.add(event.end_offset)
            case SnapshotInstalled():
                log.snapshots.add(event.end_offset)
                log.end = event.end_offset
                log.epochs = [(event.epoch, event.end_offset)]
            case PrefixDeleted():
                if event.log_start_offset not in log.snapshots:
                    self.found.add(NO_SNAPSHOT)
            case LogStartedAfresh():
                log.end = event.log_start_offset
                log.epochs = []
