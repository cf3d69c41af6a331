"""Environments: the same draws with and without scripted hunts, counted each for itself."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from sim.check.families import READERS
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.study.report import read_folder
from sim.study.report.costs import costs_of
from sim.study.sweep.environments import environments_of
from sim.study.sweep.plan import load_plan, number_runs
from sim.study.sweep.runner import run_sweep
from sim.study.sweep.statistics import COLUMNS, Facts, facts_of, tallies
from sim.study.sweep.table import open_table
from sim.study.sweep.tables import load_sweep, load_violations
from tests.sweeps.fakes import TWO_ENVIRONMENTS, plan, quick, simulating_here

ROOT = Path(__file__).resolve().parents[2]
PLANS = sorted((ROOT / "scenarios/sweeps").glob("*.yaml"))
BOTH = number_runs(plan(**TWO_ENVIRONMENTS), count=121)


def test_without_any_there_is_one_named_after_whether_it_hunts() -> None:
    assert [one.name for one in number_runs(plan()).environments] == ["hunted"]
    quiet = plan(generate={"mix": "reference", "tail_hunts": 0.0})
    assert [one.name for one in number_runs(quiet).environments] == ["plain"]


def test_cases_take_turns_and_a_draw_has_one_seed_in_all_environments() -> None:
    assert [BOTH.environment_of(case).name for case in range(4)] == ["plain", "hunted"] * 2
    assert (BOTH.cases_in(0), BOTH.cases_in(1)) == (61, 60)
    assert BOTH.case_seed(6) == BOTH.case_seed(7) != BOTH.case_seed(8)
    assert BOTH.case_seed(6) == number_runs(plan()).case_seed(3)  # as without environments


def test_the_hunted_case_is_the_plain_one_with_a_hunt() -> None:
    hunts = 0
    for draw in range(30):
        plain, hunted = (
            generate(BOTH.case_seed(2 * draw), environment.mix) for environment in BOTH.environments
        )
        more = list(hunted.faults)
        for fault in plain.faults:
            more.remove(fault)
        assert len(more) <= 3
        hunts += bool(more)
        assert hunted.workload == plain.workload
        assert (hunted.network, hunted.topic) == (plain.network, plain.topic)
    assert 10 < hunts < 30


@pytest.mark.parametrize(
    ("environments", "told"),
    [
        ({"a": {"tail_hunt": 0.0}}, "tail_hunt"),
        ({"a": {"mix": "storm"}}, "belongs into generate"),
        ({"a": {}, "b": {"mix_": 1}}, "mix_"),
        ({"a": {}, "b": {}}, "a and b are the same"),
    ],
)
def test_a_wrong_environment_is_told(environments: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        plan(environments=environments)


def test_the_weights_of_an_environment_lie_over_those_of_the_plan() -> None:
    mix = Mix.model_validate({"mix": "storm", "weights": {"crash": 9.0}})

    (found,) = environments_of(mix, {"a": {"weights": {"wipe": 3.0}}})

    assert (found.mix.weights.crash, found.mix.weights.wipe) == (9.0, 3.0)
    assert found.mix.weights.unclean_migrate == mix.weights.unclean_migrate


def test_no_two_plans_share_a_seed() -> None:
    seeds = [load_plan(path).seed for path in PLANS]

    assert len(set(seeds)) == len(seeds)


def test_the_table_of_seeds_is_that_of_the_plans() -> None:
    table = (ROOT / "reports/README.md").read_text()

    for path in PLANS:
        plan = load_plan(path)
        cases = f"{plan.count:,} × {len(plan.rule_sets)}"
        names = ", ".join(one.name for one in number_runs(plan).environments)
        row = f"| `{path.stem}` | {plan.seed} | {cases} | {names} |"
        assert row in table


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("environments") / "out"
    with simulating_here():
        run_sweep(BOTH.plan, out=out, count=BOTH.count, engine="process", open_case=quick)
    return out


def test_each_environment_is_counted_for_itself_and_all_together(swept: Path) -> None:
    runs, found = load_sweep(swept), load_violations(swept).merge(load_sweep(swept), on="run_id")
    tallies = json.loads((swept / "tallies.json").read_text())

    assert [(one["name"], one["cases"]) for one in tallies["environments"]] == [
        ("plain", 61),
        ("hunted", 60),
    ]
    judged = found[found.verdict.isin(["holds", "violated"])]
    assert READERS in set(found[found.verdict == "inconclusive"].family)  # seen, and not judged
    for table, own in [
        (tallies, lambda frame: frame),
        *(
            (one, lambda frame, name=one["name"]: frame[frame.environment == name])
            for one in tallies["environments"]
        ),
    ]:
        for index, entry in enumerate(table["rule_sets"]):
            rows, seen = own(runs)[own(runs).rule_set == index], own(judged)
            seen = seen[(seen.rule_set == index) & (seen.family == READERS)]
            assert entry["runs"] == len(rows)
            assert counted(entry, "verdict")["holds"] == (rows.verdict == "holds").sum()
            assert counted(entry, "family").get(READERS, 0) == seen.run_id.nunique()
            assert counted(entry, "about").get("any", 0) == seen.run_id.nunique()
            assert counted(entry, "hunted").get("hunted", 0) == rows.hunted.sum()
            assert entry["totals"]["outages"] == rows.outages.sum()
    plain, hunted = tallies["environments"]
    digests = runs.assign(seed_number=runs.case_id // 2).pivot(
        index=["seed_number", "rule_set"], columns="environment", values="digest"
    )
    for index, entry in enumerate(hunted["rule_sets"]):
        twins = digests.xs(index, level="rule_set").dropna()
        assert entry["twins"] == len(twins) > 0  # the last seed is in plain alone
        assert entry["changed"] == (twins.plain != twins.hunted).sum()
    assert plain["rule_sets"][0]["twins"] == plain["rule_sets"][0]["changed"] == 0
    assert not counted(plain["rule_sets"][0], "hunted")
    assert counted(hunted["rule_sets"][0], "hunted")["hunted"] > 10


@pytest.mark.parametrize("first_of_second", [1, 60])
def test_a_seed_whose_cases_are_in_two_blocks_is_compared_as_well(
    swept: Path, first_of_second: int
) -> None:
    sweep = number_runs(BOTH.plan, count=BOTH.count)
    rows = pa.Table.from_batches(open_table(swept).batches(COLUMNS))
    end = first_of_second * len(sweep.rule_sets)
    parts = [facts_of(sweep, part.to_batches()) for part in (rows.slice(end), rows.slice(0, end))]
    found = Facts()
    for part in parts:
        found.add(part)

    whole = json.loads((swept / "tallies.json").read_text())
    assert tallies(sweep, found)["environments"] == whole["environments"]


def test_pairs_are_compared_within_an_environment_by_family_too(swept: Path) -> None:
    tallies = json.loads((swept / "tallies.json").read_text())

    for table in (tallies, *tallies["environments"]):
        for pair in table["pairs"]:
            assert sum(pair["verdicts"].values()) == table.get("cases")
            assert pair["families"].get(READERS) in (None, pair["about"])
    none_and_retained = tallies["pairs"][0]["families"][READERS]
    parts = [one["pairs"][0]["families"].get(READERS, {}) for one in tallies["environments"]]
    assert none_and_retained == {
        name: sum(part.get(name, 0) for part in parts) for name in none_and_retained
    }
    runs, found = load_sweep(swept), load_violations(swept)
    hit = set(found[found.family == READERS].run_id)
    judged = runs[runs.verdict.isin(["holds", "violated"])]
    cases = {place: set(judged[judged.rule_set == place].case_id) for place in (0, 1)}
    violated = {
        place: {case for case in cases[place] if 3 * case + place in hit} for place in cases
    }
    assert none_and_retained["both"] == len(violated[0] & violated[1])
    assert none_and_retained["only_left"] == len((violated[0] & cases[1]) - violated[1]) > 0


def counted(entry: Mapping[str, Any], measure: str) -> dict[str, int]:
    return {name: seen["runs"] for name, seen in entry["counts"][measure].items()}


def test_costs_of_an_environment_are_those_of_its_own_cases(swept: Path) -> None:
    runs = load_sweep(swept)

    for folder in read_folder(swept).environments:
        own = runs[(runs.environment == folder.environment) & (runs.rule_set == 1)]
        (retained,) = (one for one in costs_of(folder) if one.counter == "bytes_retained")
        assert retained.rule_sets[1].runs == own.bytes_retained.count()
        assert retained.rule_sets[1].mean == pytest.approx(own.bytes_retained.mean())
