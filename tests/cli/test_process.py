"""The command as a process of its own: what it loads, how it is interrupted, whom it prints to."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT, replog
from tests.test_imports import COMMAND, HEAVY, loaded


def test_a_replay_does_not_load_what_runs_sweeps(swept: Path) -> None:
    modules = loaded(COMMAND, "run", swept, "3")

    assert "sim.study.sweep.table" in modules
    others = HEAVY - {"pandas", "pyarrow", "numpy"} | {"rich", "sim.study.sweep.runner"}
    assert modules & others == set()


@pytest.mark.parametrize(("jobs", "sent"), [("1", signal.SIGTERM), ("2", signal.SIGINT)])
def test_an_interrupt_keeps_what_is_finished_and_is_exit_status_130(
    tmp_path: Path, jobs: str, sent: signal.Signals
) -> None:
    endless = "format: replog-scenario/1\nduration_ms: 2000000000\nlimits: {max_events: 2000000000}"
    (tmp_path / "x.yaml").write_text("format: replog-scenario/1\nduration_ms: 300\n")
    (tmp_path / "y.yaml").write_text(endless)
    process = subprocess.Popen(
        [sys.executable, "-m", "sim", "suite", ".", "--junit", "junit.xml", "-j", jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("ok   x.yaml")
        process.send_signal(sent)
        told = process.stdout.read()
        rest = process.stderr.read()

    assert rest == "replog: interrupted\n"
    assert told.startswith("not run: 1 scenario file not reached\n1 as expected, 0 not; ")
    assert process.returncode == 130
    assert 'tests="1" failures="0"' in (tmp_path / "junit.xml").read_text()


def test_results_go_to_stdout_and_are_plain_text_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    ended = replog("list", "rules")

    assert ended.err == ""
    assert "\x1b" not in ended.out
    assert max(map(len, ended.out.splitlines())) > 100
