"""Environments: the same draws with and without scripted hunts, counted each for itself."""

from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.study.sweep.plan import load_plan, number_runs
from sim.study.sweep.plan_matrix import environments_of
from tests.commands import ROOT
from tests.sweeps.fakes import TWO_ENVIRONMENTS, plan

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
