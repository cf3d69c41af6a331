"""The order of random upgrades: in which the parts of a cluster follow.

No replica goes by it: it says what happens to a cluster, so it belongs to the scenario. It is swept
and given by name like a rule.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from sim.rules.spec import RuleSpec, Value


class UpgradeOrders(NamedTuple):
    """In which order the parts of a cluster follow in a random upgrade."""

    rollout: Literal[
        "brokers_first",
        "producers_first",
        "strategy_first",
        "rolled_back",
        "topic_back_first",
        "producers_back_first",
    ] = "brokers_first"
    flag_rollout: Literal[
        "clients_before_format",
        "producers_last",
        "consumers_last",
        "format_before_protocol",
        "protocol_before_software",
        "producers_first",
        "taken_back",
    ] = "clients_before_format"


UPGRADE_TABLE: tuple[RuleSpec, ...] = (
    RuleSpec(
        "rollout",
        "in a random upgrade to a strategy: in which order brokers, producers and topic follow",
        (
            Value(
                "brokers_first",
                "brokers, producers, then the topic's strategy",
                "KIP-280, Compatibility, Deprecation, and Migration Plan",
                "sweeps/upgrade.yaml",
            ),
            Value(
                "producers_first",
                "producers, brokers, then the topic's strategy",
                "KIP-280, Compatibility, Deprecation, and Migration Plan",
                "sweeps/upgrade.yaml",
            ),
            Value(
                "strategy_first",
                "the topic's strategy, brokers, then producers",
                "this project; no version is sent before every broker compares versions",
                "sweeps/upgrade.yaml",
            ),
            Value(
                "rolled_back",
                "as brokers_first, and in the end the topic goes back to offset",
                "KIP-280, Compatibility, Deprecation, and Migration Plan: "
                "the topic goes back first",
                "sweeps/upgrade.yaml",
            ),
            Value(
                "topic_back_first",
                "as rolled_back, and then producers stop sending versions",
                "KIP-280, Compatibility, Deprecation, and Migration Plan: rollback",
                "sweeps/rollback.yaml",
            ),
            Value(
                "producers_back_first",
                "as brokers_first, then producers stop sending versions, then the topic goes back",
                "this project: what the KIP's order of a rollback protects from",
                "sweeps/rollback.yaml",
            ),
        ),
    ),
    RuleSpec(
        "flag_rollout",
        "in a random upgrade to KIP-87: in which order brokers and clients follow",
        (
            Value(
                "clients_before_format",
                "software, protocol, consumers, producers, message format",
                "KIP-87, Migration Plan",
                "sweeps/upgrade_flag.yaml",
            ),
            Value(
                "producers_last",
                "software, protocol, consumers, message format, producers",
                "this project; no producer sets the flag before every leader stores it",
                "sweeps/upgrade_flag.yaml",
            ),
            Value(
                "consumers_last",
                "software, protocol, message format, producers, consumers",
                "KIP-87, Migration Plan, which asks for almost all consumers before the format",
                "sweeps/upgrade_flag.yaml",
            ),
            Value(
                "format_before_protocol",
                "software, clients, then of each broker protocol and message format at once",
                "this project; KafkaConfig compares the two settings of one broker only",
                "sweeps/upgrade_flag.yaml",
            ),
            Value(
                "protocol_before_software",
                "of each broker software and protocol at once,"
                " consumers, message format, producers",
                "Kafka's upgrade notes, which ask for the old protocol until all software is new",
                "sweeps/upgrade_flag.yaml",
            ),
            Value(
                "producers_first",
                "producers, software, protocol, consumers, message format",
                "Kafka's upgrade notes of 0.10.1, which ask for brokers before clients",
                "sweeps/upgrade_flag.yaml",
            ),
            Value(
                "taken_back",
                "as producers_last, and in the end clients and then brokers go back",
                "KIP-87 says nothing of a way back; Kafka's upgrade notes: none after the protocol",
                "sweeps/upgrade_flag.yaml",
            ),
        ),
    ),
)
"""What each of them decides, in their order; each value with its source and an example."""
