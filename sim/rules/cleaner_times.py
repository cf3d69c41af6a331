"""The rules that say when a cleaner runs: their rows in the table of `sim.rules.cleaner`."""

from __future__ import annotations

from sim.rules.spec import RuleSpec, Value

TIMES_TABLE: tuple[RuleSpec, ...] = (
    RuleSpec(
        "roll",
        "when the active segment is closed for its age",
        (
            Value(
                "on_append",
                "only when something is appended",
                "UnifiedLog.maybeRoll; KAFKA-20664",
                "kip354/kip354_02_idle_partition.yaml",
            ),
            Value(
                "timer",
                "also when nothing is appended",
                "KIP-354, Proposed Changes, as its bound needs it on an idle partition",
                "kip354/timed_idle_partition_timer.yaml",
            ),
        ),
    ),
    RuleSpec(
        "lag_metric",
        "what the metric max-compaction-delay-secs says",
        (
            Value(
                "every_scan",
                "the delay that the newest scan saw",
                "KIP-354, Public Interfaces",
                "kip354/timed_lag_metric_of_every_scan.yaml",
            ),
            Value(
                "on_clean",
                "the delay that the last scan saw which led to a pass",
                "CleanerThread.cleanFilthiestLog; PreCleanStats.updateMaxCompactionDelay",
                "kip354/timed_lag_metric_of_the_last_round.yaml",
            ),
        ),
    ),
    RuleSpec(
        "lag_estimate",
        "from when max.compaction.lag.ms counts: the age of the oldest record of a segment",
        (
            Value(
                "first_timestamp",
                "what its first record says; without timestamps the lag has no bound",
                "KIP-354, Proposed Changes; LogSegment.getFirstBatchTimestamp",
                "kip354/timed_estimate_first_timestamp.yaml",
            ),
            Value(
                "previous_segment",
                "from the second segment on, the largest timestamp of the one before it",
                "KIP-354 as it was first proposed: no record has to be read for it",
                "kip354/timed_estimate_previous_segment.yaml",
            ),
            Value(
                "largest_less_roll",
                "without timestamps, its last modification less the longest time it was active",
                "KIP-354, Rejected Alternatives: topics without timestamps",
                "kip354/eligible_no_timestamps_estimated.json",
            ),
        ),
    ),
)
"""What each of them decides, in their order; each value with its source and an example."""
