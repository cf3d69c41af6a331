"""Taking and deleting snapshots, and loading the state machine of a replica.

Replication and elections do not wait for the state machine. But until it is loaded a leader takes
no writes (QuorumController becomes active when it has read its log), and a replica takes no
snapshots.
"""

from __future__ import annotations

from simpy import Process
from simpy.events import ProcessGenerator, Timeout

from sim.protocol.compaction.transactions import undivided_end
from sim.protocol.events import StateLoaded
from sim.protocol.replication.cleaning import stable_offset
from sim.protocol.replication.snapshots.delete import (
    SnapshotRetention,
    delete_old_snapshots,
    delete_prefix,
    may_delete_prefix,
)
from sim.protocol.replication.snapshots.take import take_snapshot
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.waiting import ProcessGroup


class StateLoader:
    """The loading of a replica's state machine, which takes time.

    Attributes:
        loading: Whether the state machine is being loaded.
    """

    def __init__(self, broker: Broker) -> None:
        """Starts with a state machine that is loaded."""
        self._broker = broker
        self._processes = ProcessGroup(broker.env)
        self._us_per_record = broker.context.scenario.timers.load_us_per_record
        self.loading = False

    def begin(self) -> None:
        """Loads the snapshot that the log continues, and the log below the high watermark."""
        broker = self._broker
        if self._us_per_record == 0:
            return
        replica = broker.replica
        base, end = replica.base_snapshot(), replica.log.high_watermark
        from_snapshot = 0 if base is None else len(base.records)
        from_log = sum(
            len(batch.records) for batch in replica.log.batches() if batch.last_offset < end
        )
        took_ms = -(-(from_snapshot + from_log) * self._us_per_record // 1_000)
        self.loading = True
        self._processes.interrupt()
        loaded = StateLoaded(broker.name, end, from_snapshot, from_log, took_ms)
        self._processes.start(self._load(broker.env.timeout(took_ms, loaded)))

    def stop(self) -> None:
        """Stops loading, as a crash does."""
        self._processes.interrupt()
        self.loading = False

    def _load(self, done: Timeout) -> ProcessGenerator:
        loaded = yield done
        self.loading = False
        self._broker.context.emit(loaded)


class SnapshotTasks:
    """The snapshots of one replica, which takes them as leader and as follower.

    Attributes:
        watches: Whether snapshots are taken by the size or age of committed records.
    """

    def __init__(self, broker: Broker, loader: StateLoader) -> None:
        """Starts without snapshots; `start` begins the work."""
        self._broker = broker
        self._loader = loader
        scenario = broker.context.scenario
        self._settings = settings = scenario.snapshots
        self._timers = scenario.timers
        self.watches = False
        self._retention: SnapshotRetention | None = None
        if settings.retention_bytes is not None or settings.retention_ms is not None:
            self._retention = SnapshotRetention(settings.retention_bytes, settings.retention_ms)
        self._bytes = 0
        self._counted = 0
        self._since_ms: int | None = None
        self._aging: Process | None = None

    def start(self, index: int, of: int) -> None:
        """Starts the work; replica `index` of `of` is out of step with the others."""
        broker, timers, settings = self._broker, self._timers, self._settings
        if broker.context.rules.cleaner.cleanup == "compact":
            return
        self.watches = settings.record_bytes is not None or settings.interval_ms is not None
        if timers.snapshot_interval_ms is not None:
            broker.start_regularly(self._take, timers.snapshot_interval_ms, index, of)
        if self._retention is not None:
            broker.start_regularly(self._clean, timers.snapshot_cleaning_ms, index, of)

    def high_watermark_moved(self) -> None:
        """Takes a snapshot when enough bytes are committed since the last (SnapshotGenerator)."""
        broker, log = self._broker, self._broker.replica.log
        latest = broker.replica.latest_snapshot()
        base = max(log.log_start_offset, 0 if latest is None else latest.id.end_offset)
        if base > self._counted or log.high_watermark < self._counted:
            self._counted, self._bytes, self._since_ms = base, 0, None
        for batch in log.read(self._counted):
            if batch.last_offset >= log.high_watermark:
                break
            self._bytes += batch.size_bytes
            self._counted = batch.last_offset + 1
        settings = self._settings
        if settings.record_bytes is not None and self._bytes >= settings.record_bytes:
            self._bytes = 0
            broker.env.timeout(0).callbacks.append(lambda _: self._take())
        if self._since_ms is None and self._counted > base:
            self._since_ms = broker.context.now_ms
        idle = self._aging is None or not self._aging.is_alive
        if settings.interval_ms is not None and idle and self._since_ms is not None:
            self._aging = broker.background_processes.start(self._age(settings.interval_ms))

    def _age(self, interval_ms: int) -> ProcessGenerator:
        """The process that takes a snapshot when a record is newer too long (KIP-876)."""
        left_ms = interval_ms
        while left_ms > 0:
            yield self._broker.env.timeout(left_ms)
            if self._since_ms is None:
                return
            left_ms = self._since_ms + interval_ms - self._broker.context.now_ms
        self._take()

    def _take(self) -> None:
        """Takes a snapshot at the replica's own high watermark.

        No snapshot ends within a transaction (KIP-868). Without limits of retention the log then
        starts at the previous snapshot, so that a follower that reads that one has time.
        """
        broker = self._broker
        context, replica = broker.context, broker.replica
        if not replica.up or self._loader.loading:
            return
        previous = replica.latest_snapshot()
        log = replica.log
        stable = min(log.high_watermark, stable_offset(replica, rules=broker.rules))
        end_offset = undivided_end(tuple(log.batches()), below=stable)
        in_log = broker.rules.snapshots.snapshot_placement == "in_log"
        uid = context.take_uid() if in_log and replica.leadership is not None else 0
        taken = take_snapshot(
            replica, end_offset, rules=broker.rules, now_ms=broker.now_ms, uid=uid
        )
        if not taken:
            return
        self._since_ms = None
        broker.publish(taken)
        if self._retention is None and previous is not None:
            to = previous.id.end_offset
            if self._may_delete(to):
                context.emit_all(delete_prefix(replica, to))

    def _may_delete(self, to: int) -> bool:
        broker = self._broker
        return may_delete_prefix(
            broker.replica,
            to,
            live_ends=[r.log.log_end_offset for r in broker.context.replicas.values() if r.up],
            rules=broker.rules,
            now_ms=broker.now_ms,
        )

    def _clean(self) -> None:
        """Deletes snapshots beyond the limits of size or age."""
        broker, retention, may = self._broker, self._retention, self._may_delete
        if broker.replica.up and retention is not None:
            gone = delete_old_snapshots(
                broker.replica, retention, now_ms=broker.now_ms, may_delete=may
            )
            broker.context.emit_all(gone)
