"""The near miss of a story: the same steps under one other rule, and nothing is broken."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sim.check.checker import story_invariants
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

    `invariant` is the law that it breaks; liveness does not count but for that law.

    Tried first are the fixes, then the defaults of the rules that differ from them, then all other
    values in the order of `replog list rules`. A change that heals by making steps do nothing, such
    as `cleanup: compact` where a snapshot is taken, is given only if there is no other.
    """
    judging = tuple(dict.fromkeys((*story_invariants(liveness=False), invariant)))
    doing = _steps_told(story)
    idle: NearMiss | None = None
    for rule, value in rule_changes(story.rules, STORY_DEFAULTS):
        changed = replace(story, rules=story.rules.with_values({rule: value}), preset=None)
        driver = StoryDriver(changed, invariants=judging)
        driver.run()
        if driver.checker.violations:
            continue
        if doing <= {step for step, _ in driver.events}:
            return NearMiss(changed, rule, value)
        idle = idle or NearMiss(changed, rule, value)
    return idle


def _steps_told(story: Story) -> set[int]:
    """The steps of which something is told."""
    driver = StoryDriver(story, invariants=())
    driver.run()
    return {step for step, _ in driver.events}
