"""From a run to the folder of its failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.api.scenarios import Scenario
from sim.errors import BadInput
from sim.files.foreign import shell
from sim.plugins import as_options
from sim.study.suite.result import BAD_INPUT, ERROR

if TYPE_CHECKING:
    from sim.api.runs import Run
    from sim.check import Violation
    from sim.diagnose.failures import RunFailure
    from sim.study.suite import CaseResult

SHRINK_S = 5.0
"""Seconds that shrinking a failure for its folder may take; most need less than one."""


def failure_of(run: Run, invariant: str | None = None) -> RunFailure:
    """What the folder of a failing run is made of.

    Raises:
        BadInput: Nothing is violated, and all is as the scenario expects.
    """
    from sim.diagnose.failures import RunFailure
    from sim.diagnose.failures.failure import SCENARIO, expectation, missed
    from sim.study.suite.scenario_files import from_here

    recorded, scenario = run.recorded, run.scenario
    failed = recorded.violations or recorded.differences or recorded.verdict == "inconclusive"
    if not failed:
        raise BadInput(f"{run.id}: all is as expected; only a failure gets a folder")
    found = run.violation(invariant) if recorded.violations or invariant else None
    content: Any = scenario.content
    path = scenario.path if run.row is None else None
    return RunFailure(
        id=run.id.replace(" ", "-"),
        title=scenario.title,
        file=None if path is None else from_here(path),
        expected=expectation(content.expect),
        missed=missed(recorded),
        run=recorded,
        violation=found,
        mix=scenario.mix,
        changed_rules=scenario.changed_rules,
        scenario=scenario.as_file,
        made_by=run.command,
        command=f"replog run {shell.command([SCENARIO, *as_options()])}",
        shrunk=partial(_shrunk, scenario, None if recorded.cut_off else found),
    )


def _shrunk(scenario: Scenario, found: Violation | None) -> dict[str, str]:
    """The files of the smallest run that violates the same for the same cause, if any does."""
    if found is None:
        return {}
    from sim.api.runs import run
    from sim.diagnose.failures.failure import SHRUNK, SHRUNK_PICTURE
    from sim.diagnose.shrink.smallest import smallest_example

    content: Any = scenario.content
    witness = smallest_example(content, found.invariant, within_s=SHRINK_S, source=scenario.source)
    if witness.interrupted:
        raise KeyboardInterrupt
    picture = run(witness.text).timeline(found.invariant).svg
    return {SHRUNK: witness.text, SHRUNK_PICTURE: picture}


def save_result(result: CaseResult, folder: Path) -> Path | None:
    """The folder, below `folder`, about what nobody expected of a file of a suite.

    None = it has none: it is as expected but for its notes, or did not run to an end. Raises
    BadInput.
    """
    if result.expectation_met or result.noted or result.verdict in (BAD_INPUT, ERROR):
        return None
    if result.is_log:
        from sim.diagnose.failures import log_failure, save_failure
        from sim.study.suite.scenario_files import from_here

        return save_failure(folder, log_failure(result, from_here(result.path)))
    if result.run is None:
        return None
    from sim.api.runs import run

    about = next((violation.invariant for violation in result.unexpected), None)
    return run(result.path).save(folder, about)


def write_index_of_suite(
    results: Iterable[CaseResult], saved: Mapping[Path, Path], folder: Path, summary: str
) -> None:
    """Write the page that lists what is red in a suite, whether it has a folder or not.

    It says `summary` of all files, as the suite does. Raises BadInput.
    """
    from sim.diagnose.failures import Red, write_index
    from sim.study.suite.scenario_files import from_here

    red = [
        Red(
            file=str(from_here(result.path)),
            how=result.how,
            lines=tuple(line.removeprefix(f"{result.how}: ") for line in result.complaints),
            folder=saved[result.path].name if result.path in saved else "",
        )
        for result in results
        if not result.expectation_met
    ]
    write_index(folder, red, summary=summary)
