"""One cleaning pass of one replica: choose the bound, run the cleaner, swap the segments."""

from __future__ import annotations

from sim.compaction import (
    FIXES,
    TOMBSTONE_MARKS,
    TOMBSTONE_REMOVALS,
    Cleaning,
    CleaningPass,
    Strategy,
    UnreadableVersion,
    clean,
    strategy_for,
    unmapped_version,
)
from sim.replication.interrupting import Pass, interrupt
from sim.replication.late_versions import remember_removed
from sim.replication.replica import Replica
from sim.rules.rules import Rules
from sim.trace import Cleaned, CleaningFailed, Event


def stable_offset(replica: Replica, *, rules: Rules) -> int:
    """The last stable offset: where the cleaner has to stop (exclusive).

    The high watermark, or the log end with `cleaner_bound: leo`, but never past the first offset
    of an open transaction (UnifiedLog.fetchLastStableOffsetMetadata).
    """
    log = replica.log
    bound = log.log_end_offset if rules.cleaner.cleaner_bound == "leo" else log.high_watermark
    unstable = log.producers.first_unstable_offset(bound)
    return bound if unstable is None else min(bound, unstable)


def clean_replica(
    replica: Replica,
    *,
    rules: Rules,
    upper_bound: int,
    now_ms: int,
    rescan: bool = False,
    keep_producers: bool = True,
    map_capacity: int | None = None,
    max_message_bytes: int | None = None,
    removal_limit: int = 0,
    legacy_horizon_ms: int | None = None,
    legacy_last_modified: tuple[tuple[int, int, int], ...] | None = None,
    crash_during: str | None = None,
) -> list[Event]:
    """Run one pass over everything below `upper_bound` (exclusive) and swap the result in.

    After a pass that fails there is none until a restart (markPartitionUncleanable, KAFKA-7215).

    Args:
        replica: Whose log.
        rules: Strategy, fix, removal rule and the rest.
        upper_bound: At most the last stable offset.
        now_ms: The replica's own clock in ms.
        rescan: Run although nothing is dirty; see CleaningPass.
        keep_producers: False when the last batch of an active producer needs no protection.
        map_capacity: Most distinct keys the pass can map; the checkpoint moves as far as it got.
        max_message_bytes: `max.message.bytes`; larger rebuilt batches are reported.
        removal_limit: For `leo_gated`: the smallest log end offset over all replicas. For
            `coordinated` the replica's own bounds count.
        legacy_horizon_ms: The horizon of `last_modified`, in ms.
        legacy_last_modified: See CleaningPass.
        crash_during: The moment in which it crashes, see `sim.replication.interrupting`.
    """
    if replica.uncleanable:
        return []
    coordinated = rules.cleaner.tombstone_removal == "coordinated"
    plan = CleaningPass(
        strategy=_strategy(rules),
        fix=FIXES[rules.cleaner.fix],
        removal=TOMBSTONE_REMOVALS[rules.cleaner.tombstone_removal],
        is_tombstone=TOMBSTONE_MARKS[rules.cleaner.tombstone_mark],
        full_map=rules.cleaner.map_range == "full",
        first_dirty_offset=replica.first_dirty_offset,
        upper_bound=upper_bound,
        now_ms=now_ms,
        delete_retention_ms=rules.topic.delete_retention_ms,
        high_watermark=replica.log.high_watermark,
        last_records=replica.log.producers.last_records() if keep_producers else {},
        map_capacity=map_capacity,
        rescan=rescan,
        max_message_bytes=max_message_bytes,
        removal_limit=replica.removal_bound if coordinated else removal_limit,
        marker_limit=replica.marker_removal_bound,
        stamp_beyond_map=rules.cleaner.horizon_stamp != "mapped",
        stamps_again=rules.cleaner.horizon_stamp == "each_pass",
        keeps_deltas=rules.cleaner.horizon_rebase == "deltas_kept",
        markers_like_tombstones=rules.cleaner.marker_removal == "as_tombstones",
        markers_by_key=rules.cleaner.marker_lookup == "by_key",
        last_abort_only=rules.cleaner.marker_lookup == "last_abort",
        group_empty_segments=rules.cleaner.empty_segments == "joined",
        legacy_horizon_ms=legacy_horizon_ms,
        legacy_last_modified=legacy_last_modified,
        segment_bytes=replica.log.config.segment_bytes,
        last_cleaning=replica.last_cleaning,
        stubs=replica.stubs,
        unmapped_version=unmapped_version(rules.cleaner.strategy, rules.cleaner.header_form),
    )
    return _run(replica, plan, rules=rules, crash_during=crash_during)


def _run(
    replica: Replica, plan: CleaningPass, *, rules: Rules, crash_during: str | None
) -> list[Event]:
    try:
        return _swap(replica, plan, rules=rules, crash_during=crash_during)
    except UnreadableVersion as failure:
        replica.uncleanable = True
        return [CleaningFailed(replica.name, failure.offset)]


def _strategy(rules: Rules) -> Strategy:
    return strategy_for(
        rules.cleaner.strategy,
        header=rules.topic.strategy_header,
        header_form=rules.cleaner.header_form,
        ties=rules.cleaner.ties,
    )


def _swap(
    replica: Replica, plan: CleaningPass, *, rules: Rules, crash_during: str | None
) -> list[Event]:
    """Run the pass, put its segments in place, move the checkpoints."""
    log, first_dirty = replica.log, replica.first_dirty_offset
    before, high_watermark = log.size_bytes, log.high_watermark
    result = clean(log.segments, plan)
    reached = max(first_dirty, result.next_dirty_offset)
    if crash_during is not None:
        return interrupt(replica, Pass(result, reached), during=crash_during, rules=rules)
    log.replace_segments(result.replaced, result.segments)
    replica.first_dirty_offset = reached
    replica.cleanly_compacted_offset = max(replica.cleanly_compacted_offset, reached)
    replica.last_cleaning = (reached, plan.now_ms)
    _note_removed_tombstones(replica, result)
    remember_removed(replica, result, rules=rules)
    if rules.storage.leo_source == "last_record":
        log.recompute_log_end_offset(at_least=reached if plan.fix.persists_log_end else 0)
        replica.first_dirty_offset = min(replica.first_dirty_offset, log.log_end_offset)
    cleaned = Cleaned(
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
    )
    return [cleaned]


def _note_removed_tombstones(replica: Replica, result: Cleaning) -> None:
    for record in result.removed["tombstone"]:
        replica.removed_tombstone_end = max(replica.removed_tombstone_end, record.offset + 1)
