"""One cleaning pass of one replica: choose the bound, run the cleaner, swap the segments."""

from __future__ import annotations

from typing import NamedTuple

from sim.protocol.compaction import Cleaning, CleaningPass, clean
from sim.protocol.events import Cleaned, CleaningFailed, Event
from sim.protocol.log.named_tuples import make
from sim.protocol.replication.interrupting import interrupt
from sim.protocol.replication.late_versions import remember_removed
from sim.protocol.replication.replica import Replica
from sim.protocol.rules.policy import cleaner_policy
from sim.protocol.rules.rules import Rules


class CleaningResult(NamedTuple):
    """What came of a pass.

    Attributes:
        changed: True when the log is another one than before, be it by a delete horizon alone.
        events: What happened, for whoever watches.
    """

    changed: bool
    events: list[Event]


def stable_offset(replica: Replica, *, rules: Rules) -> int:
    """The last stable offset: where the cleaner has to stop (exclusive).

    The high watermark, or the log end with `cleaner_bound: leo`, but never past the first offset
    of an open transaction (UnifiedLog.fetchLastStableOffsetMetadata).
    """
    log = replica.log
    bound = log.log_end_offset if rules.cleaner.cleaner_bound == "leo" else log.high_watermark
    unstable = log.producers.first_unstable_offset(bound)
    return bound if unstable is None else min(bound, unstable)


def write_checkpoint_anew(replica: Replica, *, now_ms: int) -> None:
    """Begin with the cleaning checkpoints of KIP-534's rejected proposal, after an upgrade.

    The file of before says how far a pass got, and not when: written anew, it says now. So every
    tombstone waits for `delete.retention.ms` from the upgrade on, however long it has waited.
    """
    cleaned_end = replica.first_dirty_offset
    replica.last_cleaning = (cleaned_end, now_ms) if cleaned_end > 0 else None


class Cleaner:
    """The cleaner of replicas under certain rules, which are looked up once, here.

    Attributes:
        rules: The rules.
        policy: How it decides about records.
    """

    __slots__ = ("_coordinated", "_ends_with_last_record", "policy", "rules")

    def __init__(self, rules: Rules) -> None:
        """It has no other state: one cleaner may serve several replicas."""
        self.rules = rules
        self.policy = cleaner_policy(rules)
        self._coordinated = rules.cleaner.tombstone_removal == "coordinated"
        self._ends_with_last_record = rules.storage.leo_source == "last_record"

    def run(
        self,
        replica: Replica,
        *,
        upper_bound: int,
        now_ms: int,
        rescan: bool = False,
        map_capacity: int | None = None,
        max_message_bytes: int | None = None,
        removal_limit: int = 0,
        legacy_horizon_ms: int | None = None,
        legacy_last_modified: tuple[tuple[int, int, int], ...] | None = None,
        crash_during: str | int | None = None,
    ) -> CleaningResult:
        """Run one pass over everything below `upper_bound` (exclusive) and swap the result in.

        After a pass that fails there is none until a restart (markPartitionUncleanable,
        KAFKA-7215).

        Args:
            replica: Whose log.
            upper_bound: At most the last stable offset.
            now_ms: The replica's own clock in ms.
            rescan: Run although nothing is dirty; see CleaningPass.
            map_capacity: Most distinct keys the pass can map; the checkpoint moves as far as it
                got.
            max_message_bytes: `max.message.bytes`; larger rebuilt batches are reported.
            removal_limit: For `leo_gated`: the smallest log end offset over all replicas. For
                `coordinated` the replica's own bounds count.
            legacy_horizon_ms: The horizon of `last_modified`, in ms.
            legacy_last_modified: See CleaningPass.
            crash_during: The moment in which it crashes, see
                `sim.protocol.replication.interrupting`.
        """
        if replica.uncleanable:
            return CleaningResult(changed=False, events=[])
        log = replica.log
        plan = CleaningPass(
            policy=self.policy,
            first_dirty_offset=replica.first_dirty_offset,
            upper_bound=upper_bound,
            now_ms=now_ms,
            delete_retention_ms=self.rules.topic.delete_retention_ms,
            high_watermark=log.high_watermark,
            log_start_offset=log.log_start_offset,
            last_records=log.producers.last_records(),
            map_capacity=map_capacity,
            rescan=rescan,
            max_message_bytes=max_message_bytes,
            removal_limit=replica.removal_bound if self._coordinated else removal_limit,
            marker_limit=replica.marker_removal_bound,
            legacy_horizon_ms=legacy_horizon_ms,
            legacy_last_modified=legacy_last_modified,
            segment_bytes=log.config.segment_bytes,
            last_cleaning=replica.last_cleaning,
            stubs=replica.stubs,
        )
        return self._run(replica, plan, crash_during)

    def _run(
        self, replica: Replica, plan: CleaningPass, crash_during: str | int | None
    ) -> CleaningResult:
        """Run the pass, and swap in what has come of it, as far as a crash or a failure lets it."""
        result = clean(replica.log.segments, plan)
        if result.failure is not None:
            replica.uncleanable = True
            events: list[Event] = [CleaningFailed(replica.name, result.failure.offset)]
            if result.replaced:
                events.insert(0, self._put_in_place(replica, plan, result))
            return CleaningResult(result.changed, events)
        if crash_during is None:
            event = self._put_in_place(replica, plan, result)
            return CleaningResult(result.changed, [event])
        changed, crashing = interrupt(
            replica, result, during=crash_during, storage=self.rules.storage, now_ms=plan.now_ms
        )
        return CleaningResult(changed, crashing)

    def _put_in_place(self, replica: Replica, plan: CleaningPass, result: Cleaning) -> Cleaned:
        """Swap the segments, and move the checkpoints if the pass could go on to its end."""
        log, first_dirty = replica.log, replica.first_dirty_offset
        before, high_watermark = log.size_bytes, log.high_watermark
        reached = max(first_dirty, result.next_dirty_offset)
        log.replace_segments(result.replaced, result.segments)
        if result.failure is None:
            replica.first_dirty_offset = reached
            replica.cleanly_compacted_offset = max(replica.cleanly_compacted_offset, reached)
            replica.last_cleaning = (reached, plan.now_ms)
        for record in result.removed["tombstone"]:
            replica.removed_tombstone_end = max(replica.removed_tombstone_end, record.offset + 1)
        remember_removed(
            replica,
            result,
            late_versions=self.rules.cleaner.late_versions,
            strategy=self.policy.strategy,
        )
        if self._ends_with_last_record:
            persists = self.policy.fix.persists_log_end
            log.recompute_log_end_offset(at_least=reached if persists else 0)
            replica.first_dirty_offset = min(replica.first_dirty_offset, log.log_end_offset)
        return make(
            Cleaned,
            (
                replica.name,
                first_dirty,
                reached,
                result.removals,
                tuple(result.emptied),
                tuple(result.dropped),
                tuple(result.horizons),
                result.protected_offset,
                log.log_end_offset,
                high_watermark,
                (before, log.size_bytes),
                tuple(result.oversized),
                result.next_dirty_offset < plan.upper_bound,
                len(replica.stubs),
                tuple(result.rewritten),
                plan.now_ms,
            ),
        )
