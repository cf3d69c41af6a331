"""What `--failures DIR` of several commands does: a folder for each failure (`sim.failures`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from sim.cli.output import tell

if TYPE_CHECKING:
    from sim.suite.result import CaseResult

FOLDERS_MAX = 50
"""Of a suite or a sweep with more failures, no more are written; the last line says so."""


def save_file(
    file: Path,
    folder: Path,
    *,
    seed: int | None = None,
    rules: Mapping[str, str] | None = None,
    about: str | None = None,
) -> Path:
    """The folder, below `folder`, of the failure that a scenario file is. Raises BadInput.

    `about` is the invariant that it is about; None = the first one violated.
    """
    from sim.api.runs import run

    return run(file, seed=seed, **(rules or {})).save(folder, about)


def save_row(sweep: Path, run_id: int, folder: Path) -> Path:
    """The folder, below `folder`, of a run of a sweep that violates something. Raises BadInput."""
    from sim.api.sweeps import open_sweep

    return open_sweep(sweep).run(run_id).save(folder)


def save_results(results: Iterable[CaseResult], folder: Path) -> Iterator[tuple[Path, Path]]:
    """Write the folders of a suite's failures, of scenarios and stories that ran to an end.

    Each file with its folder, as it is written, about what nobody expected. Raises BadInput.
    """
    from sim.suite.result import BAD_INPUT, ERROR

    failed = (
        result
        for result in results
        if not (result.expectation_met or result.is_log or result.verdict in (BAD_INPUT, ERROR))
    )
    for result in islice(failed, FOLDERS_MAX):
        about = next((violation.invariant for violation in result.unexpected), None)
        yield result.path, save_file(result.path, folder, about=about)


def save_causes(sweep: Path, folder: Path) -> list[Path]:
    """The folders of a sweep's failures: for each cause that of the run with the fewest events."""
    from sim.api.sweeps import open_sweep

    failures = open_sweep(sweep).failures().one_per_cause()
    return [run.save(folder) for run in islice(failures, FOLDERS_MAX)]


def tell_saved(folders: list[Path], *, file: TextIO) -> None:
    """A line for each folder."""
    for folder in folders:
        tell(f"failure: {folder}", file)
    if len(folders) == FOLDERS_MAX:
        print(f"no more than {FOLDERS_MAX} failures get a folder", file=file)
