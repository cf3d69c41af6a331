"""The smallest change that makes a case pass: one rule, else one fault or one step less."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from sim.check.registry import INVARIANTS, Kind, discover
from sim.errors import BadInput
from sim.rules import Rules
from sim.scenario.model import Scenario
from sim.story.driver import run_story
from sim.story.expect import StoryExpect
from sim.story.format import STORY_DEFAULTS, Story
from sim.timed_run import run_scenario
from sim.what_if.changes import rule_changes


class Healing(NamedTuple):
    """A single change under which an invariant is not violated.

    Attributes:
        kind: `rule`, `fault` or `step`.
        change: What is changed: `fix: empty_batch`, `without fault 2, partition r3 at 1,000 ms`,
            `without step 4, crash r1`.
        still: Other invariants that are violated with it, liveness left out; empty = it passes.
    """

    kind: str
    change: str
    still: tuple[str, ...]


class Healings(NamedTuple):
    """All single changes that heal.

    Attributes:
        found: Those after which nothing is violated before the others; else in the order tried.
        tried: How many changes were tried.
        complete: False = the budget was over before all were tried.
    """

    found: tuple[Healing, ...]
    tried: int
    complete: bool


_Variant = tuple[str, str, Callable[[], Iterable[str]]]
"""Kind and words of a change, and what runs the case with it: the invariants that are violated."""


def heals_story(story: Story, invariant: str, *, within_s: float | None = None) -> Healings:
    """Which single change of a rule, or step less, keeps a story from violating an invariant.

    A step that adds a replica is not left out: later ones could name it.
    """
    story = replace(story, expect=StoryExpect((invariant,)))

    def under(changed: Story) -> Callable[[], Iterable[str]]:
        return lambda: run_story(changed).violated

    def variants() -> Iterator[_Variant]:
        for name, value in rule_changes(story.rules, STORY_DEFAULTS):
            rules = story.rules.with_values({name: value})
            yield "rule", f"{name}: {value}", under(replace(story, rules=rules, preset=None))
        for index, step in enumerate(story.steps):
            if step.op == "add_replica":
                continue
            rest = (*story.steps[:index], *story.steps[index + 1 :])
            words = f"without step {step.number}, {step.line}"
            yield "step", words, under(replace(story, steps=rest))

    return _healing(variants(), invariant, within_s)


def heals_scenario(
    scenario: Scenario, invariant: str, *, within_s: float | None = None
) -> Healings:
    """Which single change of a rule, or fault less, keeps a run from violating an invariant."""

    def under(changed: Scenario) -> Callable[[], Iterable[str]]:
        return lambda: run_scenario(changed, also_check=(invariant,)).violated

    def variants() -> Iterator[_Variant]:
        for name, value in rule_changes(scenario.rules, Rules()):
            rules = scenario.rules.with_values({name: value})
            yield "rule", f"{name}: {value}", under(replace(scenario, rules=rules, preset=None))
        for index, fault in enumerate(scenario.faults):
            rest = (*scenario.faults[:index], *scenario.faults[index + 1 :])
            words = f"without fault {index + 1}, {fault.kind} {fault.target} at {fault.at_ms:,} ms"
            yield "fault", words, under(replace(scenario, faults=rest))

    return _healing(variants(), invariant, within_s)


def _healing(variants: Iterator[_Variant], invariant: str, within_s: float | None) -> Healings:
    discover()
    until = None if within_s is None else time.monotonic() + within_s
    found: list[Healing] = []
    tried = 0
    for kind, words, run in variants:
        if until is not None and time.monotonic() > until:
            return Healings(tuple(sorted(found, key=_passes_first)), tried, complete=False)
        tried += 1
        try:
            broken = set(run())
        except BadInput:  # a combination that no case can have
            continue
        if invariant not in broken:
            still = [n for n in sorted(broken) if _counts(n)]
            found.append(Healing(kind, words, tuple(still)))
    return Healings(tuple(sorted(found, key=_passes_first)), tried, complete=True)


def _counts(name: str) -> bool:
    known = INVARIANTS.get(name)
    return known is None or known.kind is not Kind.LIVENESS


def _passes_first(healing: Healing) -> bool:
    return bool(healing.still)
