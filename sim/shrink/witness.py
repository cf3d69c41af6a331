"""The smallest account of a failing run: a story where there is one, else a scenario.

The roads are tried in this order: a story made of the run as it is; the run made small, and a story
made of that; the small run itself. What comes out breaks the same law with the same signature. It
depends on the run and on the budget in tries alone; a budget in seconds cuts it short, and nothing
else.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from sim.check.registry import INVARIANTS, Kind
from sim.explain.signature import Signature, signature_of
from sim.scenario.file.write import scenario_text
from sim.scenario.model import Scenario
from sim.scenario.model.promises import promise_of
from sim.shrink.from_events import FoundStory, story_from_events, why_untellable
from sim.shrink.story import shrink_story
from sim.shrink.timed import ShrunkTimed, shrink_timed, sought_in_run
from sim.shrink.writing import story_text
from sim.story import Story
from sim.story.driver import StoryDriver
from sim.story.expect import StoryExpect
from sim.timed_run import run_scenario
from sim.trace import Event

FIRST_SHARE = 0.6
"""Of a budget, for making the run small before another story is made of it."""
SMALL = 400
"""Events; of a longer run that gave no story before, none is made again."""
NO_STORY = "no story was found that shows it for the same cause"


class Witness(NamedTuple):
    """A small account of why a run breaks a law.

    Attributes:
        kind: `story` of single steps, or `scenario` in simulated time.
        invariant: The law.
        signature: Why it is broken, in the run as in the witness.
        sentence: What happens in the witness, with the numbers in it.
        text: The file, which expects its violation.
        story: The story, if it is one.
        scenario: The scenario, if it is one.
        steps: Of the story; None = it is a scenario.
        events: How many events of the witness lead to its violation.
        events_before: How many events the run had.
        tries: How many stories and scenarios were run for it.
        complete: Whether it is as small as it gets; False = the budget cut it short.
        made_of: What of the run the story was made of, or why there is none, in words.
        wall_ms: How long it took by the clock of the wall; the only part that is not the same the
            next time.
    """

    kind: Literal["story", "scenario"]
    invariant: str
    signature: Signature
    sentence: str
    text: str
    story: Story | None
    scenario: Scenario | None
    steps: int | None
    events: int
    events_before: int
    tries: int
    complete: bool
    made_of: str
    wall_ms: float


def witness_of(
    scenario: Scenario,
    invariant: str | None = None,
    *,
    within_s: float | None = None,
    tries: int | None = None,
    source: str = "",
) -> Witness:
    """The smallest account of a failing run.

    Args:
        scenario: Its run breaks a law.
        invariant: The law of which the first violation counts; None = the first one broken.
        within_s: Stop after so many seconds with the best found.
        tries: Stop after so many runs with the best found: the same on any machine.
        source: Where it comes from, for the file.

    Raises:
        BadInput: The run breaks no law, or not this one.
    """
    spent = _Spent(within_s, tries)
    found, name, signature, events_before = story_of(scenario, invariant)
    small: ShrunkTimed | None = None
    if found is None:
        small, found = _made_small(scenario, name, spent)
    if found is not None:
        shrunk = shrink_story(
            found.story,
            found.violation,
            within_s=spent.seconds_left(),
            tries=spent.tries_left(),
            cause_of=found.cause_of,
        )
        spent.tries += shrunk.tries
        story = _named(shrunk.story, scenario, name, signature, source)
        story, events, text = _told(story, name)
        complete = shrunk.complete and (small is None or small.complete)
        outcome = _Outcome("story", shrunk.violation.sentence, text, events, complete, found.choice)
        return _witness(name, signature, outcome, events_before, spent, story=story)
    assert small is not None
    named = _named(small.scenario, scenario, name, signature, source)
    outcome = _Outcome(
        "scenario",
        small.violation.sentence,
        scenario_text(named),
        small.events,
        small.complete,
        why_untellable(signature) or NO_STORY,
    )
    return _witness(name, signature, outcome, events_before, spent, scenario=named)


class _Spent:
    """What the search for a witness has cost, and what it may."""

    def __init__(self, within_s: float | None, tries: int | None) -> None:
        self.tries = 0
        self._within_s, self._most_tries = within_s, tries
        self._started = time.perf_counter()

    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def seconds_left(self, share: float = 1.0) -> float | None:
        """Of a share of the budget, counted from its beginning; None = there is no end."""
        if self._within_s is None:
            return None
        return max(0.0, self._within_s * share - self.seconds())

    def tries_left(self, share: float = 1.0) -> int | None:
        """As `seconds_left`."""
        if self._most_tries is None:
            return None
        return max(0, int(self._most_tries * share) - self.tries)


class _Outcome(NamedTuple):
    """What is different about stories and scenarios."""

    kind: Literal["story", "scenario"]
    sentence: str
    text: str
    events: int
    complete: bool
    made_of: str


def _made_small(
    scenario: Scenario, invariant: str, spent: _Spent
) -> tuple[ShrunkTimed, FoundStory | None]:
    """The run made small, and a story made of that; without a story all that is left goes on it."""
    small = shrink_timed(
        scenario,
        invariant,
        within_s=spent.seconds_left(FIRST_SHARE),
        tries=spent.tries_left(FIRST_SHARE),
    )
    spent.tries += small.tries
    found = _story_of_small(small, invariant)
    if found is None and not small.complete:
        small = shrink_timed(
            scenario,
            invariant,
            within_s=spent.seconds_left(),
            tries=spent.tries_left(),
            start=(small.scenario, small.place),
        )
        spent.tries += small.tries
        found = _story_of_small(small, invariant)
    return small, found


def _story_of_small(small: ShrunkTimed, invariant: str) -> FoundStory | None:
    """A story made of the run that was made small, unless it is still too large for that."""
    return story_of(small.scenario, invariant)[0] if small.events <= SMALL else None


N = TypeVar("N", Story, Scenario)


def _named(value: N, scenario: Scenario, invariant: str, signature: Signature, source: str) -> N:
    """The story or scenario under the name of its witness, with why and where it comes from."""
    name = f"{scenario.id}_{invariant}".replace("-", "_")
    return replace(value, id=name, title=str(signature), source=source or scenario.source)


def _witness(
    invariant: str,
    signature: Signature,
    outcome: _Outcome,
    events_before: int,
    spent: _Spent,
    *,
    story: Story | None = None,
    scenario: Scenario | None = None,
) -> Witness:
    return Witness(
        outcome.kind,
        invariant,
        signature,
        outcome.sentence,
        outcome.text,
        story,
        scenario,
        None if story is None else len(story.steps),
        outcome.events,
        events_before,
        spent.tries,
        outcome.complete,
        outcome.made_of,
        spent.seconds() * 1000,
    )


def witness_of_row(
    out: Path | str,
    run_id: int,
    invariant: str | None = None,
    *,
    within_s: float | None = None,
    tries: int | None = None,
) -> Witness:
    """As `witness_of`, of a run of the sweep in a folder.

    Raises:
        BadInput: There is no such run, it breaks no law, or not this one.
    """
    from sim.sweeps import scenario_of_run

    return witness_of(
        scenario_of_run(out, run_id),
        invariant,
        within_s=within_s,
        tries=tries,
        source=f"run {run_id} of {Path(out).name}",
    )


def story_of(
    scenario: Scenario, invariant: str | None
) -> tuple[FoundStory | None, str, Signature, int]:
    """A story made of a run, the law that it breaks, why, and how many events the run has.

    Raises:
        BadInput: The run breaks no law, or not this one.
    """
    _, violation, _ = sought_in_run(scenario, invariant)
    events: list[tuple[int, Event]] = []
    run_scenario(scenario, trace=events)
    rules = promise_of(scenario).rules
    signature = signature_of(events, violation, rules)
    tellable = why_untellable(signature) is None
    found = story_from_events(events, violation, rules) if tellable else None
    return found, violation.invariant, signature, len(events)


def _told(story: Story, invariant: str) -> tuple[Story, int, str]:
    """The story with what it expects, how many events it has, and its file."""
    driver = StoryDriver(replace(story, expect=StoryExpect((invariant,))))
    driver.run()
    broken = dict.fromkeys(violation.invariant for violation in driver.checker.violations)
    sentence = next(one.sentence for one in driver.checker.violations if one.invariant == invariant)
    violated = tuple(
        name for name in broken if name == invariant or INVARIANTS[name].kind is not Kind.LIVENESS
    )
    # Claims that are plain mappings, so that a witness travels from a process to another one.
    expect = StoryExpect(violated, replicas={}, moments={})
    text = story_text(story, violated=violated, remark=sentence)
    return replace(story, expect=expect), len(driver.events), text
