"""The near miss of a story: the same steps under one other rule, and nothing is broken."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sim.check.registry import INVARIANTS, Kind
from sim.rules.spec import RuleValue
from sim.story.driver import StoryDriver
from sim.story.format import STORY_DEFAULTS, Story
from sim.what_if.changes import rule_changes


class NearMiss(NamedTuple):
    """A story that breaks nothing, and the one rule that it differs in from one that does.

    Attributes:
        story: The story under the other rule.
        rule: The rule.
        value: Its value here.
    """

    story: Story
    rule: str
    value: RuleValue


def near_miss_of(story: Story, invariant: str) -> NearMiss | None:
    """The first single change of a rule under which the story breaks nothing; None = no such rule.

    Tried first are the fixes, then the defaults of the rules that differ from them, then all other
    values in the order of `replog list rules`.
    """
    for rule, value in rule_changes(story.rules, STORY_DEFAULTS):
        changed = replace(story, rules=story.rules.with_values({rule: value}), preset=None)
        driver = StoryDriver(changed)
        driver.run()
        broken = {violation.invariant for violation in driver.checker.violations}
        if all(INVARIANTS[name].kind is Kind.LIVENESS for name in broken) and (
            invariant not in broken
        ):
            return NearMiss(changed, rule, value)
    return None
