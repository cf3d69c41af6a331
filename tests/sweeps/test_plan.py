"""Plans: what is swept, how runs are numbered, what a wrong plan is told."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from sim.errors import BadInput
from sim.sweeps.plan import load_plan, number_runs
from sim.sweeps.segments import SEED_LIMIT
from tests.sweeps.fakes import plan

PLAN = """\
format: replog-sweep/1
title: a test
source: none
count: 40
seed: 7
generate: {mix: reference}
rules: {preset: kafka-4.0, strategy: header}
rule_sets:
  - {fix: none}
  - {fix: empty_batch}
"""


def test_a_run_number_names_its_case_and_its_rule_set() -> None:
    sweep = number_runs(plan(), count=5)

    places = [sweep.place_of(run_id) for run_id in range(sweep.runs)]

    assert [(case, rule_set.index) for case, rule_set in places] == [
        (case, index) for case in range(5) for index in range(3)
    ]
    assert [sweep.run_id(case, rule_set.index) for case, rule_set in places] == list(range(15))


@pytest.mark.parametrize("run_id", [-1, 15])
def test_a_run_that_does_not_exist_is_bad_input(run_id: int) -> None:
    with pytest.raises(BadInput, match="runs 0 to 14"):
        number_runs(plan(), count=5).place_of(run_id)


def test_a_case_keeps_its_seed_however_many_cases_there_are() -> None:
    small, large = number_runs(plan(), count=3), number_runs(plan(), count=3_000)

    assert [small.case_seed(case) for case in range(3)] == [
        large.case_seed(case) for case in range(3)
    ]
    assert small.case_seed(0) == 5751740483655848561  # a sweep of last year can be made again
    assert all(0 <= large.case_seed(case) < SEED_LIMIT for case in range(3_000))
    assert number_runs(plan(), seed=8).case_seed(0) != small.case_seed(0)


def test_every_rule_that_some_rule_set_names_is_a_column_of_all() -> None:
    swept = plan(rule_sets=[{"fix": "none"}, {"map_range": "dirty"}, {"fencing": False}])

    sweep = number_runs(swept)

    assert sweep.swept == ("fix", "map_range", "fencing")
    assert [rule_set.values for rule_set in sweep.rule_sets] == [
        {"fix": "none", "map_range": "full", "fencing": True},
        {"fix": "none", "map_range": "dirty", "fencing": True},
        {"fix": "none", "map_range": "full", "fencing": False},
    ]
    assert sweep.rule_sets[2].label == "fix=none map_range=full fencing=false"


def test_a_rule_set_lies_over_the_common_rules() -> None:
    sweep = number_runs(plan(rules={"preset": "kafka-4.0", "strategy": "header"}))

    assert [rule_set.rules.cleaner.fix for rule_set in sweep.rule_sets] == [
        "none",
        "leo_retention",
        "empty_batch",
    ]
    assert {rule_set.rules.cleaner.strategy for rule_set in sweep.rule_sets} == {"header"}
    assert [rule_set.label for rule_set in sweep.rule_sets] == [
        "none",
        "leo_retention",
        "empty_batch",
    ]


def test_presets_can_be_swept() -> None:
    sweep = number_runs(plan(rule_sets=[{"preset": "kafka-2.8"}, {"preset": "kraft"}]))

    assert [rule_set.values for rule_set in sweep.rule_sets] == [
        {"preset": "kafka-2.8"},
        {"preset": "kraft"},
    ]
    assert sweep.rule_sets[1].rules.replication.commit == "majority"


def test_two_rule_sets_that_mean_the_same_are_refused() -> None:
    with pytest.raises(ValidationError, match="entries 0 and 1"):
        plan(rule_sets=[{"fix": "none"}, {"strategy": "header"}])


def test_a_plan_can_name_its_rule_sets() -> None:
    sweep = number_runs(plan(labels=["a", "b", "c"]))

    assert [rule_set.label for rule_set in sweep.rule_sets] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"labels": ["a", "b"]}, "2 given for 3 rule sets"),
        ({"notes": ["a", "b"]}, "2 given for 3 rule sets"),
        ({"labels": ["a", "b", "a"]}, "a label is given twice"),
        ({"labels": ["a", "b", ""]}, "at least 1 character"),
    ],
)
def test_each_rule_set_has_a_label_and_a_note_or_none_has(
    wrong: dict[str, list[str]], told: str
) -> None:
    with pytest.raises(ValidationError, match=told):
        plan(**wrong)


def test_an_upgrade_to_the_flag_needs_rules_that_know_it() -> None:
    upgrade = {"mix": "reference", "flag_upgrade": 0.5}
    known = [{"tombstone_mark": "magic"}, {"tombstone_mark": "flag"}]

    assert plan(generate=upgrade, rules={}, rule_sets=known).rule_sets == known
    assert plan(rule_sets=[{"tombstone_mark": "null_value"}])
    with pytest.raises(ValidationError, match=r"entry 1 .* tombstone_mark is null_value; allowed"):
        plan(generate=upgrade, rules={}, rule_sets=[known[0], {"tombstone_mark": "null_value"}])
    with pytest.raises(ValidationError, match=r"entry 0 .*flag_upgrade.* allowed: magic, flag"):
        plan(generate=upgrade)
    with pytest.raises(ValidationError, match=r"entry 0 .*mixed_clients.* allowed: magic, flag"):
        plan(generate={"mix": "reference", "mixed_clients": 0.5})


@pytest.mark.parametrize(("name", "value"), [("count", 0), ("seed", -1), ("seed", 2**63)])
def test_a_count_or_seed_out_of_range_is_bad_input(name: str, value: int) -> None:
    with pytest.raises(BadInput, match=str(value)):
        number_runs(plan(), **{name: value})


def test_a_plan_file_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)

    assert load_plan(path).rule_sets == [{"fix": "none"}, {"fix": "empty_batch"}]


@pytest.mark.parametrize(
    ("wrong", "line", "words"),
    [
        ("fix: empty_batch", 10, ("empty_batches", "empty_batch")),
        ("count: 40", 4, ("many",)),
        ("title:", 2, ("tittle", "title")),
        ("strategy:", 7, ("strategi", "strategy")),
    ],
)
def test_a_wrong_plan_is_told_line_and_field(
    tmp_path: Path, wrong: str, line: int, words: tuple[str, ...]
) -> None:
    replacement = {
        "fix: empty_batch": "fix: empty_batches",
        "count: 40": "count: many",
        "title:": "tittle:",
        "strategy:": "strategi:",
    }[wrong]
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN.replace(wrong, replacement))

    with pytest.raises(BadInput) as caught:
        load_plan(path)

    assert f"plan.yaml:{line}: " in str(caught.value)
    assert all(word in str(caught.value) for word in words)
