"""The rules of snapshots, each with its source."""

from __future__ import annotations

from sim.replication.rule_spec import RuleSpec

SNAPSHOT_RULES: tuple[RuleSpec, ...] = (
    RuleSpec(
        "snapshot_install",
        ("atomic", "at_first_chunk", "whatever_arrives"),
        "the log goes with the last chunk, or with the first; or for a snapshot behind it, too",
        "KafkaMetadataLog.truncateToLatestSnapshot (atomic); KIP-630, dev list msg111793",
    ),
    RuleSpec(
        "snapshot_offer",
        ("below_start", "by_epoch"),
        "who is sent to a snapshot: fetches below the log start, or also by epoch, and any at 0",
        "ReplicatedLog.validateOffsetAndEpoch, KAFKA-15078 (by_epoch)",
    ),
    RuleSpec(
        "snapshot_placement",
        ("beside", "in_log"),
        "snapshots are files beside the log, or a leader's is appended to it for everybody",
        "KIP-630, Rejected Alternatives: append the snapshot to the log (in_log)",
    ),
)
"""In order of declaration in `Rules`."""
