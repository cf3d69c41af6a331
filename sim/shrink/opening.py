"""Finds what a file, or a run of a sweep, has to shrink."""

from __future__ import annotations

from pathlib import Path

from sim.errors import BadInput
from sim.files.formats import SCENARIO_FORMAT, STORY_FORMAT
from sim.shrink.cases import Case
from sim.suite.scenario_files import format_of


def open_case(path: Path, run_id: int | None, *, invariant: str | None, command: str) -> Case:
    """What a file, or a run of a sweep, has to shrink.

    Args:
        path: The file, or the folder of a sweep.
        run_id: The number of the run in a sweep; None = `path` is a file.
        invariant: The law; None = the first one broken.
        command: What was typed, for the source of the result.

    Raises:
        BadInput: There is no such thing, it breaks no law, or not this one.
    """
    if path.is_dir():
        if run_id is None:
            raise BadInput(f"{path}: is a folder; a run of a sweep is given as DIR RUN_ID")
        from sim.shrink.run_case import RunCase

        return RunCase.of_row(path, run_id, invariant=invariant, command=command)
    if run_id is not None:
        raise BadInput(f"{path}: no such folder; only a run of a sweep has a number")
    found = format_of(path)
    if found == STORY_FORMAT:
        from sim.shrink.story_case import StoryCase

        return StoryCase.read(path, invariant=invariant, command=command)
    if found == SCENARIO_FORMAT:
        from sim.shrink.run_case import RunCase

        return RunCase.read(path, invariant=invariant, command=command)
    raise BadInput(
        f"{path}: format: {found or 'missing'}; allowed: {STORY_FORMAT}, {SCENARIO_FORMAT}"
    )
