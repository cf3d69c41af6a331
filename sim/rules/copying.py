"""The rules of what comes along when a replica copies another one's log."""

from __future__ import annotations

from sim.rules.spec import RuleSpec, Value

COPYING_RULES: tuple[RuleSpec, ...] = (
    RuleSpec(
        "epoch_cache",
        "from what a copy learns the leader epochs of its log",
        (
            Value(
                "rebuilt",
                "from the batches that survive",
                "UnifiedLog.appendAsFollower; LeaderEpochFileCache.assign",
                "epochs/epochcache_01_a_cleaned_epoch_is_unknown.yaml",
            ),
            Value(
                "copied",
                "from the leader, which hands its epochs on with the records",
                "KIP-405, leader-epoch-checkpoint",
                "epochs/epochcache_07_the_leader_hands_its_epochs_on.yaml",
            ),
        ),
    ),
    RuleSpec(
        "epoch_cut",
        "what a cut that takes no record does with an epoch that starts there, and owns none",
        (
            Value(
                "dropped",
                "it is forgotten",
                "UnifiedLog.truncateTo, which always cuts the epoch cache",
                "epochs/epochcache_09_an_empty_epoch_is_dropped.yaml",
            ),
            Value(
                "kept",
                "it stays, and the leader is asked for it again",
                "KAFKA-20961, KAFKA-15608 for epochs without records",
                "epochs/epochcache_08_an_empty_epoch_is_kept.yaml",
            ),
        ),
    ),
    RuleSpec(
        "held_snapshot",
        "what a follower does that is offered a snapshot it has, above the end of its log",
        (
            Value(
                "fetched",
                "it fetches and installs it",
                "camunda PR 4451",
                "bootstrap/boot_04_held_snapshot_replaces_the_log.yaml",
            ),
            Value(
                "ignored",
                "it goes on asking for records",
                "camunda before PR 4451; KafkaMetadataLog.createNewSnapshotUnchecked",
                "bootstrap/boot_03_held_snapshot_is_ignored.yaml",
            ),
        ),
    ),
)
"""In no particular order: `Rules` has the order."""
