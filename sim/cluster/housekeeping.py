"""What every replica does for itself: clean on its own clock, and drop what is too old."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from sim.compaction import map_capacity
from sim.compaction.eligibility import (
    Eligibility,
    EligibilityConfig,
    cleanable_bound,
    eligibility,
    first_dirty,
)
from sim.replication.cleaning import Cleaner, CleaningResult, stable_offset
from sim.replication.retention import delete_old_segments
from sim.trace import CleanerLooked

if TYPE_CHECKING:
    from sim.cluster.node import Node


class Interruption(NamedTuple):
    """A crash that waits for the next pass: at which moment of it, and what makes it happen."""

    during: str
    crash: Callable[[], None]


class Housekeeper:
    """The background work of one replica; it goes on in its own rhythm, whoever leads.

    Attributes:
        interruption: A crash that waits for the next pass.
        paused: How many faults keep its cleaner from running at present.
    """

    __slots__ = ("_cleaner", "_config", "_metric_secs", "_node", "interruption", "paused")

    def __init__(self, node: Node) -> None:
        """Nothing runs before `start`."""
        self._node = node
        self.paused = 0
        self.interruption: Interruption | None = None
        self._metric_secs = 0
        self._cleaner = Cleaner(node.rules)
        topic = node.world.scenario.topic
        self._config = EligibilityConfig(
            min_cleanable_dirty_ratio=topic.min_cleanable_dirty_ratio,
            min_compaction_lag_ms=topic.min_compaction_lag_ms,
            max_compaction_lag_ms=topic.max_compaction_lag_ms,
        )

    def start(self, index: int, of: int) -> None:
        """Begin; replica `index` of `of` looks at its log out of step with the others."""
        world, spec = self._node.world, self._node.spec
        cleanup = world.rules.cleaner.cleanup
        if spec.cleaner_backoff_ms is not None and cleanup != "snapshot":
            first_ms = max(1, spec.cleaner_backoff_ms * (index + 1) // of)
            world.clock.after(first_ms, self._look)
        self._node.snapshotter.start(index, of)
        flush_ms = world.scenario.topic.flush_ms
        if flush_ms is not None and world.rules.storage.flush == "interval":
            world.clock.after(max(1, flush_ms * (index + 1) // of), self._flush, flush_ms)

    def _flush(self, interval_ms: int) -> None:
        """`flush.ms` is over (LogManager.flushDirtyLogs)."""
        replica = self._node.replica
        self._node.world.clock.after(interval_ms, self._flush, interval_ms)
        if replica.up:
            replica.log.flush()

    def _look(self) -> None:
        """The cleaner wakes, looks at the log, cleans it if it is due, and sleeps again."""
        node = self._node
        assert node.spec.cleaner_backoff_ms is not None
        node.world.clock.after(max(1, node.spec.cleaner_backoff_ms), self._look)
        if not node.replica.up or self.paused:
            return
        self._forget_producers()
        log = node.replica.log
        if node.rules.cleaner.roll == "timer":
            log.roll_if_waited(now_ms=node.now_ms)
        replica = node.replica
        replica.first_dirty_offset = first_dirty(
            replica.first_dirty_offset,
            log_start_offset=log.log_start_offset,
            log_end_offset=log.log_end_offset,
        ).offset
        timed = self._config.max_compaction_lag_ms is not None
        compacts = node.world.scenario.topic.compacts
        if compacts and (timed or log.segments[-1].base_offset > replica.first_dirty_offset):
            self._clean_if_due()
        if node.world.retention is not None and node.replica.up:
            world = node.world
            world.tell(delete_old_segments(node.replica, world.retention, now_ms=node.now_ms))

    def _forget_producers(self) -> None:
        """Producers that were silent for too long lose the protection of their last batch."""
        after_ms = self._node.world.scenario.topic.producer_expiration_ms
        producers = self._node.replica.log.producers
        if after_ms is not None and producers.producers:
            producers.expire(now_ms=self._node.now_ms, after_ms=after_ms)

    def _clean_if_due(self) -> None:
        node = self._node
        replica, now_ms = node.replica, node.now_ms
        stable = stable_offset(replica, rules=node.rules)
        found = eligibility(
            replica.log.segments,
            self._config,
            first_dirty_offset=replica.first_dirty_offset,
            stable_offset=stable,
            now_ms=now_ms,
        )
        if self._config.max_compaction_lag_ms is not None:
            node.world.tell([self._looked(found, stable)])
        if found.eligible and self.interruption is not None:
            interruption, self.interruption = self.interruption, None
            during = interruption.during
            node.world.tell(self._clean(found.upper_bound, crash_during=during).events)
            interruption.crash()
        elif found.eligible:
            node.world.tell(self._clean(found.upper_bound).events)

    def _looked(self, found: Eligibility, stable: int) -> CleanerLooked:
        node, config = self._node, self._config
        if found.eligible or node.rules.cleaner.lag_metric == "every_scan":
            self._metric_secs = found.compaction_delay_ms // 1000
        assert config.max_compaction_lag_ms is not None
        return CleanerLooked(
            node.name,
            node.now_ms,
            found.eligible,
            node.replica.first_dirty_offset,
            found.upper_bound,
            stable,
            found.compaction_delay_ms,
            self._metric_secs,
            config.max_compaction_lag_ms,
            node.world.scenario.topic.timestamp_difference_max_ms,
        )

    def clean_what_is_left(self) -> bool:
        """One pass over all that may be cleaned, whatever the ratio; True when it changed a log."""
        node = self._node
        if not node.world.scenario.topic.compacts:
            return False
        replica, segments = node.replica, node.replica.log.segments
        bound = cleanable_bound(
            segments,
            first_dirty_offset=replica.first_dirty_offset,
            stable_offset=stable_offset(replica, rules=node.rules),
            min_compaction_lag_ms=self._config.min_compaction_lag_ms,
            now_ms=node.now_ms,
        )
        bound = max(bound, min(replica.first_dirty_offset, segments[-1].base_offset))
        if bound <= segments[0].base_offset:
            return False
        result = self._clean(bound, rescan=True)
        node.world.tell(result.events)
        return result.changed

    def _clean(
        self, upper_bound: int, *, rescan: bool = False, crash_during: str | None = None
    ) -> CleaningResult:
        node, rules = self._node, self._node.rules
        if self._cleaner.rules is not rules:
            self._cleaner = Cleaner(rules)
        limit = 0
        if rules.cleaner.tombstone_removal == "leo_gated":
            limit = min(n.replica.log.log_end_offset for n in node.world.nodes.values())
        return self._cleaner.run(
            node.replica,
            upper_bound=upper_bound,
            now_ms=node.now_ms,
            rescan=rescan,
            map_capacity=None if rescan else self._map_capacity(),
            max_message_bytes=node.world.scenario.topic.max_message_bytes,
            removal_limit=limit,
            legacy_horizon_ms=self._legacy_horizon_ms(),
            crash_during=crash_during,
        )

    def _map_capacity(self) -> int | None:
        """Most keys of one pass: a map with versions in its entries holds fewer of them."""
        topic = self._node.world.scenario.topic
        if topic.dedupe_buffer_bytes is None:
            return None
        size, load = topic.dedupe_buffer_bytes, topic.dedupe_load_factor
        return max(1, map_capacity(size, load, self._cleaner.policy.strategy))

    def _legacy_horizon_ms(self) -> int | None:
        """Before KIP-534: modification time of the last clean segment minus the retention.

        Source: LogCleaner.clean in 2.8. None when nothing is clean yet, or with another rule.
        """
        rules, replica = self._node.rules, self._node.replica
        if rules.cleaner.tombstone_removal != "last_modified":
            return None
        dirty = replica.first_dirty_offset
        clean = [segment for segment in replica.log.segments if segment.base_offset < dirty]
        return clean[-1].last_modified_ms - rules.topic.delete_retention_ms if clean else None
