"""The track record: which story, or which scenario in simulated time, shows which cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sim.check import Violation
from sim.check.checker import known_invariants
from sim.check.coverage import SITUATIONS
from sim.errors import BadInput
from sim.explain.signature import first_causes
from sim.files.formats import SCENARIO_FORMAT, STORY_FORMAT
from sim.files.shipped import PREFIX, shipped_folder
from sim.rules import Rules
from sim.scenario.file.load import load_scenario
from sim.scenario.model.promises import promise_of
from sim.story import load_story, run_story
from sim.suite.scenario_files import format_of, scenario_files
from sim.sweeps.wording import counted
from sim.timed_run import run_scenario
from sim.trace import Event


@dataclass(frozen=True, slots=True)
class Shown:
    """A story, or a scenario, that shows a cause.

    Attributes:
        path: Its file; of a shipped one as `replog run` takes it anywhere.
        title: What it says.
        steps: How many it has; None = it is in simulated time.
    """

    path: Path
    title: str
    steps: int | None

    @property
    def size(self) -> str:
        """`11 steps`, or what else it is."""
        return "in simulated time" if self.steps is None else counted(self.steps, "step")

    def as_json(self) -> dict[str, Any]:
        """A document."""
        return {
            "path": self.path.as_posix(),
            "title": self.title,
            "steps": self.steps,
            "size": self.size,
        }


class TrackRecord:
    """Stories by what they show."""

    def __init__(self, folder: Path | str | None = None) -> None:
        """The stories in a folder; None = those that come with Replog, if any do.

        Raises:
            BadInput: The folder is not there.
        """
        if folder is not None and not Path(folder).is_dir():
            raise BadInput(f"{folder}: no such folder of stories")
        self._folder, self._named = _folder_of(folder)

    def story_of(self, cause: str, invariant: str) -> Shown | None:
        """The story that shows a cause, or else the scenario; None = none does.

        Of several one that violates this invariant for it counts, then one that violates something
        for it first of all, then the one with the fewest steps.
        """
        if self._folder is None:
            return None
        for kind in (STORY_FORMAT, SCENARIO_FORMAT):  # scenarios take longer, and are seldom needed
            candidates = [
                (other != invariant, *rank, shown)
                for other, rank, shown in _read(self._folder, self._named, kind).get(cause, ())
            ]
            if candidates:
                return min(candidates)[-1]
        return None


Rank = tuple[bool, int, str]
"""Whether something else is violated first, how large it is, the path."""


def _folder_of(folder: Path | str | None) -> tuple[Path | None, Path]:
    """Where the track record is, and what its paths begin with."""
    if folder is not None:
        return Path(folder), Path(folder)
    try:
        return shipped_folder(), Path(PREFIX)
    except BadInput:
        return None, Path()


@lru_cache(maxsize=4)
def _read(folder: Path, named: Path, kind: str) -> dict[str, list[tuple[str, Rank, Shown]]]:
    """Cause -> what is violated for it in which file of a format; paths begin with `named`."""
    found: dict[str, list[tuple[str, Rank, Shown]]] = {}
    for path in scenario_files(folder):
        told = _told(path, kind)
        if told is None:
            continue
        shown = Shown(named / path.relative_to(folder), told.title, told.steps)
        causes = first_causes(told.events, told.violations, told.rules)
        for place, cause in causes.items():
            rank = (place > 0, told.steps or len(told.events), shown.path.as_posix())
            entry = (told.violations[place].invariant, rank, shown)
            found.setdefault(cause, []).append(entry)
    return found


class _Told(NamedTuple):
    """What a file of the track record shows."""

    title: str
    steps: int | None
    events: Sequence[tuple[int, Event]]
    violations: Sequence[Violation]
    rules: Rules


def _told(path: Path, kind: str) -> _Told | None:
    """What is violated in a file; None = it is of another format, or meant to violate nothing."""
    try:
        if format_of(path) != kind:
            return None
        return _of_story(path) if kind == STORY_FORMAT else _of_scenario(path)
    except BadInput:  # what cannot be read is for the suite to say
        return None


def _of_story(path: Path) -> _Told | None:
    story = load_story(path)
    if not story.expect.violated:
        return None
    run = run_story(story)
    return _Told(story.title, len(story.steps), run.events, run.violations, story.rules)


def _of_scenario(path: Path) -> _Told | None:
    scenario = load_scenario(path, known_invariants=known_invariants(), known_reached=SITUATIONS)
    if not scenario.expect.violated:
        return None
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events)
    return _Told(scenario.title, None, events, run.violations, promise_of(scenario).rules)
