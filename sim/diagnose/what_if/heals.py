"""Single changes that heal a story or a scenario: one rule, one fault or one step.

A near miss is the same story or scenario with another value of one rule, where nothing is violated.
A rule may heal a shrunk failure and not the original: shrinking may have made a tombstone the log
end, so that a fix for log ends keeps it. So the rule is tried on the original, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf
from operator import itemgetter
from typing import NamedTuple, TypeVar

from sim.bounds import Inconclusive
from sim.check import INVARIANTS, Kind
from sim.check.registry import discover
from sim.protocol.rules import RULES, Rules
from sim.protocol.rules.spec import RuleValue, shown
from sim.simulate.run import conclusive
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import judge_scenario, judging
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.format import STORY_DEFAULTS, Story, StoryExpect

V = TypeVar("V", bound=Story | Scenario)

FIXES = ("fix", "tombstone_removal", "lag_guard", "truncation")
"""Rules whose values were proposed as fixes; they are tried first."""

MOST_TRIED = 40
"""How many healing rules are tried on the original, whose run may be long."""

IN_STORIES_ALONE = {("offset_assignment", "follower_assigned"), ("tombstone_mark", "explicit")}
"""Values of rules that have a meaning only with steps of a story."""


def rule_changes(value: Story | Scenario) -> Iterator[tuple[str, RuleValue]]:
    """Yields each other value of each rule: fixes, then defaults, then as in `replog list rules`.

    For a timed scenario, values with a meaning only in stories are left out.
    """
    default = (STORY_DEFAULTS if isinstance(value, Story) else Rules()).as_dict()
    own = value.rules.as_dict()
    changes = [(name, setting) for name in FIXES for setting in RULES[name].values]
    changes += [(name, default[name]) for name in own]
    changes += [(name, setting) for name in own for setting in RULES[name].values]
    in_stories = set() if isinstance(value, Story) else IN_STORIES_ALONE
    for name, setting in dict.fromkeys(changes):
        if own[name] != setting and (name, setting) not in in_stories:
            yield name, setting


def with_rule(value: V, name: str, setting: RuleValue) -> V:
    """Changes the value of one rule."""
    return replace(value, rules=value.rules.with_values({name: setting}), preset=None)


def violated_by(value: Story | Scenario, invariant: str) -> list[str]:
    """Runs a story or a scenario and lists the violated invariants, in order.

    Liveness invariants other than `invariant` do not count.

    Raises:
        Inconclusive: It took too long or too much memory.
    """
    if isinstance(value, Scenario):
        violated = conclusive(judge_scenario(value, (*judging(value), invariant))).violated
    else:
        story = run_story(replace(value, expect=StoryExpect((invariant,))))
        if story.reason is not None:
            raise Inconclusive(f"{value.id}: {story.reason}")
        violated = story.violated
    liveness = {name for name, known in INVARIANTS.items() if known.kind is Kind.LIVENESS}
    return [each for each in dict.fromkeys(violated) if each == invariant or each not in liveness]


class Healing(NamedTuple):
    """A single change under which an invariant is not violated.

    Attributes:
        kind: `rule`, `fault` or `step`.
        change: Change in words: `fix: empty_batch`, `without fault 2, partition r3 at 1,000 ms`,
            `without step 4, crash r1`.
        still: Other invariants violated with it, liveness left out; empty if there are none.
    """

    kind: str
    change: str
    still: tuple[str, ...]


class Failed(NamedTuple):
    """A single change with which the run ends in an error, so that its effect is unknown.

    Attributes:
        kind: As in `Healing`.
        change: As in `Healing`.
        error: Class and first line of the error.
    """

    kind: str
    change: str
    error: str


class Healings(NamedTuple):
    """All single changes that heal.

    Attributes:
        found: Healing changes in the order tried, those with nothing violated first.
        failed: Changes that ended in an error, in the order tried.
        tried: Number of changes tried.
        complete: False if the budget was over before all were tried.
    """

    found: tuple[Healing, ...]
    failed: tuple[Failed, ...]
    tried: int
    complete: bool


def heals(value: Story | Scenario, invariant: str, *, within_s: float | None = None) -> Healings:
    """Finds the single changes that avoid a violation: a rule's value, or a step or fault less.

    A step that adds a replica is never left out: later steps could name it.

    Args:
        value: A story or a scenario that violates the invariant.
        invariant: Name of the invariant.
        within_s: Limit in seconds; None without one.
    """
    discover()
    until = time.monotonic() + (inf if within_s is None else within_s)
    changes, tried = list(_changes(value)), 0
    found: list[Healing] = []
    failed: list[Failed] = []
    for kind, words, changed in changes:
        if time.monotonic() > until:
            break
        tried += 1
        try:
            violated = violated_by(changed(), invariant)
        except Exception as error:  # noqa: BLE001 - an error is an answer, too
            line = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            failed.append(Failed(kind, words, line.removesuffix(": ")))
            continue
        if invariant not in violated:
            found.append(Healing(kind, words, tuple(sorted(violated))))
    found.sort(key=lambda healing: bool(healing.still))
    return Healings(tuple(found), tuple(failed), tried, tried == len(changes))


def _changes(
    value: Story | Scenario,
) -> Iterator[tuple[str, str, Callable[[], Story | Scenario]]]:
    """Yields kind and words of each change, and the function that makes it."""
    for name, setting in rule_changes(value):
        yield "rule", f"{name}: {setting}", partial(with_rule, value, name, setting)
    if isinstance(value, Scenario):
        for index, fault in enumerate(value.faults):
            words = f"without fault {index + 1}, {fault.kind} {fault.target} at {fault.at_ms:,} ms"
            faults = (*value.faults[:index], *value.faults[index + 1 :])
            yield "fault", words, partial(replace, value, faults=faults)
        return
    for index, step in enumerate(value.steps):
        if step.op != "add_replica":
            steps = (*value.steps[:index], *value.steps[index + 1 :])
            words = f"without step {step.number}, {step.line}"
            yield "step", words, partial(replace, value, steps=steps)


class NearMiss(NamedTuple):
    """A story or scenario without violations that differs from a failing one in one rule.

    Attributes:
        value: Story or scenario with the other value of the rule.
        rule: Name of the rule.
        setting: Value of the rule.
        heals_origin: True if the original does not violate the invariant with it, either.
    """

    value: Story | Scenario
    rule: str
    setting: RuleValue
    heals_origin: bool = True

    @property
    def change(self) -> str:
        """The change in words: `fix: empty_batch`."""
        return f"{self.rule}: {shown(self.setting)}"


def near_miss_of(
    small: Story | Scenario, invariant: str, origin: Story | Scenario | None = None
) -> NearMiss | None:
    """Finds the first change of one rule under which nothing is violated; None without one.

    Tried first are the fixes, then the defaults of the rules that differ from them, then all other
    values in the order of `replog list rules`. A change that heals by making steps do nothing, such
    as `cleanup: compact` for a step that takes a snapshot, is returned only if there is no other;
    and one that does not heal the origin only if none of the first `MOST_TRIED` does.

    Args:
        small: A story or a scenario that violates the invariant.
        invariant: Name of the invariant; other liveness invariants do not count.
        origin: The failure that it was shrunk from; None if it was not shrunk.
    """
    tried: list[tuple[tuple[bool, bool], NearMiss]] = []
    holding = (each for each in rule_changes(small) if not _violated(small, each, invariant))
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
    """Lists the violated invariants under a change; one that ends in an error heals nothing."""
    try:
        return violated_by(with_rule(value, *change), invariant)
    except Exception:  # noqa: BLE001 - an error is no cure
        return (invariant,)


def _is_idle(story: Story | Scenario, changed: Story | Scenario) -> bool:
    """Checks that a step of a story has an effect, and none under the other rules."""
    if not isinstance(story, Story) or not isinstance(changed, Story):
        return False
    before, after = ({step for step, _ in run_story(one).events} for one in (story, changed))
    return not before <= after
