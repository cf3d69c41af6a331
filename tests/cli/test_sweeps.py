"""`replog sweep`, `replog run DIR RUN_ID`, `replog report`: no Java is needed."""

import json
import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from sim.check import Violation
from sim.errors import BadInput
from sim.files import shipped
from sim.simulate.run import run_of
from sim.study.sweep import runner
from sim.study.sweep.spark import find_java
from tests.cli.conftest import PLAN
from tests.commands import replog


def test_without_pyspark_a_sweep_runs_on_processes_and_who_asks_for_spark_is_told_what_to_install(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "plan.yaml").write_text(PLAN)
    for module in (runner, shipped):
        monkeypatch.setattr(
            module, "find_spec", lambda name: None if name == "pyspark" else find_spec(name)
        )
    sweep = ("sweep", "plan.yaml", "--count", 1, "--out", "o")

    for asked in (["--engine", "spark"], ["--master", "local[1]"]):
        refused = replog(*sweep, *asked)
        assert refused.status == 2
        assert refused.complaint.startswith("sweeps on Spark need pyspark: pip install ")
        assert [path.name for path in here.iterdir()] == ["plan.yaml"]
    swept = replog(*sweep)
    assert swept.status == 0
    assert swept.err.splitlines()[0].startswith(
        "replog: simulating on processes: PySpark is not installed; it comes with pip install "
    )
    assert sum("PySpark" in line for line in swept.err.splitlines()) == 1
    assert "2 runs of 1 seed" in swept.out


def test_without_java_it_runs_on_processes_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "plan.yaml").write_text(PLAN)
    monkeypatch.setenv("JAVA_HOME", str(here))

    swept = replog("sweep", "plan.yaml", "--count", 1, "--out", "o")

    assert swept.status == 0
    assert f"simulating on processes: JAVA_HOME is {here}, which has no bin/java" in swept.err
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(here))
    with pytest.raises(BadInput, match=r"no Java found in .* PATH; .*openjdk-17-jre-headless"):
        find_java()


def test_a_plan_alone_is_enough_to_run_one_of_its_runs(swept: Path, here: Path) -> None:
    (here / "alone").mkdir()
    shutil.copy(swept / "plan.json", here / "alone")

    answer = replog("run", "alone", 1)

    assert answer.status == 0
    told = replog("run", swept, 1).out.splitlines()
    assert answer.out.splitlines()[:-1] == told[:-1]
    assert answer.out.rstrip().endswith("not compared: no table of runs here")
    assert replog("run", "alone", 1, "--json").document["digest_reproduced"] is None


def test_a_replay_can_explain_the_first_violation(
    swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    violation = Violation("no-offset-reuse", 10_000, None, 3, None, "Offset 3 again.")
    monkeypatch.setattr(
        "sim.api.runs.run_of", lambda content: replace(run_of(content), violations=(violation,))
    )

    answer = replog("run", swept, 0, "--explain")

    assert "why no-offset-reuse was violated (times in ms, newest first):" in answer.out
    assert "leads epoch 1 from 0" in answer.out
    (found,) = replog("run", swept, 0, "--json").document["violations"]
    assert 0 < found["since"] <= found["at_ms"]


def test_a_replay_that_is_cut_off_says_why_its_digest_is_not_compared(
    swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sim.api.runs.run_of", lambda content: replace(run_of(content), cut_off=True)
    )

    answer = replog("run", swept, 0)

    assert answer.status == 3
    assert answer.out.endswith("; digest not compared: this run was cut off\n")


def test_a_report_prints_the_grid_the_verdict_and_where_the_page_is(
    swept: Path, here: Path
) -> None:
    shutil.copytree(swept, here / "o")

    answer = replog("report", "o")

    lines = answer.out.splitlines()
    assert answer.status == 0
    assert any("empty_batch" in line for line in lines)
    assert any(line.startswith('Nothing in the grid distinguishes "none"') for line in lines)
    assert lines[-1] == "report: o/report.html"
    assert {"report.html", "report.md", "report.json"} <= {p.name for p in Path("o").iterdir()}
    as_json = replog("report", "o", "--json").document
    assert as_json == json.loads((here / "o/report.json").read_text())
