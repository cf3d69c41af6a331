"""Makes the folder of a failing run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sim.api.scenarios import Scenario
from sim.api.timelines import Timeline
from sim.errors import BadInput
from sim.files.foreign import command_line
from sim.plugins import as_options
from sim.simulate.run import Run, run_of

if TYPE_CHECKING:
    from sim.check import Violation
    from sim.diagnose.failures import RunFailure

SHRINK_S = 5.0
"""Seconds that shrinking a failure for its folder may take; most need less than one."""


def failure_of(
    scenario: Scenario,
    run: Run,
    found: Violation | None,
    *,
    name: str,
    file: Path | None,
    made_by: str | None,
) -> RunFailure:
    """Collects the content of the folder of a failing run.

    Args:
        scenario: The scenario.
        run: The run.
        found: The violation that the folder is about; None for an expectation that was not met.
        name: Name of the folder.
        file: The file of the scenario; None for a row of a sweep, and for one without a file.
        made_by: The command that found the failure; None without one.

    Raises:
        BadInput: Nothing is violated, and all is as the scenario expects.
    """
    from sim.diagnose.failures import SCENARIO, RunFailure
    from sim.study.suite.scenario_files import from_here

    if not (run.violations or run.differences or run.verdict == "inconclusive"):
        raise BadInput(f"{name}: all is as expected; only a failure gets a folder")
    return RunFailure(
        id=name.replace(" ", "-"),
        title=scenario.title,
        file=None if file is None else from_here(file),
        run=run,
        violation=found,
        mix=scenario.mix,
        changed_rules=scenario.changed_rules,
        scenario=scenario.as_file,
        made_by=made_by,
        command=f"replog run {command_line([SCENARIO, *as_options()])}",
        shrunk=partial(_shrunk, run, None if run.cut_off else found),
    )


def _shrunk(run: Run, found: Violation | None) -> dict[str, str]:
    """The files of the smallest run that violates the same for the same cause, if any does."""
    if found is None:
        return {}
    from sim.api.scenarios import load
    from sim.diagnose.failures import SHRUNK, SHRUNK_PICTURE
    from sim.diagnose.shrink.smallest import smallest_example

    source = run.content.source
    witness = smallest_example(run.content, found.invariant, within_s=SHRINK_S, source=source)
    if witness.interrupted:
        raise KeyboardInterrupt
    small = run_of(load(witness.text).content)
    shows = next(one for one in small.seen if one.invariant == found.invariant)
    picture = Timeline(small.id, small.title or small.id, small.unit, small, shows)
    return {SHRUNK: witness.text, SHRUNK_PICTURE: picture.svg}
