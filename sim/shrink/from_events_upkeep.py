"""How the steps of a story clean, break and come back, snap and read as the events of a run say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.replication import Replica
from sim.replication.cleaning import stable_offset
from sim.shrink.from_events_cluster import Handlers
from sim.shrink.from_events_making import Making
from sim.trace import (
    REBUILT,
    Cleaned,
    Consumed,
    ConsumerReset,
    CoordinatorAnswered,
    CoordinatorLoaded,
    Event,
    FaultInjected,
    LogEmptied,
    PrefixDeleted,
    Quiesced,
    ReadingEnded,
    RemovalBoundMoved,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRemoved,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotInstalled,
    SnapshotOffered,
    SnapshotTaken,
)

_DURING = " during a pass ("


class Cleaning:
    """Passes, and how far removal may go."""

    def __init__(self, making: Making, events: Sequence[tuple[int, Event]]) -> None:
        self.making = making
        self._interrupted = _interrupted(events)
        self.handlers: Handlers = {
            Cleaned: self._cleaned,
            RemovalBoundMoved: self._bound_moved,
        }

    def _cleaned(self, event: Cleaned) -> None:
        replica = self.making.replica(event.replica)
        if replica is None or not replica.up:
            return
        wanted = self.making.choice.records
        touched = wanted is None or any(removal.uid in wanted for removal in event.removals)
        if not (touched or event.horizons or event.protected_offset is not None):
            return
        self.making.until(event.now_ms)
        gone = [removal for removal in event.removals if removal.reason in ("tombstone", "marker")]
        self._ripen(replica, gone)
        bound = self.making.map.in_story(replica, event.upper_bound)
        stable = stable_offset(replica, rules=self.making.driver.rules)
        legacy: dict[str, Any] = {}
        if self.making.rules.cleaner.tombstone_removal == "last_modified" and gone:
            legacy = {"legacy_horizon": 1, "segments": ((0, bound, 0),)}
        moment = self._interrupted.get(id(event))
        upto = bound if self.making.choice.exact and bound < stable else None
        self.making.step("compact", replica=replica.name, **legacy, upto=upto, crash=moment)

    def _ripen(self, replica: Replica, gone: Sequence[Any]) -> None:
        """Let so much time pass that what went in the run may go in the story."""
        offsets = {self.making.map.in_story(replica, removal.offset) for removal in gone}
        horizons = [
            batch.delete_horizon_ms
            for batch in replica.log.batches()
            if batch.base_offset in offsets and batch.delete_horizon_ms is not None
        ]
        if horizons:
            self.making.until(max(horizons))

    def _bound_moved(self, event: RemovalBoundMoved) -> None:
        replica = self.making.replica(event.replica)
        if replica is None or not replica.up:
            return
        if replica.removal_bound < self.making.map.in_story(replica, event.offset):
            self.making.step("coordinate")


class Breaking:
    """Replicas go down, come back, join and leave."""

    def __init__(self, making: Making) -> None:
        self.making = making
        self.handlers: Handlers = {
            FaultInjected: self._fault,
            ReplicaAdded: self._added,
            ReplicaCrashed: self._crashed,
            ReplicaRemoved: self._removed,
            ReplicaRestarted: self._restarted,
            ReplicaWiped: self._wiped,
        }

    def _fault(self, event: FaultInjected) -> None:
        if event.fault == "crash" and _DURING in event.detail:
            replica = self.making.replica(event.replica)
            moment = event.detail.partition(_DURING)[2].partition(")")[0]
            if replica is not None and replica.up:
                self.making.step("compact", replica=event.replica, crash=moment)

    def _crashed(self, event: ReplicaCrashed) -> None:
        replica = self.making.replica(event.replica)
        if replica is not None and replica.up:
            lost = self.making.map.count_from(replica, event.log_end_offset)
            self.making.step("crash", replica=event.replica, lose=lost or None)

    def _restarted(self, event: ReplicaRestarted) -> None:
        replica = self.making.replica(event.replica)
        if replica is not None and not replica.up:
            self.making.step("restart", replica=event.replica)

    def _wiped(self, event: ReplicaWiped) -> None:
        replica = self.making.replica(event.replica)
        if replica is not None and event.reason != REBUILT:
            self.making.step("wipe", replica=event.replica)

    def _added(self, event: ReplicaAdded) -> None:
        if event.replica not in self.making.driver.replicas:
            self.making.step("add_replica", replica=event.replica)

    def _removed(self, event: ReplicaRemoved) -> None:
        if (
            event.replica in self.making.driver.replicas
            and event.replica != self.making.driver.leader
        ):
            self.making.step("remove_replica", replica=event.replica)


class Snapping:
    """Snapshots are taken, fetched and installed."""

    def __init__(self, making: Making) -> None:
        self.making = making
        self.handlers: Handlers = {
            LogEmptied: self._emptied,
            PrefixDeleted: self._prefix_deleted,
            SnapshotChunkFetched: self._chunk,
            SnapshotInstalled: self._installed,
            SnapshotOffered: self._offered,
            SnapshotTaken: self._snapshot,
        }

    def _snapshot(self, event: SnapshotTaken) -> None:
        replica = self.making.replica(event.replica)
        if replica is not None and replica.up:
            end = self.making.map.in_story(replica, event.end_offset)
            if end > replica.log.log_start_offset:
                self.making.step("snapshot", replica=event.replica, end=end)

    def _prefix_deleted(self, event: PrefixDeleted) -> None:
        replica = self.making.replica(event.replica)
        if replica is not None and replica.up:
            to = self.making.map.in_story(replica, event.log_start_offset)
            if to > replica.log.log_start_offset:
                self.making.step("delete_prefix", replica=event.replica, to=to)

    def _offered(self, event: SnapshotOffered) -> None:
        pair = self.making.pair(event.follower, event.replica)
        if pair is not None and pair[0].download is None:
            self.making.fetch(*pair)

    def _chunk(self, event: SnapshotChunkFetched) -> None:
        pair = self.making.pair(event.replica, event.leader)
        if pair is not None and pair[0].download is not None:
            chunk = (
                None if event.in_bytes or not self.making.choice.exact else event.entries or None
            )
            self.making.step(
                "fetch_snapshot", follower=event.replica, leader=event.leader, chunk=chunk
            )

    def _emptied(self, event: LogEmptied) -> None:
        leader = self.making.driver.leader
        pair = None if leader is None else self.making.pair(event.replica, leader)
        if pair is not None and pair[0].download is None:
            self.making.fetch(*pair)

    def _installed(self, event: SnapshotInstalled) -> None:
        leader = self.making.driver.leader
        pair = None if leader is None else self.making.pair(event.replica, leader)
        if pair is not None and pair[0].download is not None:
            self.making.step("fetch_snapshot", follower=event.replica, leader=leader)


class Reading:
    """Consumers read, coordinators load and answer, and all is looked at."""

    def __init__(self, making: Making) -> None:
        self.making = making
        self._names: dict[str, str] = {}
        self.handlers: Handlers = {
            Consumed: self._consumed,
            ConsumerReset: self._reset,
            CoordinatorAnswered: self._asked,
            CoordinatorLoaded: self._loaded,
            Quiesced: self._quiesced,
            ReadingEnded: self._reading_ended,
        }

    def _consumed(self, event: Consumed) -> None:
        replica = self.making.replica(event.replica)
        if not self.making.choice.reads or replica is None or not replica.up:
            return
        self.making.until(event.now_ms)
        end = self.making.map.in_story(replica, event.end)
        upto = end if end < replica.log.high_watermark else None
        isolation = "read_committed" if event.committed else None
        self._consume(event.consumer, event.replica, upto, isolation)

    def _reset(self, event: ConsumerReset) -> None:
        """Its position moves when it asks; where that does not move it, another reader goes on.

        A story moves readers only as far as KIP-320 does; who is new begins where it likes.
        """
        replica, driver = self.making.replica(event.replica), self.making.driver
        if not self.making.choice.reads or replica is None or not replica.up:
            return
        seen = len(driver.events)
        self._consume(
            event.consumer, event.replica, self.making.map.in_story(replica, event.position)
        )
        if not any(isinstance(each, ConsumerReset) for _, each in driver.events[seen:]):
            self._names[event.consumer] = f"{self._names.get(event.consumer, event.consumer)}+"

    def _consume(
        self, consumer: str, replica: str, upto: int | None, isolation: str | None = None
    ) -> None:
        name = self._names.get(consumer, consumer)
        self.making.step("consume", consumer=name, replica=replica, upto=upto, isolation=isolation)

    def _reading_ended(self, event: ReadingEnded) -> None:
        replica = self.making.replica(event.replica)
        if self.making.choice.reads and replica is not None and replica.up:
            self.making.step(
                "read_to_end", consumer=event.consumer, replica=event.replica, until=event.until
            )

    def _loaded(self, event: CoordinatorLoaded) -> None:
        if self.making.replica(event.replica) is not None:
            self.making.step("load", replica=event.replica)

    def _asked(self, event: CoordinatorAnswered) -> None:
        if self.making.replica(event.replica) is not None:
            self.making.step("ask", replica=event.replica, key=event.key)

    def _quiesced(self, event: Quiesced) -> None:
        self.making.step("quiesce" if event.synced else "check")


def _interrupted(events: Sequence[tuple[int, Event]]) -> dict[int, str]:
    """The passes that a crash came in the midst of, by identity, with the moment."""
    found: dict[int, str] = {}
    last: dict[str, tuple[int, Cleaned]] = {}
    for at, event in events:
        if isinstance(event, Cleaned):
            last[event.replica] = (at, event)
        elif isinstance(event, FaultInjected) and _DURING in event.detail:
            pass_at, cleaned = last.get(event.replica, (-1, None))
            if pass_at == at and cleaned is not None:
                found[id(cleaned)] = event.detail.partition(_DURING)[2].partition(")")[0]
    return found
