"""`replog shrink` of runs in simulated time: scenario files, and rows of sweeps."""

from pathlib import Path

from sim.sweeps.folder import write_plan
from sim.sweeps.plan import load_plan, number_runs
from sim.sweeps.storage import LocalFolder
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


def test_a_scenario_goes_on_from_where_it_was_cut_short(here: Path) -> None:
    cut = replog("shrink", OLD_CLIENT, "-o", "out.yaml", "--within", "0.1")
    assert "it goes on from here" in cut.out
    assert (here / "out.yaml").read_text().startswith("# unfinished shrink of ")
    assert replog("run", "out.yaml").status == 0

    replog("shrink", OLD_CLIENT, "-o", "out.yaml")
    replog("shrink", OLD_CLIENT, "-o", "whole.yaml")

    assert (here / "out.yaml").read_text() == (here / "whole.yaml").read_text()


def test_a_run_of_a_sweep_is_shrunk_by_its_number(here: Path) -> None:
    (here / "plan.yaml").write_text(PLAN)
    write_plan(LocalFolder(here / "swept"), number_runs(load_plan(here / "plan.yaml")))

    answer = replog("shrink", "swept", 0, "-o", "out.yaml")

    assert answer.status == 0
    assert " steps of 298 events, " in answer.out
    assert "as a story, made of the run" in answer.out
    assert replog("run", "out.yaml").status == 0
