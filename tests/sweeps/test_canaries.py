"""Canaries: a sweep plants one and finds it, and says what its clean runs are worth."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sim.errors import BadInput
from sim.sweeps.canaries import (
    CANARIES,
    Share,
    drawn_from,
    found_in,
    shares,
    twins_of,
    with_canary,
    worth,
)
from sim.sweeps.plan import Plan, load_plan, number_runs
from sim.sweeps.runner import run_sweep
from tests.plugins.plugged import replog
from tests.sweeps.fakes import simulating_here

QUIET = """\
format: replog-sweep/1
title: two quiet cases
source: a test
count: 2
seed: 5
generate: {mix: quiet, duration_ms: 2000, sends: [10, 20]}
rules: {preset: kafka-4.0}
rule_sets: [{fix: none}]
"""


@pytest.fixture(autouse=True)
def _in_this_process() -> Iterator[None]:
    with simulating_here():
        yield


def plan_of(path: Path, text: str = QUIET) -> Plan:
    path.write_text(text)
    return load_plan(path)


def test_each_rule_set_gets_a_twin_and_stays_what_it_was(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "plan.yaml", QUIET.replace("[{fix: none}]", "[{fix: none}, {}]"))
    before = number_runs(plan).rule_sets
    after = number_runs(with_canary(plan, "cleaned-before-committed"))

    assert [one.settings for one in after.rule_sets[:2]] == [one.settings for one in before]
    assert twins_of(after, CANARIES["cleaned-before-committed"]) == {0: 2, 1: 3}
    for one, twin in ((0, 2), (1, 3)):
        changed = after.rule_sets[twin].settings.differing_from(after.rule_sets[one].settings)
        assert changed == {"cleaner_bound": "leo"}


def test_a_canary_that_matters_nowhere_is_refused(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "plan.yaml", QUIET.replace("kafka-4.0", "kraft"))

    with pytest.raises(BadInput, match="joined-too-early: changes nothing under the rules"):
        with_canary(plan, "joined-too-early")
    with pytest.raises(BadInput, match=r"no canary .did you mean 'last-abort-only'"):
        with_canary(plan, "last-abort")


def test_a_sweep_finds_the_canary_that_is_easy_to_find(tmp_path: Path) -> None:
    text = QUIET.replace("mix: quiet, duration_ms: 2000, sends: [10, 20]", "mix: reference")
    plan = plan_of(tmp_path / "plan.yaml", text)
    name = "cleaned-before-committed"
    swept = run_sweep(with_canary(plan, name), out=tmp_path / "out", count=20, engine="process")
    found = found_in(swept.sweep, swept.content, name)

    assert found.compared == 20
    assert 0 < found.cases <= 20


def test_a_sweep_that_does_not_find_its_canary_is_not_green(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(QUIET)
    command = ("sweep", "plan.yaml", "--out", "out", "--engine", "process")
    ended = replog(tmp_path, *command, "--canary", "joined-too-early")

    assert ended.status == 1
    assert "not green: canary joined-too-early: not found in 2 cases" in ended.out


def counted(clean: int) -> dict[str, Any]:
    """Statistics of one environment."""
    return {"environments": [{"clean": clean}]}


def test_clean_cases_are_worth_the_chance_to_have_met_a_defect(tmp_path: Path) -> None:
    sweep = number_runs(plan_of(tmp_path / "plan.yaml"))
    known = Share("last-abort-only", drawn_from(sweep, 0), "a plan/plain", 100, 2, 0.01, 0.07)
    (one,) = worth(sweep, counted(50), [known])

    assert (one.canary, one.cases, one.share) == ("last-abort-only", 50, 0.02)
    assert one.probability == pytest.approx(1 - 0.98**50)
    assert one.at_least == pytest.approx(1 - 0.99**50)
    assert "would have been met with probability 63.6% (at least 39.5%)" in str(one)


def test_a_seed_that_is_clean_in_two_environments_counts_once(tmp_path: Path) -> None:
    twice = QUIET + "environments: {plain: {tail_hunts: 0.0}, hunted: {tail_hunts: 1.0}}\n"
    sweep = number_runs(plan_of(tmp_path / "plan.yaml", twice), count=100)
    known = [
        Share("last-abort-only", drawn_from(sweep, number), "a plan", 100, shown, 0.01 * shown, 0.2)
        for number, shown in ((0, 1), (1, 2))
    ]
    content = {"environments": [{"clean": 50}, {"clean": 40}]}
    (one,) = worth(sweep, content, known)

    assert (one.cases, one.share) == (40, 0.02)  # the environment that says more
    assert one.probability == pytest.approx(1 - 0.98**40)


def test_a_case_is_clean_if_all_its_runs_hold(tmp_path: Path) -> None:
    text = QUIET.replace("{fix: none}", "{fix: none}, {tombstone_removal: never}, {}")
    text = text.replace("mix: quiet, duration_ms: 2000, sends: [10, 20]", "mix: reference")
    plan = plan_of(tmp_path / "plan.yaml", text.replace("rules: {", "rules: {truncation: none, "))
    swept = run_sweep(plan, out=tmp_path / "out", count=12, engine="process")
    runs = pq.read_table(tmp_path / "out" / "runs", columns=["case_id", "verdict"]).to_pylist()
    unclean = {one["case_id"] for one in runs if one["verdict"] != "holds"}

    assert 0 < len(unclean) < 12
    assert swept.content["clean"] == 12 - len(unclean)


def test_nothing_is_said_of_what_was_not_measured(tmp_path: Path) -> None:
    sweep = number_runs(plan_of(tmp_path / "plan.yaml"))
    elsewhere = Share("last-abort-only", "0" * 16, "another/plain", 100, 2, 0.01, 0.07)
    never = Share("last-abort-only", drawn_from(sweep, 0), "a plan/plain", 100, 0, 0.0, 0.03)

    assert worth(sweep, counted(50), [elsewhere, never]) == []
    assert worth(sweep, counted(0), [never._replace(shown=1)]) == []


def test_the_measured_shares_are_of_shipped_plans_as_they_are() -> None:
    folder = Path(__file__).parents[2] / "scenarios/sweeps"
    for one in shares():
        plan, _, name = one.environment.partition("/")
        sweep = number_runs(load_plan(folder / f"{plan}.yaml"))
        number = [each.name for each in sweep.environments].index(name)

        assert one.drawn == drawn_from(sweep, number), one.environment
        assert one.canary in CANARIES
