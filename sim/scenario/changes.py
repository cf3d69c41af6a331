"""Configuration that changes during a run: what may change, and what is promised in the end.

The promise of a topic whose settings change is that of its newest settings, whichever replica they
reached last: state is judged at rest, by the newest strategy over everything that was ever written.
KIP-280 says of a change only that what was compacted stays as it is, so on the way there a record
may be missing if a record beats it under any strategy that was in force on some replica. A loss
that the older strategy allowed and the newest does not excuse is what migrations are checked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sim.replication.rules import Rules
from sim.scenario.model import Change, Scenario

EVERY_REPLICA = "all"
"""In the place of a replica's name: every replica, at that moment."""

CHANGEABLE = (
    "strategy",
    "strategy_header",
    "header_form",
    "fix",
    "map_range",
    "tombstone_removal",
    "delete_retention_ms",
)
"""Rules that may change while a cluster runs: those that one replica's cleaner follows alone."""


class Promise(NamedTuple):
    """What a run is judged by.

    Attributes:
        rules: The newest settings; `delete_retention_ms` is the shortest any replica had.
        earlier: Other settings that were in force on some replica, in order.
    """

    rules: Rules
    earlier: tuple[Rules, ...]


def changed(rules: Rules, change: Change) -> Rules:
    """The rules of a replica after a change has reached it."""
    return replace(rules, **dict(change.settings))  # type: ignore[arg-type]


_ORDERS = {
    "brokers_first": ("brokers", "producers", "topic"),
    "producers_first": ("producers", "brokers", "topic"),
    "strategy_first": ("topic", "brokers", "producers"),
}
"""The phases of an upgrade by value of the rule `rollout`.

A broker of old software goes by offset whatever the topic says, so with `strategy_first` a replica
has the strategy as soon as it has the software, before any producer sends a version.
"""


def changes_of(scenario: Scenario) -> tuple[Change, ...]:
    """All changes of a scenario in order of time, those of its upgrade included."""
    found = [*scenario.changes]
    plan, rules = scenario.rollout, scenario.rules
    if plan is not None:
        begins = dict(zip(_ORDERS[rules.rollout], plan.phases_ms, strict=True))
        found.append(Change(0, EVERY_REPLICA, (("strategy", "offset"),)))
        found.append(Change(0, producer=0, versions=False))
        target = (("strategy", rules.strategy),)
        delays = zip(scenario.replicas, plan.brokers_ms, plan.topic_ms, strict=True)
        for replica, software_ms, topic_ms in delays:
            at_ms = max(begins["brokers"] + software_ms, begins["topic"] + topic_ms)
            found.append(Change(at_ms, replica.name, target))
        for index, delay_ms in enumerate(plan.producers_ms):
            found.append(Change(begins["producers"] + delay_ms, producer=index + 1))
    return tuple(sorted(found, key=lambda change: change.at_ms))


def promise_of(scenario: Scenario) -> Promise:
    """The newest settings of a scenario, and all others that were in force before or beside."""
    newest = scenario.rules
    seen = [newest]
    for change in changes_of(scenario):
        if change.replica is not None:
            newest = changed(newest, change)
            seen.append(newest)
    shortest = min(rules.delete_retention_ms for rules in seen)
    earlier = tuple(dict.fromkeys(rules for rules in seen if rules != newest))
    return Promise(replace(newest, delete_retention_ms=shortest), earlier)
