"""Folders of this machine, by their paths."""

from pathlib import Path

from sim.sweeps import output
from sim.sweeps.plan import Sweep
from sim.sweeps.storage import LocalStorage


def check_folder(out: Path, sweep: Sweep, *, resume: bool) -> None:
    output.check_folder(LocalStorage(out), sweep, resume=resume)


def prepare_folder(out: Path, sweep: Sweep) -> None:
    output.prepare_folder(LocalStorage(out), sweep)
