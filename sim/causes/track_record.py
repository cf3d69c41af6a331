"""The track record: which story shows which cause."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from sim.explain.signature import first_causes
from sim.files.formats import STORY_FORMAT
from sim.files.shipped import PREFIX, shipped_folder
from sim.story import Story, load_story, run_story
from sim.suite.scenario_files import format_of, scenario_files


@dataclass(frozen=True, slots=True)
class Shown:
    """A story that shows a cause.

    Attributes:
        path: Its file; of a shipped one as `replog run` takes it anywhere.
        title: What it says.
        steps: How many it has.
    """

    path: Path
    title: str
    steps: int

    def as_json(self) -> dict[str, Any]:
        """A document."""
        return {"path": self.path.as_posix(), "title": self.title, "steps": self.steps}


class TrackRecord:
    """Stories by what they show."""

    def __init__(self, folder: Path | str | None = None) -> None:
        """The stories in a folder; None = those that come with Replog, if any do.

        Raises:
            BadInput: The folder is not there.
        """
        if folder is not None and not Path(folder).is_dir():
            raise BadInput(f"{folder}: no such folder of stories")
        self._shown = _shipped() if folder is None else _read(Path(folder), Path(folder))

    def story_of(self, cause: str, invariant: str) -> Shown | None:
        """The story that shows a cause; None = none does.

        Of several one that violates this invariant for it counts, then one that violates something
        for it first of all, then the one with the fewest steps.
        """
        candidates = [
            (other != invariant, *rank, shown) for other, rank, shown in self._shown.get(cause, ())
        ]
        return min(candidates)[-1] if candidates else None


Rank = tuple[bool, int, str]
"""Whether something else is violated first, how many steps, the path."""


def _shipped() -> dict[str, list[tuple[str, Rank, Shown]]]:
    """Of what comes with Replog, under the names by which commands know it."""
    try:
        return _read(shipped_folder(), Path(PREFIX))
    except BadInput:
        return {}


@lru_cache(maxsize=4)
def _read(folder: Path, named: Path) -> dict[str, list[tuple[str, Rank, Shown]]]:
    """Cause -> what is violated for it in which story; paths begin with `named`."""
    found: dict[str, list[tuple[str, Rank, Shown]]] = {}
    for path in scenario_files(folder):
        story = _story(path)
        if story is None or not story.expect.violated:
            continue
        run = run_story(story)
        shown = Shown(named / path.relative_to(folder), story.title, len(story.steps))
        for place, cause in first_causes(run.events, run.violations, story.rules).items():
            rank = (place > 0, shown.steps, shown.path.as_posix())
            entry = (run.violations[place].invariant, rank, shown)
            found.setdefault(cause, []).append(entry)
    return found


def _story(path: Path) -> Story | None:
    """The story in a file; None = it holds something else, or nothing that can be read."""
    try:
        return load_story(path) if format_of(path) == STORY_FORMAT else None
    except BadInput:
        return None
