"""Sweeps with a strategy of a user: workers know it, and all that is said afterwards names it."""

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sim
from tests.plugins.plugged import (
    EXAMPLE,
    PLAN,
    folder,
    forgetting_plugins,
    replog,
    with_plugins,
)
from tests.sweeps.conftest import spark
from tests.sweeps.fakes import plan_text

__all__ = ["folder", "spark"]

PLUGIN = ("--plugin", "longest")
NAMED = plan_text(**PLAN, plugins=["longest"])
SWEEP = ("sweep", "plan.yaml", "--out", "out")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with plugins and, in `out`, a sweep by processes; what it printed is in `said`.

    Its plan names the plugin, too.
    """
    made = with_plugins(tmp_path_factory.mktemp("swept"))
    (made / "plan.yaml").write_text(NAMED)
    ran = replog(made, *SWEEP, "--engine", "process", *PLUGIN)
    assert ran.status == 0, ran.err
    (made / "said").write_text(ran.out)
    return made


def assert_no_run_failed(out: Path) -> None:
    runs = pq.read_table(out / "runs", partitioning=None)
    assert sorted(runs["strategy"].to_pylist()) == ["longest", "longest", "offset", "offset"]
    assert "error" not in runs["verdict"].to_pylist()


def test_worker_processes_know_the_plugins_and_so_does_who_runs_again_with_them(
    swept: Path,
) -> None:
    assert_no_run_failed(swept / "out")
    assert replog(swept, "run", "out", 1, *PLUGIN).status == 0


@pytest.mark.spark
def test_workers_of_spark_know_the_plugins(folder: Path, spark: object) -> None:
    ran = replog(folder, *SWEEP, "--engine", "spark", *PLUGIN)

    assert ran.status == 0, ran.err
    assert_no_run_failed(folder / "out")


NOT_IMPORTED = (
    "plugin longest: not imported because a file names it; if you trust it, give --plugin longest "
    "(in Python: plugins=['longest'])\n"
)
READERS = [
    *("run out 1", "causes out", "shrink out 1", "explain out 1", "draw out 1 -o s.svg"),
    *("report out", "sweep plan.yaml --out out --resume", "sweep named.yaml --out new"),
    "sweep matrix.yaml --out new",
]


@pytest.fixture
def foreign(swept: Path, tmp_path: Path) -> Path:
    """The same folder as it comes from somebody else: its plugin says so when it is imported."""
    shutil.copytree(swept / "out", tmp_path / "out")
    (tmp_path / "longest.py").write_text(f"open('imported', 'w').close()\n{EXAMPLE}")
    (tmp_path / "plan.yaml").write_text(plan_text(**PLAN).replace("longest", "header"))
    (tmp_path / "named.yaml").write_text(NAMED)
    matrix = {"matrix": {"strategy": ["offset", "longest"]}, "rule_sets": [{}]}
    (tmp_path / "matrix.yaml").write_text(plan_text(**PLAN | matrix, plugins=["longest"]))
    return tmp_path


def test_a_file_that_names_a_plugin_has_nothing_imported(foreign: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in foreign.rglob("*")}
    for command in READERS:
        ran = replog(foreign, *command.split())

        assert (ran.status, ran.out) == (2, ""), command
        if "--resume" not in command:  # which compares the plans first
            assert ran.err.splitlines(keepends=True)[0].endswith(NOT_IMPORTED)
        assert "out: made with a plugin: " in ran.err or "yaml" in command
    assert {path: path.stat().st_mtime_ns for path in foreign.rglob("*")} == before


def test_a_folder_that_hides_its_plugin_in_the_plan_has_nothing_imported(foreign: Path) -> None:
    plan = json.loads((foreign / "out/plan.json").read_text())
    plan["plan"]["plugins"], plan["plugins"] = plan["plugins"], []
    (foreign / "out/plan.json").write_text(json.dumps(plan))
    ran = replog(foreign, "run", "out", 1)

    assert (ran.status, ran.out) == (2, "")
    assert not (foreign / "imported").exists()


def test_notebooks_import_nothing_either(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(foreign)
    with pytest.raises(sim.BadInput, match="not imported because a file names it"):
        sim.open_sweep("out")
    with pytest.raises(sim.BadInput, match="not imported because a file names it"):
        sim.sweep("named.yaml")
    assert not (foreign / "imported").exists()
    monkeypatch.syspath_prepend(foreign)
    with forgetting_plugins():
        assert len(sim.open_sweep("out", plugins=["longest"]).rule_sets) == 2
    assert (foreign / "imported").exists()


@pytest.mark.parametrize(
    ("trusted", "status"), [("longest", 0), ("a, longest", 0), ("*", 0), ("long", 2), ("", 2)]
)
def test_a_variable_of_the_user_says_whom_to_trust(
    foreign: Path, monkeypatch: pytest.MonkeyPatch, trusted: str, status: int
) -> None:
    monkeypatch.setenv("REPLOG_TRUSTED_PLUGINS", trusted)

    assert replog(foreign, "run", "out", 1).status == status
    assert (foreign / "imported").exists() is (status == 0)


def test_a_sweep_and_its_report_name_the_plugin_in_every_command(swept: Path) -> None:
    assert "; next: replog report out --plugin=longest (" in (swept / "said").read_text()

    assert "longest" in replog(swept, "report", "out", *PLUGIN).out
    report = json.loads((swept / "out" / "report.json").read_text())
    found = [one["evidence"] for one in report["verdict"][0]["findings"]]
    again = [one for one in found if one.startswith("replog run")]
    assert report["commands"][0].endswith(" --out out --plugin=longest")
    assert [command for command in again if not command.endswith(" --plugin=longest")] == []
    for page in ("report.html", "report.md"):
        text = (swept / "out" / page).read_text()
        commands = re.findall(r"replog (?:sweep|causes|report) [^`<\n]*", text)
        assert len(commands) >= 2
        assert [one for one in commands if not one.endswith(" --plugin=longest")] == []
