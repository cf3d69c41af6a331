"""One writer at a time, whoever comes first; the lock ends with its owner."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.study.sweep.folder import locked
from sim.study.sweep.table import state_of
from tests.sweeps.conftest import ROOT

ROUNDS = 5
SWEEPER = """
import sys
from pathlib import Path

from sim.errors import BadInput
from sim.study.sweep import runner
from tests.sweeps.fakes import HereEngine, plan, slow

runner.ProcessEngine = HereEngine
for line in sys.stdin:
    try:
        runner.run_sweep(
            plan(), out=Path(line.strip()), count=3, engine="process", open_case=slow
        )
        print("swept", flush=True)
    except BadInput as error:
        print(error, flush=True)
"""
HOLDER = """
import sys, time
from pathlib import Path
from sim.study.sweep.folder import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def python(program: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_of_two_sweeps_at_once_in_one_folder_one_is_refused_and_the_other_whole(
    tmp_path: Path,
) -> None:
    with python(SWEEPER) as one, python(SWEEPER) as other:
        for number in range(ROUNDS):
            out = tmp_path / str(number)
            for sweeper in (one, other):
                assert sweeper.stdin is not None
                print(out, file=sweeper.stdin, flush=True)
            answers = sorted((told(one), told(other)))
            assert answers[1] == "swept"
            refused = ("another sweep is writing here (", "another sweep has", "holds this sweep")
            assert answers[0].startswith(tuple(f"{out}: {why}" for why in refused))
            state = state_of(out, thorough=True)
            assert (state.missing, state.damage) == ([], {})


def test_a_lock_names_its_owner_and_ends_with_it_however_that_ends(tmp_path: Path) -> None:
    with python(HOLDER, tmp_path) as holder:
        assert told(holder) == "held"
        with pytest.raises(BadInput) as refused, locked(tmp_path):
            pass
        holder.kill()
    assert f"(process {holder.pid} on " in str(refused.value)
    assert "\n" not in str(refused.value)
    assert (tmp_path / ".lock").exists()
    with locked(tmp_path):
        assert (tmp_path / ".lock").read_text().startswith(f"process {os.getpid()} on ")
