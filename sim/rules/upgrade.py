"""The order of random upgrades: in which the parts of a cluster follow.

No replica goes by it: it says what happens to a cluster, so it belongs to the scenario. It is swept
and given by name like a rule.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from sim.rules.spec import Value

_KIP_280_PLAN = "KIP-280, Compatibility, Deprecation, and Migration Plan"

_TO_A_STRATEGY = "sweeps/upgrade.yaml"
_AND_BACK = "sweeps/rollback.yaml"
_TO_A_FLAG = "sweeps/upgrade_flag.yaml"


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
        "in a random upgrade to a strategy: in which order brokers, producers and topic follow",
        Value("brokers, producers, then the topic's strategy", _KIP_280_PLAN, _TO_A_STRATEGY),
        Value("producers, brokers, then the topic's strategy", _KIP_280_PLAN, _TO_A_STRATEGY),
        Value(
            "the topic's strategy, brokers, then producers",
            "this project; no version is sent before every broker compares versions",
            _TO_A_STRATEGY,
        ),
        Value(
            "as brokers_first, and in the end the topic goes back to offset",
            "KIP-280, Compatibility, Deprecation, and Migration Plan: the topic goes back first",
            _TO_A_STRATEGY,
        ),
        Value(
            "as rolled_back, and then producers stop sending versions",
            "KIP-280, Compatibility, Deprecation, and Migration Plan: rollback",
            _AND_BACK,
        ),
        Value(
            "as brokers_first, then producers stop sending versions, then the topic goes back",
            "this project: what the KIP's order of a rollback protects from",
            _AND_BACK,
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
        "in a random upgrade to KIP-87: in which order brokers and clients follow",
        Value(
            "software, protocol, consumers, producers, message format",
            "KIP-87, Migration Plan",
            _TO_A_FLAG,
        ),
        Value(
            "software, protocol, consumers, message format, producers",
            "this project; no producer sets the flag before every leader stores it",
            _TO_A_FLAG,
        ),
        Value(
            "software, protocol, message format, producers, consumers",
            "KIP-87, Migration Plan, which asks for almost all consumers before the format",
            _TO_A_FLAG,
        ),
        Value(
            "software, clients, then of each broker protocol and message format at once",
            "this project; KafkaConfig compares the two settings of one broker only",
            _TO_A_FLAG,
        ),
        Value(
            "of each broker software and protocol at once, consumers, message format, producers",
            "Kafka's upgrade notes, which ask for the old protocol until all software is new",
            _TO_A_FLAG,
        ),
        Value(
            "producers, software, protocol, consumers, message format",
            "Kafka's upgrade notes of 0.10.1, which ask for brokers before clients",
            _TO_A_FLAG,
        ),
        Value(
            "as producers_last, and in the end clients and then brokers go back",
            "KIP-87 says nothing of a way back; Kafka's upgrade notes: none after the protocol",
            _TO_A_FLAG,
        ),
    ] = "clients_before_format"
