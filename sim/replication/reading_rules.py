"""The rules that decide what a reader is told and what it does when the leader changes."""

from __future__ import annotations

from sim.replication.rule_spec import RuleSpec

READING_RULES = (
    RuleSpec(
        "consumer_validation",
        ("none", "epoch"),
        "a consumer at a new leader goes on at its offset, or asks first where its epoch ended",
        "KIP-320; SubscriptionState.maybeCompleteValidation (epoch)",
    ),
    RuleSpec(
        "aborted_list",
        ("index", "history"),
        "what read_committed is told: aborted transactions whose marker is left, or all ever",
        "TransactionIndex.collectAbortedTxns (index); Redpanda PR 7081 ended history",
    ),
)
"""In order of declaration in `Rules`."""
