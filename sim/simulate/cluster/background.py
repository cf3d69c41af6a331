"""Background work of a replica: cleaning, flushing, snapshots, loading its state machine.

Replication and elections do not wait for the state machine. But until it is loaded a leader takes
no writes (QuorumController becomes active when it has read its log), and a replica takes no
snapshots.
"""

from __future__ import annotations

from simpy import Process
from simpy.events import ProcessGenerator, Timeout

from sim.protocol.compaction import map_capacity
from sim.protocol.compaction.eligibility import (
    Eligibility,
    EligibilityConfig,
    bound_of,
    eligibility,
    first_dirty,
)
from sim.protocol.compaction.fold import undivided_end
from sim.protocol.events import CleanerLooked, ProducersForgotten, StateLoaded
from sim.protocol.replication.cleaning import (
    Cleaner,
    CleaningResult,
    Retention,
    delete_old_segments,
    legacy_horizon_ms,
    stable_offset,
)
from sim.protocol.replication.snapshots import (
    delete_old_snapshots,
    delete_prefix,
    may_delete_prefix,
    take_snapshot,
)
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.waiting import ProcessGroup


class BackgroundTasks:
    """The background work of one replica, at intervals of its own, as leader and as follower.

    Attributes:
        paused: Number of faults that at present keep it from looking at its log: from cleaning,
            retention, rolls by time, and the expiry of producers.
    """

    def __init__(self, broker: Broker) -> None:
        """Starts without background work; see `start`."""
        self._broker = broker
        self._cleaner = Cleaner(broker.rules)
        self.paused = 0
        self._metric_secs = 0
        self._topic = topic = broker.context.scenario.topic
        self._config = EligibilityConfig(
            min_cleanable_dirty_ratio=topic.min_cleanable_dirty_ratio,
            min_compaction_lag_ms=topic.min_compaction_lag_ms,
            max_compaction_lag_ms=topic.max_compaction_lag_ms,
            lag_estimate=broker.rules.cleaner.lag_estimate,
            segment_ms=topic.segment_ms,
        )

    def start(self, index: int, of: int) -> None:
        """Starts the work; replica `index` of `of` looks at its log out of step with the others."""
        broker, rules = self._broker, self._broker.context.rules
        backoff_ms, flush_ms = broker.spec.cleaner_backoff_ms, self._topic.flush_ms
        if backoff_ms is not None and rules.cleaner.cleanup != "snapshot":
            broker.start_regularly(self._look, backoff_ms, index, of)
        if flush_ms is not None and rules.storage.flush == "interval":
            broker.start_regularly(self._flush, flush_ms, index, of)

    def _flush(self) -> None:
        """Flushes the log every `flush.ms` (LogManager.flushDirtyLogs)."""
        if self._broker.replica.up:
            self._broker.replica.log.flush()

    def _look(self) -> None:
        """Looks at the log: expires producers, rolls, cleans it if due, deletes old segments."""
        broker, topic = self._broker, self._topic
        replica = broker.replica
        if not replica.up or self.paused:
            return
        log = replica.log
        if topic.producer_expiration_ms is not None and log.producers.producers:
            # Producers that were silent for too long lose the protection of their last batch.
            forgotten = log.producers.expire(
                now_ms=broker.now_ms, after_ms=topic.producer_expiration_ms
            )
            if forgotten:
                broker.context.emit(ProducersForgotten(broker.name, forgotten))
        if broker.rules.cleaner.roll == "timer":
            log.roll_if_waited(now_ms=broker.now_ms)
        replica.first_dirty_offset = first_dirty(
            replica.first_dirty_offset,
            log_start_offset=log.log_start_offset,
            log_end_offset=log.log_end_offset,
        ).offset
        timed = self._config.max_compaction_lag_ms is not None
        closed = log.segments[-1].base_offset > replica.first_dirty_offset
        if topic.compacts and (timed or closed):
            self._clean_if_due()
        retention = broker.context.retention
        if retention is not None and replica.up:
            broker.context.emit_all(delete_old_segments(replica, retention, now_ms=broker.now_ms))

    def _clean_if_due(self) -> None:
        broker = self._broker
        replica, context = broker.replica, broker.context
        stable = stable_offset(replica, rules=broker.rules)
        found = eligibility(
            replica.log.segments,
            self._config,
            first_dirty_offset=replica.first_dirty_offset,
            stable_offset=stable,
            now_ms=broker.now_ms,
        )
        if self._config.max_compaction_lag_ms is not None:
            context.emit(self._looked(found, stable))
        if not found.eligible:
            return
        crash = broker.crashes.pop("pass", None)
        moment = None if crash is None else crash.moment
        context.emit_all(self._clean(found.upper_bound, crash_during=moment).events)
        if crash is not None:
            crash.happen()

    def _looked(self, found: Eligibility, stable: int) -> CleanerLooked:
        broker, config = self._broker, self._config
        if found.eligible or broker.rules.cleaner.lag_metric == "every_scan":
            self._metric_secs = found.compaction_delay_ms // 1000
        assert config.max_compaction_lag_ms is not None
        return CleanerLooked(
            replica=broker.name,
            now_ms=broker.now_ms,
            eligible=found.eligible,
            first_dirty_offset=broker.replica.first_dirty_offset,
            upper_bound=found.upper_bound,
            stable_offset=stable,
            delay_ms=found.compaction_delay_ms,
            metric_secs=self._metric_secs,
            max_lag_ms=config.max_compaction_lag_ms,
            difference_max_ms=self._topic.timestamp_difference_max_ms,
        )

    def clean_what_is_left(self) -> bool:
        """Cleans everything cleanable, at any dirty ratio; True when that changed the log."""
        broker = self._broker
        if not self._topic.compacts:
            return False
        replica, segments = broker.replica, broker.replica.log.segments
        found = bound_of(
            segments,
            first_dirty_offset=replica.first_dirty_offset,
            stable_offset=stable_offset(replica, rules=broker.rules),
            min_compaction_lag_ms=self._config.min_compaction_lag_ms,
            now_ms=broker.now_ms,
        )
        bound = max(found.effective, min(replica.first_dirty_offset, segments[-1].base_offset))
        if bound <= segments[0].base_offset:
            return False
        result = self._clean(bound, rescan=True)
        broker.context.emit_all(result.events)
        return result.changed

    def _clean(
        self, upper_bound: int, *, rescan: bool = False, crash_during: str | int | None = None
    ) -> CleaningResult:
        broker, rules = self._broker, self._broker.rules
        if self._cleaner.rules is not rules:
            self._cleaner = Cleaner(rules)
        return self._cleaner.run(
            broker.replica,
            upper_bound=upper_bound,
            now_ms=broker.now_ms,
            rescan=rescan,
            map_capacity=None if rescan else self._map_capacity(),
            max_message_bytes=self._topic.max_message_bytes,
            removal_limit=min(r.log.log_end_offset for r in broker.context.replicas.values()),
            legacy_horizon_ms=legacy_horizon_ms(broker.replica, rules=rules),
            crash_during=crash_during,
        )

    def _map_capacity(self) -> int | None:
        """Most keys of one pass, fewer where map entries hold versions; None without a limit."""
        topic = self._topic
        if topic.dedupe_buffer_bytes is None:
            return None
        size, load = topic.dedupe_buffer_bytes, topic.dedupe_load_factor
        return max(1, map_capacity(size, load, self._cleaner.policy.strategy))


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
        """Loads the snapshot that the log continues, and the log below the high watermark.

        Loading that takes no time is left out.
        """
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
        self._settings = settings = broker.context.scenario.snapshots
        self.watches = False
        self._retention: Retention | None = None
        if settings.retention_bytes is not None or settings.retention_ms is not None:
            self._retention = Retention(settings.retention_ms, settings.retention_bytes)
        self._bytes = 0
        self._counted = 0
        self._since_ms: int | None = None
        self._aging: Process | None = None

    def start(self, index: int, of: int) -> None:
        """Starts the work; replica `index` of `of` is out of step with the others."""
        broker, settings = self._broker, self._settings
        timers = broker.context.scenario.timers
        if broker.context.rules.cleaner.cleanup == "compact":
            return
        self.watches = settings.record_bytes is not None or settings.interval_ms is not None
        if timers.snapshot_interval_ms is not None:
            broker.start_regularly(self._take, timers.snapshot_interval_ms, index, of)
        if self._retention is not None:
            broker.start_regularly(self._clean, timers.snapshot_cleaning_ms, index, of)

    def high_watermark_moved(self) -> None:
        """Takes a snapshot when enough bytes are committed since the last (SnapshotGenerator).

        With `interval_ms` it also starts the process that takes one by time.
        """
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
        """The process that takes a snapshot `interval_ms` after something newer came (KIP-876)."""
        left_ms = interval_ms
        while left_ms > 0:
            yield self._broker.env.timeout(left_ms)
            if self._since_ms is None:
                return
            left_ms = self._since_ms + interval_ms - self._broker.context.now_ms
        self._take()

    def _take(self) -> None:
        """Takes a snapshot at the replica's own high watermark, or below it.

        No snapshot ends within a transaction (KIP-868). Without limits of retention the log then
        starts at the end of the previous snapshot, so that a follower that reads that one has time.
        It does not start above the high watermark, which an older checkpoint may have left below
        that end (UnifiedLog.maybeIncrementLogStartOffset).
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
        self._bytes, self._since_ms = 0, None  # SnapshotGenerator.resetSnapshotCounters
        broker.publish(taken)
        if self._retention is None and previous is not None:
            to = previous.id.end_offset
            if to <= log.high_watermark and self._may_delete(to):
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
