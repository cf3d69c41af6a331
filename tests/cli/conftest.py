"""The command in this process: what it prints and how it ends.

Sweeps "by processes" simulate in this one, too: to start Python twice takes longer than the few
runs of such a test. test_process.py and tests/sweeps try real processes.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sim.cli import main
from tests.sweeps.fakes import simulating_here

PLAN = """\
format: replog-sweep/1
title: two fixes
source: a test
count: 6
seed: 3
generate: {mix: quiet, duration_ms: 3000}
rules: {preset: kip-280}
rule_sets:
  - {fix: none}
  - {fix: empty_batch}
"""


@dataclass(frozen=True)
class Answer:
    """What the command said."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What it printed with --json."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line it complained in; it printed nothing else, and no traceback."""
        assert self.out == ""
        assert "Traceback" not in self.err
        (line,) = self.err.splitlines()
        assert line.startswith("replog: ")
        return line.removeprefix("replog: ")


Replog = Callable[..., Answer]


@pytest.fixture(autouse=True)
def _in_this_process() -> Iterator[None]:
    with simulating_here():
        yield


@pytest.fixture
def replog(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Replog:
    """Runs the command with these arguments."""

    def call(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["replog", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(ended.value.code, printed.out, printed.err)

    return call


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small sweep of twelve runs. Only to be read."""
    from sim.sweeps.plan import load_plan
    from sim.sweeps.runner import run_sweep

    folder = tmp_path_factory.mktemp("swept")
    plan = folder / "plan.yaml"
    plan.write_text(PLAN)
    with simulating_here():
        run_sweep(load_plan(plan), out=folder / "out", engine="process")
    return folder / "out"
