"""Upgrades: from a timetable and an order of phases to the changes of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from sim.log.versions import NEW, OLD, VERSION_SETTINGS
from sim.scenario.model.changes import EVERY_REPLICA, Change
from sim.scenario.model.rollouts import FlagRollout, Rollout
from sim.scenario.model.scenario import Scenario

_STRATEGY_ORDERS = {
    "brokers_first": ("brokers", "producers", "topic"),
    "producers_first": ("producers", "brokers", "topic"),
    "strategy_first": ("topic", "brokers", "producers"),
    "rolled_back": ("brokers", "producers", "topic"),
    "topic_back_first": ("brokers", "producers", "topic"),
    "producers_back_first": ("brokers", "producers", "topic"),
}
"""The phases of an upgrade by value of `rollout`, the order of an upgrade.

A broker of old software goes by offset whatever the topic says, so with `strategy_first` a replica
has the strategy as soon as it has the software, before any producer sends a version. With
`rolled_back` the topic goes back to offset in the end, and with the last two producers stop sending
versions as well, after the topic or before it.
"""

_ROLLED_BACK: Final[
    tuple[Literal["rolled_back", "topic_back_first", "producers_back_first"], ...]
] = ("rolled_back", "topic_back_first", "producers_back_first")
"""The orders that end where they began."""

_FLAG_ORDERS = {
    "clients_before_format": ("software", "protocol", "consumers", "producers", "format"),
    "producers_last": ("software", "protocol", "consumers", "format", "producers"),
    "consumers_last": ("software", "protocol", "format", "producers", "consumers"),
    "format_before_protocol": ("software", "consumers", "producers", "format", "protocol"),
    "protocol_before_software": ("protocol", "software", "consumers", "format", "producers"),
    "producers_first": ("producers", "software", "protocol", "consumers", "format"),
    "taken_back": ("software", "protocol", "consumers", "format", "producers"),
}
"""The phases of an upgrade by value of `flag_rollout`, the order of an upgrade to KIP-87.

A broker does not start with a protocol above its software, nor with a message format above its
protocol (KafkaConfig). What comes too early waits for it: the broker gets both at once.
"""

_ALL_OLD = tuple((setting, OLD) for setting in VERSION_SETTINGS)


def strategy_upgrade(scenario: Scenario, plan: Rollout) -> list[Change]:
    """From offset to the strategy of the rules, by the timetable.

    A replica that joins has the settings of the first one, and is upgraded together with it.
    """
    rules, order = scenario.rules, scenario.upgrade.rollout
    begins = dict(zip(_STRATEGY_ORDERS[order], plan.phases_ms, strict=True))
    # Of the time that is left when a rollback begins, who is second has the second half.
    second_ms = (plan.rollback_ms + scenario.duration_ms) // 2
    topic_back_ms = second_ms if order == "producers_back_first" else plan.rollback_ms
    producers_back_ms = second_ms if order == "topic_back_first" else plan.rollback_ms
    found = [
        Change(0, EVERY_REPLICA, (("strategy", "offset"),)),
        Change(0, producer=0, versions=False),
    ]
    joining = [fault.target for fault in scenario.faults if fault.joins]
    for index, replica in enumerate(scenario.replicas):
        names = (replica.name, *joining) if index == 0 else (replica.name,)
        software_ms = begins["brokers"] + plan.brokers_ms[index]
        at_ms = max(software_ms, begins["topic"] + plan.topic_ms[index])
        found += [Change(at_ms, name, (("strategy", rules.cleaner.strategy),)) for name in names]
        if order in _ROLLED_BACK:
            at_ms = topic_back_ms + plan.topic_ms[index]
            found += [Change(at_ms, name, (("strategy", "offset"),)) for name in names]
    for index, delay_ms in enumerate(plan.producers_ms):
        found.append(Change(begins["producers"] + delay_ms, producer=index + 1))
        if order in ("topic_back_first", "producers_back_first"):
            at_ms = producers_back_ms + delay_ms // 2
            found.append(Change(at_ms, producer=index + 1, versions=False))
    return found


def flag_upgrade(scenario: Scenario, plan: FlagRollout) -> list[Change]:
    """From null values to the flag, by the timetable; in no order.

    A replica that joins has the settings of the first one, and is upgraded together with it.
    """
    order = scenario.upgrade.flag_rollout
    begins = dict(zip(_FLAG_ORDERS[order], plan.phases_ms, strict=True))
    joining = [fault.target for fault in scenario.faults if fault.joins]
    found: list[Change] = []
    for index, replica in enumerate(scenario.replicas):
        names = (replica.name, *joining) if index == 0 else (replica.name,)
        times = _broker_times(begins, plan, index)
        for setting, at_ms in zip(VERSION_SETTINGS, times, strict=True):
            found += [Change(at_ms, name, ((setting, NEW),)) for name in names]
        if order == "taken_back":
            at_ms = plan.taken_back_ms + plan.software_ms[index]
            found += [Change(at_ms, name, _ALL_OLD) for name in names]
    for index, delay_ms in enumerate(plan.producers_ms):
        at_ms = begins["producers"] + delay_ms
        found.append(Change(at_ms, producer=index + 1, versions=None, format=3))
    for consumer, delay_ms in zip(scenario.consumers, plan.consumers_ms, strict=True):
        at_ms = begins["consumers"] + delay_ms
        found.append(Change(at_ms, versions=None, consumer=consumer.name, format=3))
    if order == "taken_back":
        found.append(Change(plan.taken_back_ms, producer=0, versions=None, format=2))
        found += [
            Change(plan.taken_back_ms, versions=None, consumer=consumer.name, format=2)
            for consumer in scenario.consumers
        ]
    return found


def _broker_times(begins: Mapping[str, int], plan: FlagRollout, index: int) -> tuple[int, int, int]:
    """When a replica gets its software, its protocol and its message format."""
    software_ms = begins["software"] + plan.software_ms[index]
    protocol_ms = max(software_ms, begins["protocol"] + plan.protocol_ms[index])
    return software_ms, protocol_ms, max(protocol_ms, begins["format"] + plan.format_ms[index])
