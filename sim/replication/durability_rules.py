"""The rules of durability: what is on disk when, and what a restart makes of it."""

from __future__ import annotations

from sim.replication.rule_spec import RuleSpec, Value

DURABILITY_RULES = (
    RuleSpec(
        "flush",
        "what of a log is on disk, so survives a loss of power",
        (
            Value(
                "acknowledged",
                "what a follower fetched past, and what is committed",
                "KafkaRaftClient.appendAsFollower",
                "durability/durability_04_acknowledged_records_survive.yaml",
            ),
            Value(
                "on_append",
                "everything",
                "log.flush.interval.messages = 1; etcd, server/storage/wal",
                "durability/durability_02_power_failure_every_append_flushed.yaml",
            ),
            Value(
                "before_fetch",
                "what a leader appended, and what a follower fetched past",
                "KafkaRaftClient.flushLeaderLog, .appendAsFollower",
                "durability/durability_03_flushed_before_the_acknowledgement.yaml",
            ),
            Value(
                "interval",
                "what flush.messages and flush.ms say, and closed segments",
                "log.flush.interval.messages, log.flush.interval.ms; UnifiedLog.roll",
                "durability/durability_01_power_failure_nothing_flushed.yaml",
            ),
        ),
    ),
)
"""In no particular order: `Rules` has the order."""
