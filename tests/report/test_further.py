"""A further alternative: what a decision lacks of it is searched and run; it gets its column."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sim.errors import BadInput
from sim.study.explore.plan import SearchPlan
from sim.study.explore.plan import load_plan as load_search_plan
from sim.study.report import add_alternative, decision_of, further, grids_of, read_folder
from sim.study.report.claims import verdict_of
from sim.study.report.grid import RUNS, SEARCH, STORY, ReportDecision
from sim.study.sweep.plan import load_plan
from sim.study.sweep.runner import Silent, run_sweep
from sim.study.sweep.table import SweepFolder
from tests.commands import ROOT
from tests.report.contradicting import contradictions
from tests.sweeps.fakes import simulating_here

DEMO = ROOT / "scenarios/sweeps/demo.yaml"
STORIES = ("finding_01_leo_retention_truncated_tail",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SweepFolder]:
    """A small sweep; whatever is simulated beside it is simulated in this process."""
    out = tmp_path_factory.mktemp("further") / "swept"
    with simulating_here():
        run_sweep(load_plan(DEMO), out=out, count=2, engine="process")
        yield read_folder(out)


def test_a_further_fix_is_searched_run_and_put_into_the_grid(folder: SweepFolder) -> None:
    fixes = decision_of(folder.sweep, "fixes")
    small = ReportDecision(fixes.name, fixes.alternatives, ["majority"], STORIES)
    said: list[str] = []
    done: list[str] = []
    teller: Any = SimpleNamespace(tell=said.append, show=done.append)

    out = add_alternative(folder, small, "gap_fetch", teller=teller)

    (grid,) = grids_of(read_folder(out))
    assert grid.alternatives == ["none", "leo_retention", "empty_batch", "gap_fetch"]
    assert said == ["search majority: fix=gap_fetch"]
    assert done[-1].startswith(f"{folder.sweep.runs * 4 // 3} of ")
    assert {one.unit for one in grid.comparisons} == {*grid.units}
    assert [one.kind for one in grid.units] == [SEARCH, RUNS, RUNS, STORY]
    assert contradictions(grid, verdict_of(grid)) == []

    again = add_alternative(folder, small, "gap_fetch", teller=teller)
    assert (again, len(said)) == (out, 1)  # nothing is searched twice


def test_a_value_that_the_rule_does_not_have_is_refused(folder: SweepFolder) -> None:
    before = {*folder.path.iterdir()}

    with pytest.raises(BadInput, match="--alternative"):
        add_alternative(folder, decision_of(folder.sweep, None), "gap_fetches", teller=Silent())
    several = ReportDecision("", {"a": {"fix": "none", "strategy": "offset"}})
    with pytest.raises(BadInput, match="about fix, strategy, not one rule"):
        add_alternative(folder, several, "gap_fetch", teller=Silent())
    with pytest.raises(BadInput, match="empty_batch: is one already; those of the decision: none,"):
        add_alternative(folder, decision_of(folder.sweep, "fixes"), "empty_batch", teller=Silent())
    fixes = {"none": {"fix": "none"}, "leo_retention": {"fix": "leo_retention"}}
    unknown = ReportDecision("fixes", fixes, ["majorities"])
    with pytest.raises(BadInput, match=r"majorities: no search .*did you mean 'majority'"):
        add_alternative(folder, unknown, "gap_fetch", teller=Silent())
    assert {*folder.path.iterdir()} == before


def test_the_searches_under_a_further_number_are_made_once(
    folder: SweepFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {f"{ms}": {"delete_retention_ms": ms} for ms in (100, 200)}
    said: list[str] = []
    teller: Any = SimpleNamespace(tell=said.append)
    monkeypatch.setattr(further, "run_sweep", lambda *_, out, **__: out.mkdir(exist_ok=True))
    monkeypatch.setattr(further, "load_plan", shallow)

    for _ in range(2):
        add_alternative(folder, ReportDecision("", times, ["majority"]), "0300", teller=teller)

    assert said == ["search majority: delete_retention_ms=300"]


def shallow(path: Path) -> SearchPlan:
    """The plan in a file, for schedules of two moves."""
    return load_search_plan(path).model_copy(update={"depth": 2})
