"""The rules of elections and of what a replica remembers of them, each with its source."""

from __future__ import annotations

from sim.replication.rule_spec import RuleSpec

ELECTION_RULES: tuple[RuleSpec, ...] = (
    RuleSpec(
        "response_fencing",
        (True, False),
        "answers of an older epoch, and to a request that is not the latest, are ignored",
        "KafkaRaftClient.maybeHandleCommonResponse; RequestManager.isResponseExpected",
    ),
    RuleSpec(
        "epoch_storage",
        ("disk", "memory"),
        "after a restart a replica knows the highest epoch it has seen, or only that of its log",
        "QuorumState.durableTransitionTo (disk); QuorumState.initialize",
    ),
    RuleSpec(
        "vote_storage",
        ("disk", "memory", "none"),
        "a vote binds in its epoch for ever, until a restart, or not at all (stories' default)",
        "QuorumState.durableTransitionTo (disk); Raft 5.2",
    ),
    RuleSpec(
        "leader_restart",
        ("resigned", "resumes"),
        "majority: a leader that restarts has resigned its epoch, or goes on (stories' default)",
        "QuorumState.initialize (resigned)",
    ),
    RuleSpec(
        "high_watermark_update",
        ("max", "assign"),
        "a follower never lowers its high watermark for its leader's, or takes it as it is",
        "FollowerState.updateHighWatermark (max)",
    ),
    RuleSpec(
        "high_watermark_cut",
        ("clamped", "kept"),
        "a truncation or a lost tail lowers the high watermark to the log end, or leaves it",
        "UnifiedLog.truncateTo (clamped)",
    ),
)
"""In order of declaration in `Rules`."""
