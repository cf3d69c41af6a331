"""The policy and the version orders of cleaners, made from rules."""

from __future__ import annotations

from sim.protocol.compaction import (
    CleanerPolicy,
    Strategy,
    strategy_for,
    unmapped_version,
)
from sim.protocol.compaction.strategies import meant_strategy
from sim.protocol.rules import Rules


def cleaner_policy(rules: Rules) -> CleanerPolicy:
    """The policy of a cleaner under these rules; look it up once, before its first pass."""
    cleaner = rules.cleaner
    return CleanerPolicy(
        strategy=cleaner_strategy(rules),
        fix=cleaner.fix_applied,
        removal=cleaner.removal,
        is_tombstone=cleaner.is_tombstone,
        full_map=cleaner.map_range == "full",
        index_interval_bytes=rules.topic.index_interval_bytes
        if cleaner.map_reads_from == "offset_index"
        else None,
        indexes_calls=cleaner.index_entries == "per_append",
        stamp_beyond_map=cleaner.horizon_stamp != "mapped",
        stamps_again=cleaner.horizon_stamp == "each_pass",
        keeps_deltas=cleaner.horizon_rebase == "deltas_kept",
        markers_like_tombstones=cleaner.marker_removal == "as_tombstones",
        markers_by_key=cleaner.marker_lookup == "by_key",
        last_abort_only=cleaner.marker_lookup == "last_abort",
        group_empty_segments=cleaner.empty_segments == "joined",
        unstamped_by_segment=cleaner.unstamped_tombstones == "last_modified",
        converts_old=cleaner.old_formats == "converted",
        unmapped_version=unmapped_version(cleaner.strategy, cleaner.header_form),
    )


def cleaner_strategy(rules: Rules) -> Strategy:
    """The version order that cleaners under these rules go by."""
    return strategy_for(
        rules.cleaner.strategy,
        header=rules.topic.strategy_header,
        header_form=rules.cleaner.header_form,
        ties=rules.cleaner.ties,
    )


def state_strategy(rules: Rules) -> Strategy:
    """The version order by which a state machine folds a log, see `meant_strategy`."""
    return meant_strategy(
        rules.cleaner.strategy,
        header=rules.topic.strategy_header,
        header_form=rules.cleaner.header_form,
    )
