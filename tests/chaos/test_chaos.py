"""What `make chaos` judges sweeps by: it tells tables apart, damages files, finds processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.chaos.damage import WAYS, damaged
from tests.chaos.faults import A_ROUND, FAULTS, dealt
from tests.chaos.report import section
from tests.chaos.rounds import Round
from tests.chaos.running import MARK, Running
from tests.chaos.sites import ENGINES
from tests.chaos.tables import Tables, differences

TABLES = Tables([{"run_id": 0, "verdict": "holds"}], [], ({"runs": 1}, "fix,runs\nnone,1\n"))


@pytest.mark.parametrize(
    "other",
    [
        TABLES._replace(runs=[]),
        TABLES._replace(runs=[{"run_id": 0, "verdict": "violated"}]),
        TABLES._replace(violations=[{"run_id": 0}]),
        TABLES._replace(sums=({"runs": 1}, "fix,runs\nnone,2\n")),
    ],
)
def test_tables_that_differ_in_a_row_or_a_sum_are_told_apart(other: Tables) -> None:
    assert differences(TABLES, TABLES) == []
    assert len(differences(TABLES, other)) == 1


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_damaged_folder_is_another_folder(tmp_path: Path, way: str) -> None:
    for number in range(2):
        wave = tmp_path / f"runs/wave=0000{number}"
        wave.mkdir(parents=True)
        (wave / "part-0.parquet").write_bytes(bytes(range(number, 50)))
    path = tmp_path / "runs/wave=00000/part-0.parquet"
    before = _content(tmp_path)

    assert WAYS[way](path, Random(1))

    assert _content(tmp_path) != before


def test_a_folder_without_a_sweep_cannot_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")

    assert damaged(tmp_path, Random(1)) is None


def test_every_process_of_a_command_is_found_and_none_of_others(tmp_path: Path) -> None:
    command = Running(["--version"], tmp_path / "log")
    mine = f"{MARK}={command._mark}"
    child = [sys.executable, "-c", "import time; time.sleep(60)"]
    with (
        subprocess.Popen(child, env=dict([mine.split("=")])) as one,
        subprocess.Popen(child) as two,
    ):
        try:
            assert command.wait(60) == 0
            assert command.others() == [one.pid]
            command.kill_all()
            assert one.wait(10) == -signal.SIGKILL
            os.kill(two.pid, 0)
        finally:
            two.kill()
    assert command.strays() == []


def test_a_command_says_what_replog_says_and_keeps_its_environment(tmp_path: Path) -> None:
    first = Running(["sweep", "check"], tmp_path / "one", os.environ | {"ONE": "1"})
    second = first.again(tmp_path / "two")

    assert (first.wait(60), second.wait(60)) == (2, 2)
    assert first.err.startswith("replog: ")
    assert second.words == ["sweep", "check", "--resume"]
    assert second._environment["ONE"] == "1"


def test_every_fault_has_a_name_of_its_own_and_an_end_that_is_not_silent() -> None:
    names = [(fault.name, engine) for fault in FAULTS for engine in fault.engines]

    assert len(names) == len(set(names))
    assert {engine for _, engine in names} == set(ENGINES)
    assert all(fault.says for fault in FAULTS if 2 in fault.ends)


@pytest.mark.parametrize("engine", ENGINES)
def test_rounds_go_through_all_faults_before_one_comes_again(engine: str) -> None:
    faults = [fault for fault in FAULTS if engine in fault.engines]
    names = [
        fault.name for number in range(len(faults)) for fault in dealt(faults, 5, engine, number)
    ]

    every = sorted(fault.name for fault in faults)
    turns = [names[at : at + len(faults)] for at in range(0, len(names), len(faults))]
    assert len(turns) == A_ROUND
    assert all(sorted(turn) == every for turn in turns)
    assert turns[0] != turns[1]


def test_a_round_can_be_dealt_again_without_those_before_it() -> None:
    one = dealt(FAULTS, 5, "spark", 4)

    assert one == dealt(FAULTS, 5, "spark", 4)
    assert one != dealt(FAULTS, 6, "spark", 4)


def test_the_section_says_what_was_survived_and_found() -> None:
    total = Round(rounds=7, compared=9, rows=1_234, findings=["one"])
    total.survived["driver killed", "spark"] = 3

    text = section(total, minutes=10, seed=5, seconds={"process": 4.0, "spark": 9.0})

    figures = "7 rounds, 3 faults, 9 sweeps of 1,234 rows compared, 1 findings."
    assert f"seed 5, 10 minutes: {figures}" in text
    assert "4 s (process), 9 s (spark)" in text
    assert "| driver killed | 0 | 3 |" in text
    assert "| worker killed | 0 |  |" in text
    assert "Spark master" not in text


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
