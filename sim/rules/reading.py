"""The rules of readers: what they are told, what they keep, what they do at a new leader."""

from __future__ import annotations

from sim.rules.spec import RuleSpec, Value

READING_RULES: tuple[RuleSpec, ...] = (
    RuleSpec(
        "consumer_order",
        "which of the records of a key that it was given a consumer keeps",
        (
            Value(
                "offset",
                "the last one",
                "KIP-280, Recommendations: what a consumer does that is not aware of the strategy",
                "kip280/kip280_69_consumer_takes_the_last_record.yaml",
            ),
            Value(
                "strategy",
                "the one that wins by the strategy",
                "KIP-280, Recommendations: consumers should be aware of the strategy",
                "kip280/kip280_70_consumer_applies_the_strategy.yaml",
            ),
        ),
    ),
    RuleSpec(
        "consumer_validation",
        "what a consumer does first at a new leader",
        (
            Value(
                "none",
                "it goes on at its offset",
                "consumers before KIP-320",
                "readers/readers_06_position_carried_to_another_history.yaml",
            ),
            Value(
                "epoch",
                "it asks where the epoch of its position ends",
                "KIP-320; SubscriptionState.maybeCompleteValidation",
                "readers/readers_07_position_checked_with_the_new_leader.yaml",
            ),
        ),
    ),
    RuleSpec(
        "aborted_list",
        "which aborted transactions a read_committed consumer is told of",
        (
            Value(
                "index",
                "those whose marker is left",
                "TransactionIndex.collectAbortedTxns",
                "readers/readers_09_list_goes_with_the_markers.yaml",
            ),
            Value(
                "history",
                "all there ever were",
                "Redpanda before PR 7081",
                "readers/readers_08_list_of_all_aborted_transactions.yaml",
            ),
        ),
    ),
)
"""In no particular order: `Rules` has the order."""
