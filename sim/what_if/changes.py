"""Single changes that may heal a story or a scenario: one rule at a time, the fixes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from sim.bounds import Inconclusive
from sim.rules import RULES, Rules
from sim.rules.spec import RuleValue
from sim.scenario.model import Scenario
from sim.story.driver import run_story
from sim.story.expect import StoryExpect
from sim.story.format import STORY_DEFAULTS, Story
from sim.timed_run import conclusive, run_scenario

V = TypeVar("V", bound=Story | Scenario)

FIXES = ("fix", "tombstone_removal", "lag_guard", "truncation")
"""The rules that were made against what is violated; their values are tried first."""


def rule_changes(value: Story | Scenario) -> Iterator[tuple[str, RuleValue]]:
    """Each other value of each rule, once: fixes, then defaults, then as `replog list rules`."""
    usual = (STORY_DEFAULTS if isinstance(value, Story) else Rules()).as_dict()
    own = value.rules.as_dict()
    changes = [(name, setting) for name in FIXES for setting in RULES[name].values]
    changes += [(name, usual[name]) for name in own]
    changes += [(name, setting) for name in own for setting in RULES[name].values]
    for name, setting in dict.fromkeys(changes):
        if own[name] != setting:
            yield name, setting


def with_rule(value: V, name: str, setting: RuleValue) -> V:
    """The same under another value of one rule."""
    return replace(value, rules=value.rules.with_values({name: setting}), preset=None)


def violated_by(value: Story | Scenario, invariant: str) -> Sequence[str]:
    """The invariants that a story or a scenario violates, judged by this one, too.

    Raises:
        Inconclusive: It took too long or too much memory.
    """
    if isinstance(value, Scenario):
        seen = conclusive(run_scenario(value, also_check=(invariant,))).seen
        return list(dict.fromkeys(violation.invariant for violation in seen))
    run = run_story(replace(value, expect=StoryExpect((invariant,))))
    if run.reason is not None:
        raise Inconclusive(f"{value.id}: {run.reason}")
    return run.violated
