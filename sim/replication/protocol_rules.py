"""The rules of elections, replication, commit and time, each with its source."""

from __future__ import annotations

from sim.replication.rule_spec import RuleSpec

PROTOCOL_RULES: tuple[RuleSpec, ...] = (
    RuleSpec(
        "commit",
        ("majority", "isr"),
        "what makes the high watermark: a majority of voters, or all in-sync replicas",
        "LeaderState.maybeUpdateHighWatermark; Partition.maybeIncrementLeaderHW",
    ),
    RuleSpec(
        "min_isr",
        (),
        "isr: smallest in-sync set with which the high watermark moves",
        "min.insync.replicas, KIP-966",
        minimum=1,
    ),
    RuleSpec(
        "isr_join",
        ("epoch_start", "hw_only"),
        "who may join: position at or above the high watermark, and the epoch's start or not",
        "Partition.isFollowerInSync; Kip320FirstTry",
    ),
    RuleSpec(
        "epoch_commit_rule",
        ("strict", "off_by_one", "none"),
        "majority: the high watermark must be above the epoch's start, at or above, or any",
        "Raft 5.4.2; KAFKA-12619",
    ),
    RuleSpec(
        "truncation",
        ("epoch_diverging", "epoch_kip279", "epoch_kip101", "high_watermark", "none"),
        "what a follower does with a conflicting tail",
        "KIP-101, KIP-279, KIP-320, KIP-595",
    ),
    RuleSpec(
        "follower_position",
        ("read_end", "request"),
        "what the leader believes after an empty read: its own log end, or the fetch offset",
        "LocalLog.read, Partition.fetchRecords (read_end)",
    ),
    RuleSpec(
        "leo_source",
        ("stored", "last_record"),
        "whether the log end offset survives cleaning and restart",
        "LocalLog.nextOffsetMetadata; etcd #17780",
    ),
    RuleSpec(
        "offset_assignment",
        ("leader_assigned", "follower_assigned"),
        "who gives offsets; the second is KIP-280's own drawing",
        "KIP-280, Special case where we need to retain LEO",
    ),
    RuleSpec(
        "leader_change_record",
        (False, True),
        "a new leader first appends a control record",
        "LeaderState.appendLeaderChangeMessage",
    ),
    RuleSpec(
        "roll",
        ("on_append", "timer"),
        "an active segment is closed by age only when something is appended, or by a timer",
        "UnifiedLog.maybeRoll (on_append); KIP-354, KAFKA-20664",
    ),
    RuleSpec(
        "lag_metric",
        ("every_scan", "on_clean"),
        "max-compaction-delay-secs says what each scan saw, or the last that led to a pass",
        "KIP-354, Public Interfaces (every_scan); PreCleanStats (on_clean)",
    ),
    RuleSpec(
        "lag_guard",
        ("none", "reset_local", "reset_propagated"),
        "rebuild a follower that is below a removed tombstone",
        "Redpanda PR 26562; KIP-630, Rejected Alternatives; Copycat #127",
    ),
    RuleSpec("fencing", (True, False), "stale epochs are refused", "KIP-320, KIP-595"),
    RuleSpec(
        "rollout",
        ("brokers_first", "producers_first", "strategy_first", "rolled_back"),
        "in a random upgrade: what is first, the strategy being last, first, or taken back",
        "KIP-280, Compatibility, Deprecation, and Migration Plan",
    ),
)
"""In order of declaration in `Rules`."""
