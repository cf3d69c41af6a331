"""One writer at a time, whoever comes first; the lock ends with its owner."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from sim.errors import BadInput
from sim.study.sweep.folder import locked
from sim.study.sweep.runner import run_sweep
from tests.commands import ROOT
from tests.sweeps.fakes import plan, quick, simulating_here

HOLDER = """
import sys, time
from pathlib import Path
from sim.study.sweep.folder import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def sweep(out: Path) -> None:
    with simulating_here():
        run_sweep(plan(), out=out, count=3, engine="process", open_case=quick)


def test_a_lock_names_its_owner_and_ends_with_it_however_that_ends(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BadInput, match="another sweep is writing here") as refused:
            sweep(tmp_path)
        holder.kill()
    assert f"(process {holder.pid} on " in str(refused.value)
    assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    with locked(tmp_path):
        assert (tmp_path / ".lock").read_text().startswith(f"process {os.getpid()} on ")


def test_a_sweep_that_somebody_made_since_it_looked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def late(out: Path) -> Iterator[None]:
        monkeypatch.undo()
        sweep(out)
        with locked(out):
            yield

    monkeypatch.setattr("sim.study.sweep.runner.locked", late)
    with pytest.raises(BadInput, match="holds this sweep already"):
        sweep(tmp_path / "out")


def test_a_lock_that_its_holder_has_just_removed_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def after_the_end(file: IO[Any], how: int) -> None:
        Path(file.name).unlink()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", after_the_end)
    with pytest.raises(BadInput, match="another sweep has just ended here"):
        sweep(tmp_path)
