"""What every replica does for itself: clean on its own clock, take snapshots, drop prefixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.compaction.eligibility import EligibilityConfig, cleanable_bound, eligibility
from sim.replication.cleaning import clean_replica, stable_offset
from sim.replication.snapshots import delete_prefix, take_snapshot
from sim.trace import Cleaned, Event

if TYPE_CHECKING:
    from sim.world.node import Node


class Housekeeper:
    """The background work of one replica; it goes on in its own rhythm, whoever leads.

    Attributes:
        paused: How many faults keep its cleaner from running at present.
    """

    __slots__ = ("_config", "_node", "paused")

    def __init__(self, node: Node) -> None:
        """Nothing runs before `start`."""
        self._node = node
        self.paused = 0
        topic = node.world.scenario.topic
        self._config = EligibilityConfig(
            min_cleanable_dirty_ratio=topic.min_cleanable_dirty_ratio,
            min_compaction_lag_ms=topic.min_compaction_lag_ms,
            max_compaction_lag_ms=topic.max_compaction_lag_ms,
        )

    def start(self, index: int, of: int) -> None:
        """Begin; replica `index` of `of` looks at its log out of step with the others."""
        world, spec = self._node.world, self._node.spec
        if spec.cleaner_backoff_ms is not None:
            first_ms = max(1, spec.cleaner_backoff_ms * (index + 1) // of)
            world.clock.after(first_ms, self._look)
        interval_ms = world.scenario.timers.snapshot_interval_ms
        if interval_ms is not None:
            world.clock.after(max(1, interval_ms * (index + 1) // of), self._snapshot)

    def _look(self) -> None:
        """The cleaner wakes, looks at the log, cleans it if it is due, and sleeps again."""
        node = self._node
        assert node.spec.cleaner_backoff_ms is not None
        node.world.clock.after(max(1, node.spec.cleaner_backoff_ms), self._look)
        replica = node.replica
        segments = replica.log.segments
        if replica.up and not self.paused and segments[-1].base_offset > replica.first_dirty_offset:
            found = eligibility(
                segments,
                self._config,
                first_dirty_offset=replica.first_dirty_offset,
                stable_offset=stable_offset(replica, rules=node.world.rules),
                now_ms=node.now_ms,
            )
            if found.eligible:
                node.world.tell(self._clean(found.upper_bound))

    def clean_what_is_left(self) -> bool:
        """One pass over all that may be cleaned, whatever the ratio; True when it changed a log."""
        node = self._node
        replica, segments = node.replica, node.replica.log.segments
        bound = cleanable_bound(
            segments,
            first_dirty_offset=replica.first_dirty_offset,
            stable_offset=stable_offset(replica, rules=node.world.rules),
            min_compaction_lag_ms=self._config.min_compaction_lag_ms,
            now_ms=node.now_ms,
        )
        bound = max(bound, min(replica.first_dirty_offset, segments[-1].base_offset))
        if bound <= segments[0].base_offset:
            return False
        events = self._clean(bound, rescan=True)
        node.world.tell(events)
        cleaned = events[0]
        assert isinstance(cleaned, Cleaned)
        return bool(cleaned.removals or cleaned.emptied or cleaned.dropped or cleaned.horizons)

    def _clean(self, upper_bound: int, *, rescan: bool = False) -> list[Event]:
        node = self._node
        rules, replica = node.world.rules, node.replica
        limit = 0
        if rules.tombstone_removal == "leo_gated":
            limit = min(n.replica.log.log_end_offset for n in node.world.nodes.values())
        return clean_replica(
            replica,
            rules=rules,
            upper_bound=upper_bound,
            now_ms=node.now_ms,
            rescan=rescan,
            removal_limit=limit,
            legacy_horizon_ms=self._legacy_horizon_ms(),
        )

    def _legacy_horizon_ms(self) -> int | None:
        """Before KIP-534: modification time of the last clean segment minus the retention.

        Source: LogCleaner.clean in 2.8. None when nothing is clean yet, or with another rule.
        """
        rules, replica = self._node.world.rules, self._node.replica
        if rules.tombstone_removal != "last_modified":
            return None
        dirty = replica.first_dirty_offset
        clean = [segment for segment in replica.log.segments if segment.base_offset < dirty]
        return clean[-1].last_modified_ms - rules.delete_retention_ms if clean else None

    def _snapshot(self) -> None:
        """Take a snapshot at the own high watermark; drop what an older one covers.

        No snapshot ends within a transaction: its end is the last stable offset (KIP-868).

        The previous snapshot is where the log starts then, so at least one always remains and a
        follower that reads it has time (KafkaMetadataLog.maybeClean).
        """
        node = self._node
        world = node.world
        interval_ms = world.scenario.timers.snapshot_interval_ms
        assert interval_ms is not None
        world.clock.after(max(1, interval_ms), self._snapshot)
        replica = node.replica
        if not replica.up:
            return
        previous = replica.latest_snapshot()
        end_offset = min(replica.log.high_watermark, stable_offset(replica, rules=world.rules))
        taken = take_snapshot(replica, end_offset, rules=world.rules)
        world.tell(taken)
        if taken and previous is not None:
            world.tell(delete_prefix(replica, previous.id.end_offset))
