"""A story or a scenario that is meant to violate something, run from its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sim.check import Violation
from sim.files.formats import STORY_FORMAT
from sim.rules import Rules
from sim.scenario.model import Scenario
from sim.scenario.model.promises import promise_of
from sim.story import load_story, run_story
from sim.story.result import StoryRun
from sim.suite.running import scenario_at
from sim.timed_run import run_scenario
from sim.trace import Event


class Played(NamedTuple):
    """What happened.

    Attributes:
        title: What the file says it is about.
        steps: Of a story; None = it is a scenario in simulated time.
        events: (when, event) of everything.
        violations: What is violated, in order.
        rules: What it is judged by.
        labels: Of a story: uid -> label.
    """

    title: str
    steps: int | None
    events: Sequence[tuple[int, Event]]
    violations: Sequence[Violation]
    rules: Rules
    labels: Mapping[int, str] = MappingProxyType({})

    @property
    def violation(self) -> Violation:
        """The first."""
        return self.violations[0]

    @property
    def unit(self) -> str:
        """What times count: `step` or `ms`."""
        return "ms" if self.steps is None else "step"


def play(path: Path, file_format: str) -> Played | None:
    """Runs a file; None = it is meant to violate nothing.

    Raises:
        BadInput: It cannot be read as this format.
    """
    if file_format == STORY_FORMAT:
        story = load_story(path)
        return _of_story(run_story(story)) if story.expect.violated else None
    scenario = scenario_at(path, None, {})
    return _of_scenario(scenario) if scenario.expect.violated else None


def _of_story(run: StoryRun) -> Played:
    story = run.story
    steps = len(story.steps)
    return Played(story.title, steps, run.events, run.violations, story.rules, run.labels)


def _of_scenario(scenario: Scenario) -> Played:
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events)
    return Played(scenario.title, None, events, run.violations, promise_of(scenario).rules)
