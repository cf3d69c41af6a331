"""Folders of this machine, by their paths."""

from pathlib import Path

from sim.sweeps import folder
from sim.sweeps.plan import Sweep
from sim.sweeps.storage import LocalFolder


def check_folder(out: Path, sweep: Sweep, *, resume: bool) -> None:
    folder.check_folder(LocalFolder(out), sweep, resume=resume)


def prepare_folder(out: Path, sweep: Sweep) -> None:
    folder.prepare_folder(LocalFolder(out), sweep)
