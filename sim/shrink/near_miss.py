"""The near miss of what was shrunk: the same under one other rule, and nothing is violated.

What is small may be healed by what would not heal what it was made of: shrinking may have made a
tombstone the log end, so that a fix for log ends keeps it. So the rule is tried there, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from sim.check.checker import story_invariants
from sim.rules.spec import RuleValue, shown
from sim.scenario.model import Scenario
from sim.story.driver import StoryDriver
from sim.story.format import Story
from sim.timed_run import run_scenario
from sim.what_if.changes import rule_changes, violated_by, with_rule

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
    chosen: tuple[tuple[bool, bool], NearMiss] | None = None
    for found, is_idle in islice(_holding(small, invariant), MOST_TRIED):
        heals = origin is None or _heals(origin, found, invariant)
        rank = (not heals, is_idle)
        if chosen is None or rank < chosen[0]:
            chosen = rank, found._replace(heals_origin=heals)
        if not any(rank):
            break
    return None if chosen is None else chosen[1]


def _holding(small: Story | Scenario, invariant: str) -> Iterator[tuple[NearMiss, bool]]:
    """The changes under which nothing is violated, and whether steps do nothing then."""
    judging = tuple(dict.fromkeys((*story_invariants(liveness=False), invariant)))
    doing = _steps_told(small, ()) or set() if isinstance(small, Story) else set()
    for rule, setting in rule_changes(small):
        changed = with_rule(small, rule, setting)
        if isinstance(changed, Story):
            told = _steps_told(changed, judging)
            if told is not None:
                yield NearMiss(changed, rule, setting), not doing <= told
        elif run_scenario(changed, also_check=(invariant,)).verdict == "holds":
            yield NearMiss(changed, rule, setting), False


def _steps_told(story: Story, judging: tuple[str, ...]) -> set[int] | None:
    """The steps of which something is told; None = something is violated."""
    driver = StoryDriver(story, invariants=judging)
    driver.run()
    return None if driver.checker.violations else {step for step, _ in driver.events}


def _heals(origin: Story | Scenario, found: NearMiss, invariant: str) -> bool:
    """Whether the origin does not violate the invariant, either; what cannot run is not healed."""
    try:
        return invariant not in violated_by(with_rule(origin, found.rule, found.setting), invariant)
    except Exception:  # noqa: BLE001 - whatever a run ends in is no cure
        return False
