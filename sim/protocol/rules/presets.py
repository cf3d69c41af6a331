"""Presets: bundles of rules, each with the name of the broker or design it models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sim.protocol.rules.spec import RuleValue


class Preset(NamedTuple):
    """A bundle of rules with the name of the broker or design it models.

    Attributes:
        name: Its name in files and on the command line.
        values: Value of each rule that it sets, by the rule's name.
        models: Broker or design that it models, as lists print it.
        source: Source of the bundle.
    """

    name: str
    values: Mapping[str, RuleValue]
    models: str
    source: str


_KAFKA: dict[str, RuleValue] = {
    "commit": "isr",
    "high_watermark_waits_for": "caught_up_eligible",
    "high_watermark_update": "assign",
    "unknown_epoch": "undefined",
    "follower_position": "read_end",
    "map_range": "dirty",
    "map_reads_from": "offset_index",
    "truncation": "epoch_diverging",
    "tombstone_removal": "horizon",
    "lag_metric": "on_clean",
}

_BEFORE_KIP_534: dict[str, RuleValue] = {
    **_KAFKA,
    "high_watermark_waits_for": "caught_up",
    "tombstone_removal": "last_modified",
    "marker_lookup": "by_key",
    "empty_segments": "in_range",
    "index_entries": "per_append",
}

_KAFKA_4: dict[str, RuleValue] = {
    "fix": "empty_batch",
    "old_formats": "converted",
    "producer_epochs": "per_transaction",
    "verification": "first_batch",
}

_KRAFT: dict[str, RuleValue] = {
    "commit": "majority",
    "cleanup": "snapshot",
    "tombstone_removal": "never",
    "leader_change_record": True,
    "snapshot_offer": "by_epoch",
    "bootstrap_snapshot": True,
    "install_recovery": "finished",
    "successors": "by_offset",
}

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "kafka-2.8",
            {**_BEFORE_KIP_534, "cleaner_bound": "leo"},
            "Kafka before KIP-534 and before the cleaner was bounded by the high watermark",
            "LogCleaner.scala at 2.8.2; KAFKA-13194 and KIP-534 came with 3.1.0",
        ),
        Preset(
            "kafka-3.8",
            {**_KAFKA, "index_entries": "per_append", "verification": "first_batch"},
            "Kafka with batch delete horizons, nothing kept at the end of a round",
            "Cleaner.cleanInto before KAFKA-17076; KIP-890, part 1",
        ),
        Preset(
            "kafka-4.0",
            {**_KAFKA, **_KAFKA_4},
            "Kafka that keeps the last batch of a round, with the offset index of 4.0.1 and"
            " transactions of version 2",
            "Cleaner.cleanInto, KAFKA-17076; LogSegment.append; KIP-890, TransactionVersion.TV_2",
        ),
        Preset(
            "kafka-4.1",
            {**_KAFKA, **_KAFKA_4, "eligible_leaders": "elr"},
            "Kafka with eligible leader replicas, as in clusters formatted by 4.1 or later",
            "as kafka-4.0; KIP-966, EligibleLeaderReplicasVersion.ELRV_1",
        ),
        Preset(
            "kip-280",
            {**_KAFKA, "strategy": "header", "map_range": "full"},
            "what KIP-280 promises; give `fix` to choose its answer for the log-end record",
            "KIP-280",
        ),
        Preset(
            "kip-280-pr8103",
            {**_BEFORE_KIP_534, "strategy": "header", "header_form": "first_varint"},
            "KIP-280 as it was coded upstream and closed unmerged: a map of dirty keys only",
            "apache/kafka PR 8103",
        ),
        Preset(
            "kip-280-azure",
            {
                **_BEFORE_KIP_534,
                "strategy": "header",
                "header_form": "unchecked_varint",
                "cleaner_bound": "leo",
            },
            "KIP-280 as it was merged into a fork of Kafka 2.4 and 2.6",
            "microsoft/kafka PR 45",
        ),
        Preset(
            "redpanda-25.3",
            {
                "commit": "majority",
                "tombstone_removal": "coordinated",
                "marker_watermark": "own",
                "lost_disk_report": "dropped",
                "fix": "empty_batch",
                "follower_position": "request",
                "leader_change_record": True,
            },
            "coordinated compaction: removal below the minimum cleanly compacted offset",
            "Redpanda PR 28087, 28333, 29043; the placeholder batch of e7a3d54a95",
        ),
        Preset(
            "kraft-3.9",
            {**_KRAFT, "election_backoff": "exponential"},
            "the metadata quorum before pre-votes: candidates back off",
            "KIP-595, KIP-630, KIP-853; KafkaRaftClient at 3.9",
        ),
        Preset(
            "kraft",
            {**_KRAFT, "pre_vote": True},
            "the metadata quorum: majority commit, strict epoch rule, pre-votes, snapshots",
            "KIP-595, KIP-630, KIP-853, KIP-996; KafkaRaftClient at 4.3.1",
        ),
    )
}
"""Every preset by name."""
