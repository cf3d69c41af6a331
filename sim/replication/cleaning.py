"""One cleaning pass of one replica: choose the bound, run the cleaner, swap the segments."""

from __future__ import annotations

from sim.compaction import (
    FIXES,
    TOMBSTONE_MARKS,
    TOMBSTONE_REMOVALS,
    Cleaning,
    CleaningPass,
    clean,
    strategy_for,
)
from sim.compaction.transactions import first_unstable_offset, transactions_in
from sim.replication.replica import Replica
from sim.replication.rules import Rules
from sim.trace import Cleaned, Event


def stable_offset(replica: Replica, *, rules: Rules) -> int:
    """The last stable offset: where the cleaner has to stop (exclusive).

    The high watermark, or the log end with `cleaner_bound: leo`, but never past the first offset
    of an open transaction (UnifiedLog.fetchLastStableOffsetMetadata).
    """
    log = replica.log
    bound = log.log_end_offset if rules.cleaner_bound == "leo" else log.high_watermark
    if any(segment.transactional for segment in log.segments):
        unstable = first_unstable_offset(transactions_in(log.batches(), below=bound))
        if unstable is not None:
            return min(bound, unstable)
    return bound


def clean_replica(
    replica: Replica,
    *,
    rules: Rules,
    upper_bound: int,
    now_ms: int,
    removal_limit: int = 0,
    legacy_horizon_ms: int | None = None,
    legacy_last_modified: tuple[tuple[int, int, int], ...] | None = None,
) -> list[Event]:
    """Run one pass over everything below `upper_bound` (exclusive) and swap the result in.

    Args:
        replica: Whose log.
        rules: Strategy, fix, removal rule and the rest.
        upper_bound: At most the last stable offset.
        now_ms: The replica's own clock in ms.
        removal_limit: For `leo_gated`: the smallest log end offset over all replicas. For
            `coordinated` the replica's own removal bound counts.
        legacy_horizon_ms: The horizon of `last_modified`, in ms.
        legacy_last_modified: See CleaningPass.
    """
    log = replica.log
    limit = replica.removal_bound if rules.tombstone_removal == "coordinated" else removal_limit
    plan = CleaningPass(
        strategy=strategy_for(rules.strategy, header=rules.strategy_header),
        fix=FIXES[rules.fix],
        removal=TOMBSTONE_REMOVALS[rules.tombstone_removal],
        is_tombstone=TOMBSTONE_MARKS[rules.tombstone_mark],
        full_map=rules.map_range == "full",
        first_dirty_offset=replica.first_dirty_offset,
        upper_bound=upper_bound,
        decided_below=log.log_end_offset if rules.cleaner_bound == "leo" else log.high_watermark,
        now_ms=now_ms,
        delete_retention_ms=rules.delete_retention_ms,
        removal_limit=limit,
        legacy_horizon_ms=legacy_horizon_ms,
        legacy_last_modified=legacy_last_modified,
        segment_bytes=log.config.segment_bytes,
    )
    before, first_dirty = log.size_bytes, replica.first_dirty_offset
    high_watermark = log.high_watermark
    result = clean(log.segments, plan)
    log.replace_segments(result.replaced, result.segments)
    replica.first_dirty_offset = max(first_dirty, upper_bound)
    replica.cleanly_compacted_offset = max(replica.cleanly_compacted_offset, upper_bound)
    _note_removed_tombstones(replica, result)
    if rules.leo_source == "last_record":
        log.recompute_log_end_offset()
        replica.first_dirty_offset = min(replica.first_dirty_offset, log.log_end_offset)
    return [
        Cleaned(
            replica.name,
            first_dirty,
            upper_bound,
            result.removals,
            tuple(result.emptied),
            tuple(result.dropped),
            tuple(result.horizons),
            result.protected_offset,
            log.log_end_offset,
            high_watermark,
            (before, log.size_bytes),
        )
    ]


def _note_removed_tombstones(replica: Replica, result: Cleaning) -> None:
    for record in result.removed["tombstone"]:
        replica.removed_tombstone_end = max(replica.removed_tombstone_end, record.offset + 1)
