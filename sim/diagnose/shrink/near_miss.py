"""The near miss of what was shrunk: the same under one other rule, and nothing is violated.

What is small may be healed by what would not heal what it was made of: shrinking may have made a
tombstone the log end, so that a fix for log ends keeps it. So the rule is tried there, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from sim.diagnose.what_if.changes import rule_changes, violated_by, with_rule
from sim.protocol.rules.spec import RuleValue, shown
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.driver import run_story
from sim.simulate.story.format import Story

MOST_TRIED = 40
"""So many rules that heal what is small are tried where it came from: that run may be long."""


class NearMiss(NamedTuple):
    """A story or scenario that violates nothing, and the one rule it differs in from one that does.

    Attributes:
        value: The story or scenario under the other rule.
        rule: The rule.
        setting: Its value here.
        heals_origin: Whether what was shrunk does not violate the invariant under it, either.
    """

    value: Story | Scenario
    rule: str
    setting: RuleValue
    heals_origin: bool = True

    @property
    def change(self) -> str:
        """`fix: empty_batch`."""
        return f"{self.rule}: {shown(self.setting)}"


def near_miss_of(
    small: Story | Scenario, invariant: str, origin: Story | Scenario | None = None
) -> NearMiss | None:
    """The first change of one rule under which nothing is violated; None = no such rule.

    Tried first are the fixes, then the defaults of the rules that differ from them, then all other
    values in the order of `replog list rules`. A change that heals by making steps do nothing, such
    as `cleanup: compact` where a snapshot is taken, is given only if there is no other; and one
    that does not heal the origin only if none of the first `MOST_TRIED` does.

    Args:
        small: It violates the invariant.
        invariant: Which; liveness does not count but for this one.
        origin: What it was shrunk from; None = it was not.
    """
    tried: list[tuple[tuple[bool, bool], NearMiss]] = []
    holding = (change for change in rule_changes(small) if not _violated(small, change, invariant))
    for change in islice(holding, MOST_TRIED):
        healed = origin is None or invariant not in _violated(origin, change, invariant)
        found = NearMiss(with_rule(small, *change), *change, heals_origin=healed)
        rank = (not healed, _is_idle(small, found.value))
        tried.append((rank, found))
        if not any(rank):
            break
    return min(tried, key=itemgetter(0))[1] if tried else None


def _violated(
    value: Story | Scenario, change: tuple[str, RuleValue], invariant: str
) -> Sequence[str]:
    """What is violated under a change; what cannot run under it is not healed."""
    try:
        return violated_by(with_rule(value, *change), invariant)
    except Exception:  # noqa: BLE001 - whatever a run ends in is no cure
        return (invariant,)


def _is_idle(story: Story | Scenario, changed: Story | Scenario) -> bool:
    """Whether a step of a story does something, and nothing under the other rules."""
    if not isinstance(story, Story) or not isinstance(changed, Story):
        return False
    before, after = ({step for step, _ in run_story(one).events} for one in (story, changed))
    return not before <= after
