"""Configuration that changes during a run: every change in order, and what is promised in the end.

The promise of a topic whose settings change is that of its newest settings, whichever replica they
reached last: state is judged at rest, by the newest strategy over everything that was ever written.
KIP-280 says of a change only that what was compacted stays as it is, so on the way there a record
may be missing if a record beats it under any strategy that was in force on some replica. A loss
that the older strategy allowed and the newest does not excuse is what migrations are checked for.
"""

from __future__ import annotations

from typing import NamedTuple

from sim.protocol.rules.rules import Rules
from sim.simulate.scenario.model.cluster import Change, changed
from sim.simulate.scenario.model.scenario import Scenario


class Promise(NamedTuple):
    """What a run is judged by.

    Attributes:
        rules: The newest settings; `delete_retention_ms` is the shortest any replica had.
        earlier: Other settings that were in force on some replica, in order.
    """

    rules: Rules
    earlier: tuple[Rules, ...]


def changes_of(scenario: Scenario) -> tuple[Change, ...]:
    """All changes of a scenario in order of time."""
    return tuple(sorted(scenario.changes, key=lambda change: change.at_ms))


def promise_of(scenario: Scenario) -> Promise:
    """The newest settings of a scenario, and all others that were in force before or beside."""
    newest = scenario.rules
    seen = [newest]
    for change in changes_of(scenario):
        if change.replica is not None:
            newest, _ = changed(newest, None, change)
            seen.append(newest)
    if len(seen) == 1:
        return Promise(newest, ())
    shortest = min(rules.topic.delete_retention_ms for rules in seen)
    earlier = tuple(dict.fromkeys(rules for rules in seen if rules != newest))
    return Promise(newest.with_values({"delete_retention_ms": shortest}), earlier)
