"""What `make chaos` judges sweeps by: it tells tables apart, and finds every process."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.rounds import FAULTS
from tests.chaos.sweeping import ENGINES, Running
from tests.chaos.tables import Tables, differences
from tests.sweeps.spark_cluster import kill

TABLES = Tables([{"run_id": 0, "verdict": "holds"}], {"seed": 1})


@pytest.mark.parametrize(
    "other",
    [
        TABLES._replace(runs=[{"run_id": 0, "verdict": "violated"}]),
        TABLES._replace(plan={"seed": 2}),
    ],
)
def test_tables_that_differ_in_a_row_or_their_plan_are_told_apart(other: Tables) -> None:
    assert differences(TABLES, TABLES) == []
    assert len(differences(TABLES, other)) == 1


def test_every_process_of_a_command_is_found_and_none_of_others(tmp_path: Path) -> None:
    command = Running(["--version"], tmp_path / "log")
    child = [sys.executable, "-c", "import time; time.sleep(60)"]
    with (
        subprocess.Popen(child, env=dict([command._mark.split("=")])) as one,
        subprocess.Popen(child) as two,
    ):
        try:
            assert (command.wait(), command.said("out")[:7]) == (0, "replog ")
            assert command.others() == [one.pid]
            command.kill_all()
            assert (one.wait(10), two.poll()) == (-9, None)
        finally:
            kill(two.pid)


def test_every_engine_has_faults_of_its_own_names() -> None:
    names = [(fault.name, engine) for fault in FAULTS for engine in fault.engines]

    assert len(names) == len(set(names))
    assert {engine for _, engine in names} == set(ENGINES)
