"""Topic settings that are rules, too: a sweep may vary them as it varies rules."""

from __future__ import annotations

from dataclasses import dataclass

from sim.rules.spec import RuleSpec


@dataclass(frozen=True, slots=True)
class TopicRules:
    """Topic settings under the names that rules have for them."""

    strategy_header: str = "version"
    delete_retention_ms: int = 86_400_000
    min_isr: int = 1


TOPIC_TABLE: tuple[RuleSpec, ...] = (
    RuleSpec(
        "strategy_header",
        "name of the header that the header strategy reads",
        source="KIP-280, compaction.strategy.header",
    ),
    RuleSpec(
        "delete_retention_ms",
        "ms from the first pass that keeps a tombstone to the first that may remove it",
        source="delete.retention.ms, KIP-534",
        minimum=0,
    ),
    RuleSpec(
        "min_isr",
        "isr: smallest in-sync set with which the high watermark moves",
        source="min.insync.replicas, KIP-966",
        minimum=1,
    ),
)
"""What each of them decides, in their order; each value with its source and an example."""
