"""What `replog explain` is about: a story, a timed scenario or a run of a sweep, and what happened.

Whatever it is, it can be told why it violated something, and what could have been otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sim.bounds import Inconclusive
from sim.check import Violation
from sim.errors import BadInput
from sim.files.formats import STORY_FORMAT
from sim.rules import Rules
from sim.scenario.generate.mix import Mix
from sim.scenario.model import Scenario
from sim.scenario.model.promises import promise_of
from sim.story.driver import run_story
from sim.story.format import Story
from sim.suite.running import scenario_at, story_at
from sim.suite.scenario_files import format_of
from sim.sweeps.one_run import scenario_of_run
from sim.sweeps.output import read_sweep
from sim.timed_run import conclusive, run_scenario
from sim.trace import Event


class Opened(NamedTuple):
    """A run, and all that it was made of.

    Attributes:
        id: What it is called.
        content: The story or the scenario.
        events: (when, event) of all that happened; when: steps of a story, else ms.
        violations: In order of detection, those of what the scenario judges first.
        rules: By which it was judged.
        skews: How far each replica's clock is ahead of simulated time in ms; None = a story.
        mix: What it was drawn from; None = it is written down.
    """

    id: str
    content: Story | Scenario
    events: Sequence[tuple[int, Event]]
    violations: tuple[Violation, ...]
    rules: Rules
    skews: Mapping[str, int] | None
    mix: Mix | None = None


def open_file(path: Path, *, seed: int | None, rules: Mapping[str, str]) -> Opened:
    """Run a story or a timed scenario. Raises BadInput."""
    if format_of(path) == STORY_FORMAT:
        if seed is not None:
            raise BadInput(f"{path}: --seed: a story has no randomness to seed")
        story = story_at(path, rules)
        run = run_story(story)
        if run.reason is not None:
            raise Inconclusive(f"{story.id}: {run.reason}")
        return Opened(story.id, story, run.events, run.seen, story.rules, None)
    return _of_scenario(scenario_at(path, seed, rules))


def open_row(folder: Path, run_id: int) -> Opened:
    """Run one row of a sweep again. Raises BadInput."""
    sweep = read_sweep(folder)
    mix = sweep.environment_of(sweep.place_of(run_id)[0]).mix
    return _of_scenario(scenario_of_run(folder, run_id), mix)


def _of_scenario(scenario: Scenario, mix: Mix | None = None) -> Opened:
    events: list[tuple[int, Event]] = []
    run = conclusive(run_scenario(scenario, trace=events))
    rules = promise_of(scenario).rules
    skews = scenario.clock_skews
    return Opened(scenario.id, scenario, events, run.seen, rules, skews, mix)
