"""Sweeps with a strategy of a user: workers know it, and all that is said afterwards names it."""

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.plugins.plugged import PLAN, folder, replog, replog_process, with_plugins

__all__ = ["folder"]

PLUGIN = ("--plugin", "longest")
SWEEP = ("sweep", "plan.yaml", "--out", "out")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with plugins and, in `out`, a sweep by processes; what it printed is in `said`."""
    made = with_plugins(tmp_path_factory.mktemp("swept"))
    ran = replog_process(made, *SWEEP, "--engine", "process", *PLUGIN)
    assert ran.returncode == 0, ran.stderr
    (made / "said").write_text(ran.stdout)
    return made


def assert_no_run_failed(out: Path) -> None:
    runs = pq.read_table(out / "runs", partitioning=None)
    assert sorted(runs["strategy"].to_pylist()) == ["longest", "longest", "offset", "offset"]
    assert "error" not in runs["verdict"].to_pylist()


def test_worker_processes_know_the_plugins(swept: Path) -> None:
    assert_no_run_failed(swept / "out")


@pytest.mark.spark
def test_workers_of_spark_know_the_plugins(folder: Path) -> None:
    ran = replog_process(folder, *SWEEP, "--engine", "spark", "--master", "local[2,3]", *PLUGIN)

    assert ran.returncode == 0, ran.stderr
    assert_no_run_failed(folder / "out")


def test_a_sweep_with_a_plugin_is_replayed_with_it_and_not_without(swept: Path) -> None:
    assert replog(swept, "replay", "out", 1, *PLUGIN).returncode == 0
    without = replog(swept, "replay", "out", 1)
    assert (without.returncode, without.stdout) == (2, "")
    assert without.stderr == (
        "replog: out: made with the plugin longest; give it, too: --plugin longest\n"
    )


def test_a_sweep_and_its_report_name_the_plugin_in_every_command(swept: Path) -> None:
    assert (swept / "said").read_text().endswith("next: replog report out --plugin=longest\n")

    assert "longest" in replog(swept, "report", "out", *PLUGIN).stdout
    report = json.loads((swept / "out" / "report.json").read_text())
    again = [
        run["command"]
        for group in report["shortest"]
        for run in (*group["runs"], *group["invariants"])
    ]
    assert report["command"].endswith(" --out out --plugin=longest")
    assert [command for command in again if not command.endswith(" --plugin=longest")] == []
    for page in ("report.html", "report.md"):
        text = (swept / "out" / page).read_text()
        commands = re.findall(r"replog (?:sweep|replay|report) [^`<\n]*", text)
        assert len(commands) >= 2
        assert [one for one in commands if not one.endswith(" --plugin=longest")] == []


def test_a_replay_that_differs_from_its_row_names_the_plugin(swept: Path, folder: Path) -> None:
    shutil.copytree(swept / "out", folder / "out")
    for file in (folder / "out" / "runs").rglob("*.digests"):
        file.write_text(re.sub("[0-9a-f]", "0", file.read_text()))
    ran = replog(folder, "replay", "out", 1, *PLUGIN)

    assert ran.returncode == 1
    assert ran.stdout.endswith("reproduce: replog replay out 1 --plugin=longest\n")


def test_a_plan_may_name_its_plugins_itself(folder: Path) -> None:
    (folder / "plan.yaml").write_text(PLAN.replace("seed: 3", "seed: 3\nplugins: [longest]"))
    swept = replog(folder, "sweep", "plan.yaml", "--out", "out", "--engine", "process", "--json")

    assert (swept.returncode, list(json.loads(swept.stdout)["verdicts"])) == (
        0,
        ["offset", "longest"],
    )
    assert replog(folder, "replay", "out", 1).returncode == 0
    assert "longest" in replog(folder, "report", "out").stdout
