"""Single changes that may heal a story or a scenario: one rule at a time, the fixes first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from sim.bounds import Inconclusive
from sim.check import INVARIANTS, Kind
from sim.protocol.rules import RULES, Rules
from sim.protocol.rules.spec import RuleValue
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.driver import run_story
from sim.simulate.story.expect import StoryExpect
from sim.simulate.story.format import STORY_DEFAULTS, Story
from sim.simulate.timed_run import conclusive, run_scenario

V = TypeVar("V", bound=Story | Scenario)

FIXES = ("fix", "tombstone_removal", "lag_guard", "truncation")
"""The rules that were made against what is violated; their values are tried first."""


IN_STORIES_ALONE = {("offset_assignment", "follower_assigned"), ("tombstone_mark", "explicit")}
"""Values of rules that a step of a story gives a meaning to: in a timed run nobody takes it."""


def rule_changes(value: Story | Scenario) -> Iterator[tuple[str, RuleValue]]:
    """Each other value of each rule, once: fixes, then defaults, then as `replog list rules`.

    Of a timed scenario values that have a meaning in stories alone are left out.
    """
    usual = (STORY_DEFAULTS if isinstance(value, Story) else Rules()).as_dict()
    own = value.rules.as_dict()
    changes = [(name, setting) for name in FIXES for setting in RULES[name].values]
    changes += [(name, usual[name]) for name in own]
    changes += [(name, setting) for name in own for setting in RULES[name].values]
    senseless = set() if isinstance(value, Story) else IN_STORIES_ALONE
    for name, setting in dict.fromkeys(changes):
        if own[name] != setting and (name, setting) not in senseless:
            yield name, setting


def with_rule(value: V, name: str, setting: RuleValue) -> V:
    """The same under another value of one rule."""
    return replace(value, rules=value.rules.with_values({name: setting}), preset=None)


def violated_by(value: Story | Scenario, invariant: str) -> list[str]:
    """What a story or a scenario violates of this invariant and those of safety, in its order.

    Raises:
        Inconclusive: It took too long or too much memory.
    """
    if isinstance(value, Scenario):
        run = conclusive(run_scenario(value, also_check=(invariant,)))
        violated = [violation.invariant for violation in run.seen]
    else:
        story = run_story(replace(value, expect=StoryExpect((invariant,))))
        if story.reason is not None:
            raise Inconclusive(f"{value.id}: {story.reason}")
        violated = story.violated
    return [name for name in dict.fromkeys(violated) if name == invariant or _is_safety(name)]


def _is_safety(name: str) -> bool:
    known = INVARIANTS.get(name)
    return known is None or known.kind is not Kind.LIVENESS
