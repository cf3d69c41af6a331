"""From the result of a suite to the folders of its failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from sim.api.runs import run
from sim.diagnose.failures import Red, log_failure, save_failure, write_index
from sim.study.suite.result import CaseResult, NotRun
from sim.study.suite.scenario_files import from_here


def save_result(result: CaseResult, folder: Path) -> Path | None:
    """The folder, below `folder`, about what nobody expected of a file of a suite.

    None = it has none: it is as expected but for its notes, or did not run to an end. Raises
    BadInput.
    """
    if result.expectation_met or result.noted or isinstance(result.outcome, NotRun):
        return None
    if result.is_log:
        return save_failure(folder, log_failure(result, from_here(result.path)))
    about = next((violation.invariant for violation in result.unexpected), None)
    return run(result.path).save(folder, about)


def write_index_of_suite(
    results: Iterable[CaseResult], saved: Mapping[Path, Path], folder: Path, summary: str
) -> None:
    """Write the page that lists what is red in a suite, whether it has a folder or not.

    It says `summary` of all files, as the suite does. Raises BadInput.
    """
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
