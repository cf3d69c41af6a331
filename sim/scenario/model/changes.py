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

from sim.log.versions import VERSION_SETTINGS, Versions
from sim.rules.rules import Rules
from sim.scenario.model import Change, FaultKind, Scenario
from sim.scenario.model.flag_orders import flag_changes
from sim.scenario.model.rollouts import Rollout

EVERY_REPLICA = "all"
"""In the place of a replica's name: every replica, at that moment."""

CHANGEABLE = (
    "strategy",
    "strategy_header",
    "header_form",
    "fix",
    "map_range",
    "tombstone_removal",
    "tombstone_mark",
    "delete_retention_ms",
    *VERSION_SETTINGS,
)
"""What may change during a run: rules that one replica's cleaner follows alone, and versions."""


class Promise(NamedTuple):
    """What a run is judged by.

    Attributes:
        rules: The newest settings; `delete_retention_ms` is the shortest any replica had.
        earlier: Other settings that were in force on some replica, in order.
    """

    rules: Rules
    earlier: tuple[Rules, ...]


def changed(
    rules: Rules, versions: Versions | None, change: Change
) -> tuple[Rules, Versions | None]:
    """The rules and the versions of a replica after a change has reached it."""
    settings = dict(change.settings)
    given = {name: settings.pop(name) for name in VERSION_SETTINGS if name in settings}
    if given and versions is not None:
        versions = versions.with_settings(given)
    return replace(rules, **settings), versions  # type: ignore[arg-type]


_ORDERS = {
    "brokers_first": ("brokers", "producers", "topic"),
    "producers_first": ("producers", "brokers", "topic"),
    "strategy_first": ("topic", "brokers", "producers"),
    "rolled_back": ("brokers", "producers", "topic"),
}
"""The phases of an upgrade by value of the rule `rollout`.

A broker of old software goes by offset whatever the topic says, so with `strategy_first` a replica
has the strategy as soon as it has the software, before any producer sends a version. With
`rolled_back` the topic goes back to offset in the end.
"""


def changes_of(scenario: Scenario) -> tuple[Change, ...]:
    """All changes of a scenario in order of time, those of its upgrade included."""
    found = [*scenario.changes]
    if scenario.rollout is not None:
        found += _upgrade(scenario, scenario.rollout)
    if scenario.flag_rollout is not None:
        found += flag_changes(scenario, scenario.flag_rollout)
    return tuple(sorted(found, key=lambda change: change.at_ms))


def _upgrade(scenario: Scenario, plan: Rollout) -> list[Change]:
    """From offset to the strategy of the rules, by the timetable.

    A replica that joins has the settings of the first one, and is upgraded together with it.
    """
    rules = scenario.rules
    begins = dict(zip(_ORDERS[rules.rollout], plan.phases_ms, strict=True))
    found = [
        Change(0, EVERY_REPLICA, (("strategy", "offset"),)),
        Change(0, producer=0, versions=False),
    ]
    joining = [fault.target for fault in scenario.faults if fault.kind is FaultKind.ADD_REPLICA]
    for index, replica in enumerate(scenario.replicas):
        names = (replica.name, *joining) if index == 0 else (replica.name,)
        software_ms = begins["brokers"] + plan.brokers_ms[index]
        at_ms = max(software_ms, begins["topic"] + plan.topic_ms[index])
        found += [Change(at_ms, name, (("strategy", rules.strategy),)) for name in names]
        if rules.rollout == "rolled_back":
            at_ms = plan.rollback_ms + plan.topic_ms[index]
            found += [Change(at_ms, name, (("strategy", "offset"),)) for name in names]
    for index, delay_ms in enumerate(plan.producers_ms):
        found.append(Change(begins["producers"] + delay_ms, producer=index + 1))
    return found


def promise_of(scenario: Scenario) -> Promise:
    """The newest settings of a scenario, and all others that were in force before or beside."""
    newest = scenario.rules
    seen = [newest]
    for change in changes_of(scenario):
        if change.replica is not None:
            newest, _ = changed(newest, None, change)
            seen.append(newest)
    shortest = min(rules.delete_retention_ms for rules in seen)
    earlier = tuple(dict.fromkeys(rules for rules in seen if rules != newest))
    return Promise(replace(newest, delete_retention_ms=shortest), earlier)
