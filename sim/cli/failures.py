"""What `--failures DIR` of several commands does: a folder for each failure (`sim.failures`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def save_file(
    file: Path, folder: Path, *, seed: int | None = None, rules: Mapping[str, str] | None = None
) -> Path:
    """The folder, below `folder`, of the failure that a scenario file is. Raises BadInput."""
    from sim.api.runs import run

    return run(file, seed=seed, **(rules or {})).save(folder)


def save_row(sweep: Path, run_id: int, folder: Path) -> Path:
    """The folder, below `folder`, of a run of a sweep that violates something. Raises BadInput."""
    from sim.api.sweeps import open_sweep

    return open_sweep(sweep).run(run_id).save(folder)
