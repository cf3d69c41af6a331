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
from sim.sweeps.folder import read_sweep
from sim.sweeps.one_run import scenario_of_run
from sim.timed_run import conclusive, run_scenario
from sim.trace import Event


class Opened(NamedTuple):
    """A run, and all that it was made of.

    Attributes:
        content: The story or the scenario.
        events: (when, event) of all that happened; when: steps of a story, else ms.
        violations: Of what it judges, in order of detection.
        not_judged: Of what was looked at as well.
        rules: By which it was judged.
        skews: How far each replica's clock is ahead of simulated time in ms; None = a story.
        labels: Of a story: uid -> label.
        mix: What it was drawn from; None = it is written down.
    """

    content: Story | Scenario
    events: Sequence[tuple[int, Event]]
    violations: tuple[Violation, ...]
    not_judged: tuple[Violation, ...]
    rules: Rules
    skews: Mapping[str, int] | None
    labels: Mapping[int, str]
    mix: Mix | None = None

    @property
    def seen(self) -> tuple[Violation, ...]:
        """All violations, those of what is judged first."""
        return (*self.violations, *self.not_judged)

    @property
    def steps(self) -> int | None:
        """How many steps a story has; None = it is a scenario in simulated time."""
        return len(self.content.steps) if isinstance(self.content, Story) else None

    @property
    def unit(self) -> str:
        """What times count: `step` or `ms`."""
        return "ms" if self.steps is None else "step"


def content_at(
    path: Path, *, seed: int | None = None, rules: Mapping[str, str] | None = None
) -> Story | Scenario:
    """The story or the timed scenario in a file. Raises BadInput."""
    if format_of(path) != STORY_FORMAT:
        return scenario_at(path, seed, rules or {})
    if seed is not None:
        raise BadInput(f"{path}: --seed: a story has no randomness to seed")
    return story_at(path, rules or {})


def open_row(folder: Path, run_id: int) -> Opened:
    """Run one row of a sweep again. Raises BadInput."""
    sweep = read_sweep(folder)
    mix = sweep.environment_of(sweep.place_of(run_id)[0]).mix
    return opened(scenario_of_run(folder, run_id))._replace(mix=mix)


def opened(content: Story | Scenario) -> Opened:
    """Run a story or a scenario. Raises Inconclusive."""
    if isinstance(content, Story):
        return _of_story(content)
    events: list[tuple[int, Event]] = []
    run = conclusive(run_scenario(content, trace=events))
    rules, skews = promise_of(content).rules, content.clock_skews
    return Opened(content, events, run.violations, run.not_judged, rules, skews, {})


def _of_story(story: Story) -> Opened:
    run = run_story(story)
    if run.reason is not None:
        raise Inconclusive(f"{story.id}: {run.reason}")
    told = (run.events, run.violations, run.not_judged)
    return Opened(story, *told, story.rules, None, run.labels)
