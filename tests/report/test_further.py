"""A further alternative: what a decision lacks of it is searched and run; it gets its column."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.study.report import add_alternative, decision_of, grids_of, read_folder
from sim.study.report.claims import contradictions, verdict_of
from sim.study.report.grid import RUNS, SEARCH, STORY, ReportDecision
from sim.study.sweep.plan import load_plan
from sim.study.sweep.runner import run_sweep

ROOT = Path(__file__).resolve().parents[2]
STORIES = ("finding_01_leo_retention_truncated_tail",)


def test_a_further_fix_is_searched_run_and_put_into_the_grid(tmp_path: Path) -> None:
    plan = load_plan(ROOT / "scenarios/sweeps/demo.yaml")
    run_sweep(plan, out=tmp_path / "swept", count=2, engine="process")
    folder = read_folder(tmp_path / "swept")
    fixes = decision_of(folder.sweep, "fixes")
    small = ReportDecision(fixes.name, fixes.alternatives, ["majority"], STORIES)
    said: list[str] = []

    out = add_alternative(folder, small, "gap_fetch", teller=said.append)

    (grid,) = grids_of(read_folder(out))
    assert grid.alternatives == ["none", "leo_retention", "empty_batch", "gap_fetch"]
    assert said == ["search majority: fix=gap_fetch"]
    assert {one.unit for one in grid.comparisons} == {*grid.units}
    assert [one.kind for one in grid.units] == [SEARCH, RUNS, RUNS, STORY]
    assert contradictions(grid, verdict_of(grid)) == []

    again = add_alternative(folder, small, "gap_fetch", teller=said.append)
    assert (again, len(said)) == (out, 1)  # nothing is searched twice


def test_a_value_that_the_rule_does_not_have_is_refused(tmp_path: Path) -> None:
    plan = load_plan(ROOT / "scenarios/sweeps/demo.yaml")
    run_sweep(plan, out=tmp_path / "swept", count=1, engine="process")
    folder = read_folder(tmp_path / "swept")

    with pytest.raises(BadInput, match="--alternative"):
        add_alternative(folder, decision_of(folder.sweep, None), "gap_fetches")
    several = ReportDecision("", {"a": {"fix": "none", "strategy": "offset"}})
    with pytest.raises(BadInput, match="about fix, strategy, not one rule"):
        add_alternative(folder, several, "gap_fetch")
