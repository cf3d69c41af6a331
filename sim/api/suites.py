"""Writes the folders of the failures of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from sim.api.runs import run
from sim.diagnose.failures import Red, log_failure, save_failure, write_index
from sim.study.suite.result import CaseResult, NotRun
from sim.study.suite.scenario_files import from_here


def save_result(result: CaseResult, folder: Path) -> Path | None:
    """Writes the folder of an unexpected result below `folder`; returns its path.

    Returns None for a result that is as expected, or of a run that did not end. Raises BadInput.
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
    """Writes the page that lists the failing files of a suite, with or without a folder.

    `summary` is the suite's line about all files. Raises BadInput.
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
