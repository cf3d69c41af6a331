"""`replog shrink` of runs in simulated time: scenario files, and rows of sweeps."""

from pathlib import Path

from sim.study.sweep.folder import write_plan
from sim.study.sweep.plan import load_plan, number_runs
from tests.commands import replog

SCENARIOS = Path(__file__).parents[2] / "scenarios"
OLD_CLIENT = SCENARIOS / "kip87/timed_unchanged_application.yaml"

PLAN = """
format: replog-sweep/1
title: tombstones that go at once
source: a test
count: 1
seed: 5
generate: {duration_ms: 2500, sends: [20, 60], delete_share: [0.3, 0.4]}
rules: {tombstone_removal: immediate}
rule_sets: [{fix: none}]
"""


def test_a_scenario_that_was_cut_short_is_one_to_go_on_with(here: Path) -> None:
    cut = replog("shrink", OLD_CLIENT, "-o", "out.yaml", "--within", "0.1")

    assert "shrink this result to go on" in cut.out
    assert replog("run", "out.yaml").status == 0
    assert replog("shrink", "out.yaml", "-o", "whole.yaml").status == 0


def test_a_run_of_a_sweep_is_shrunk_by_its_number(here: Path) -> None:
    (here / "plan.yaml").write_text(PLAN)
    (here / "swept").mkdir()
    write_plan(here / "swept", number_runs(load_plan(here / "plan.yaml")))

    answer = replog("shrink", "swept", 0, "-o", "out.yaml")

    assert answer.status == 0
    assert " steps of 298 events, " in answer.out
    assert "as a story, made of the run" in answer.out
    assert replog("run", "out.yaml").status == 0
