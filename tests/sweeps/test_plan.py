"""Plans: what is swept, how runs are numbered, what a matrix means, what a wrong plan is told."""

import json
import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from sim.errors import BadInput
from sim.study.sweep.folder import describe
from sim.study.sweep.plan import Plan, load_plan, number_runs
from tests.sweeps.fakes import plan

HEAD = """\
format: replog-sweep/1
title: a test
source: none
count: 4
seed: 7
generate: {mix: reference}
rules: {preset: kafka-4.0}
"""


def loaded(folder: Path, *lines: str, head: str = HEAD) -> Plan:
    """A plan that ends with these lines."""
    path = folder / "plan.yaml"
    path.write_text(head + "\n".join(lines) + "\n")
    return load_plan(path)


def test_a_run_number_names_its_case_and_its_rule_set() -> None:
    sweep = number_runs(plan(), count=5)

    places = [sweep.place_of(run_id) for run_id in range(sweep.runs)]

    assert [(case, rule_set.index) for case, rule_set in places] == [
        (case, index) for case in range(5) for index in range(3)
    ]
    assert [sweep.run_id(case, rule_set.index) for case, rule_set in places] == list(range(15))
    for run_id in (-1, 15):
        with pytest.raises(BadInput, match="runs 0 to 14"):
            sweep.place_of(run_id)


def test_a_case_keeps_its_seed_however_many_cases_there_are() -> None:
    small, large = number_runs(plan(), count=3), number_runs(plan(), count=3_000)

    assert [small.case_seed(case) for case in range(3)] == [
        large.case_seed(case) for case in range(3)
    ]
    assert small.case_seed(0) == 5751740483655848561  # a sweep of last year can be made again
    assert all(0 <= large.case_seed(case) < 2**63 for case in range(3_000))
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
    assert {rule_set.rules.cleaner.strategy for rule_set in sweep.rule_sets} == {"header"}
    assert sweep.rule_sets[2].label == "fix=none map_range=full fencing=false"


def test_clients_of_two_versions_need_rules_that_know_the_flag() -> None:
    mixed = {"mix": "reference", "mixed_clients": 0.5}
    known = [{"tombstone_mark": "magic"}, {"tombstone_mark": "flag"}]

    assert plan(generate=mixed, rules={}, rule_sets=known).rule_sets == known
    assert plan(rule_sets=[{"tombstone_mark": "null_value"}])
    with pytest.raises(ValidationError, match=r"entry 1 .* tombstone_mark is null_value; allowed"):
        plan(generate=mixed, rules={}, rule_sets=[known[0], {"tombstone_mark": "null_value"}])
    with pytest.raises(ValidationError, match=r"entry 0 .*mixed_clients.* allowed: magic, flag"):
        plan(generate=mixed)


def test_a_factorial_is_written_out_with_its_first_rule_changing_fastest(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        "matrix: {preset: [kafka-2.8, kraft], fix: [none, empty_batch], fencing: [true, false]}",
        'label: "{preset} {fix} {fencing}"',
    )
    sweep = number_runs(found)

    assert len(found.rule_sets) == 8
    assert found.rule_sets[:3] == [
        {"preset": "kafka-2.8", "fix": "none", "fencing": True},
        {"preset": "kraft", "fix": "none", "fencing": True},
        {"preset": "kafka-2.8", "fix": "empty_batch", "fencing": True},
    ]
    assert sweep.swept == ("preset", "fix", "fencing")
    assert sweep.rule_sets[1].label == "kraft none true"
    assert sweep.rule_sets[1].rules.replication.commit == "majority"


def test_each_rule_set_meets_the_whole_matrix(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        "rule_sets: [{}, {leo_source: last_record}]",
        "matrix: {fix: [none, empty_batch]}",
    )

    assert found.rule_sets == [
        {"fix": "none"},
        {"fix": "empty_batch"},
        {"fix": "none", "leo_source": "last_record"},
        {"fix": "empty_batch", "leo_source": "last_record"},
    ]


def test_what_a_folder_says_of_a_plan_is_written_out(tmp_path: Path) -> None:
    matrix = loaded(tmp_path, "matrix: {fix: [none, empty_batch]}", 'label: "with {fix}"')
    written = loaded(
        tmp_path,
        "rule_sets: [{fix: none}, {fix: empty_batch}]",
        "labels: [with none, with empty_batch]",
    )

    stored = describe(number_runs(matrix))

    assert stored == describe(number_runs(written))
    assert stored["plan"]["rule_sets"] == [{"fix": "none"}, {"fix": "empty_batch"}]
    assert "matrix" not in stored["plan"]
    assert Plan.model_validate_json(json.dumps(stored["plan"])) == matrix


MISTAKEN = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text("utf-8"))


def test_a_plan_is_told_all_its_mistakes_at_once_and_what_each_was_meant_to_be(
    tmp_path: Path,
) -> None:
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, head=MISTAKEN["plan"])

    told = [line.removeprefix(f"{tmp_path}/plan.yaml:") for line in caught.value.args]
    assert [
        re.sub(r"; (allowed|families): .*| \(replog list .*?\)", "", line) for line in told
    ] == MISTAKEN["told"]
