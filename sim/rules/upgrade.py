"""The order of random upgrades: in which the parts of a cluster follow.

No replica goes by it: it says what happens to a cluster, so it belongs to the scenario. It is swept
and given by name like a rule.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from sim.rules.spec import Value, rule


class UpgradeOrders(NamedTuple):
    """In which order the parts of a cluster follow in a random upgrade."""

    rollout: Annotated[
        Literal[
            "brokers_first",
            "producers_first",
            "strategy_first",
            "rolled_back",
            "topic_back_first",
            "producers_back_first",
        ],
        rule(
            "in a random upgrade to a strategy: in which order brokers, producers and topic follow",
            brokers_first=Value(
                "brokers, producers, then the topic's strategy",
                "KIP-280, Compatibility, Deprecation, and Migration Plan",
                "sweeps/upgrade.yaml",
            ),
            producers_first=Value(
                "producers, brokers, then the topic's strategy",
                "KIP-280, Compatibility, Deprecation, and Migration Plan",
                "sweeps/upgrade.yaml",
            ),
            strategy_first=Value(
                "the topic's strategy, brokers, then producers",
                "this project; no version is sent before every broker compares versions",
                "sweeps/upgrade.yaml",
            ),
            rolled_back=Value(
                "as brokers_first, and in the end the topic goes back to offset",
                "KIP-280, Compatibility, Deprecation, and Migration Plan: the topic goes back"
                " first",
                "sweeps/upgrade.yaml",
            ),
            topic_back_first=Value(
                "as rolled_back, and then producers stop sending versions",
                "KIP-280, Compatibility, Deprecation, and Migration Plan: rollback",
                "sweeps/rollback.yaml",
            ),
            producers_back_first=Value(
                "as brokers_first, then producers stop sending versions, then the topic goes back",
                "this project: what the KIP's order of a rollback protects from",
                "sweeps/rollback.yaml",
            ),
        ),
    ] = "brokers_first"
    flag_rollout: Annotated[
        Literal[
            "clients_before_format",
            "producers_last",
            "consumers_last",
            "format_before_protocol",
            "protocol_before_software",
            "producers_first",
            "taken_back",
        ],
        rule(
            "in a random upgrade to KIP-87: in which order brokers and clients follow",
            clients_before_format=Value(
                "software, protocol, consumers, producers, message format",
                "KIP-87, Migration Plan",
                "sweeps/upgrade_flag.yaml",
            ),
            producers_last=Value(
                "software, protocol, consumers, message format, producers",
                "this project; no producer sets the flag before every leader stores it",
                "sweeps/upgrade_flag.yaml",
            ),
            consumers_last=Value(
                "software, protocol, message format, producers, consumers",
                "KIP-87, Migration Plan, which asks for almost all consumers before the format",
                "sweeps/upgrade_flag.yaml",
            ),
            format_before_protocol=Value(
                "software, clients, then of each broker protocol and message format at once",
                "this project; KafkaConfig compares the two settings of one broker only",
                "sweeps/upgrade_flag.yaml",
            ),
            protocol_before_software=Value(
                "of each broker software and protocol at once, consumers, message format,"
                " producers",
                "Kafka's upgrade notes, which ask for the old protocol until all software is new",
                "sweeps/upgrade_flag.yaml",
            ),
            producers_first=Value(
                "producers, software, protocol, consumers, message format",
                "Kafka's upgrade notes of 0.10.1, which ask for brokers before clients",
                "sweeps/upgrade_flag.yaml",
            ),
            taken_back=Value(
                "as producers_last, and in the end clients and then brokers go back",
                "KIP-87 says nothing of a way back; Kafka's upgrade notes: none after the protocol",
                "sweeps/upgrade_flag.yaml",
            ),
        ),
    ] = "clients_before_format"
