"""What `--failures DIR` of several commands does: a folder for each failure (`sim.failures`)."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TextIO

from sim.cli.output import tell

FOLDERS_MAX = 50
"""Of a suite or a sweep with more failures, no more are written; the last line says so."""


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
