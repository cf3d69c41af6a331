"""Background work of a replica: cleaning by its own clock, and deleting old segments."""

from __future__ import annotations

from sim.protocol.compaction import map_capacity
from sim.protocol.compaction.eligibility import (
    Eligibility,
    EligibilityConfig,
    bound_of,
    eligibility,
    first_dirty,
)
from sim.protocol.events import CleanerLooked, ProducersForgotten
from sim.protocol.replication.cleaning import (
    Cleaner,
    CleaningResult,
    delete_old_segments,
    legacy_horizon_ms,
    stable_offset,
)
from sim.simulate.cluster.broker import Broker


class BackgroundTasks:
    """The background work of one replica, at intervals of its own, as leader and as follower.

    Attributes:
        paused: Number of faults that keep its cleaner from running at present.
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
        """Looks at the log, and cleans it if it is due."""
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
        limit = 0
        if rules.cleaner.tombstone_removal == "leo_gated":
            limit = min(r.log.log_end_offset for r in broker.context.replicas.values())
        return self._cleaner.run(
            broker.replica,
            upper_bound=upper_bound,
            now_ms=broker.now_ms,
            rescan=rescan,
            map_capacity=None if rescan else self._map_capacity(),
            max_message_bytes=self._topic.max_message_bytes,
            removal_limit=limit,
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
