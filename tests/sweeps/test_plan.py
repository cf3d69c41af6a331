"""Plans: what is swept, how runs are numbered, what a matrix means, what a wrong plan is told."""

import json
import re
from pathlib import Path

import pytest
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


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"labels": ["a", "b"]}, "2 given for 3 rule sets"),
        ({"notes": ["a", "b"]}, "2 given for 3 rule sets"),
        ({"labels": ["a", "b", "a"]}, "a label is given twice"),
        ({"labels": ["a", "b", ""]}, "at least 1 character"),
        ({"rule_sets": [{"fix": "none"}, {"strategy": "header"}]}, "entries 0 and 1"),
        ({"about": ["log divergences"]}, "no invariant .* and no family"),
    ],
)
def test_a_plan_that_means_nothing_is_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        plan(**wrong)


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


NINE_MISTAKES = """\
format: replog-sweep/1
titel: What is compared
count: 4
seed: -1
about: [log divergance]
generate: {mix: quite, tail_faults: 0.5}
rules: {preset: kafka-4, map_rang: full}
matrix:
  fix: [none, leo_retension]
  stratgy: [header, offset]
label: "{strateg}: {fix}"
environments: {plain: {}, hunted: {tail_huntz: 0.5}}
"""


def test_a_plan_is_told_all_its_mistakes_at_once_and_what_each_was_meant_to_be(
    tmp_path: Path,
) -> None:
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, head=NINE_MISTAKES)

    told = [line.removeprefix(f"{tmp_path}/plan.yaml:") for line in caught.value.args]
    assert [
        re.sub(r"; (allowed|families): .*| \(replog list .*?\)", "", line) for line in told
    ] == [
        "1: title: missing",
        "1: source: missing",
        "2: titel: unknown field (did you mean 'title'?)",
        "4: seed: -1 is below the smallest allowed, 0",
        "5: about[0]: log divergance: no invariant and no family (did you mean 'log divergence'?)",
        "6: generate.mix: unknown mix \"quite\" (did you mean 'quiet'?)",
        "6: generate.tail_faults: unknown field (did you mean 'tail_hunts'?)",
        "7: rules.preset: unknown preset \"kafka-4\" (did you mean 'kafka-4.1'?)",
        "7: rules.map_rang: unknown rule (did you mean 'map_range'?)",
        "9: matrix.fix[1]: unknown value 'leo_retension' (did you mean 'leo_retention'?)",
        "10: matrix.stratgy: unknown rule (did you mean 'strategy'?)",
        "11: label: {strateg}: no swept rule (did you mean 'strategy'?)",
        "12: environments.hunted.tail_huntz: unknown field (did you mean 'tail_hunts'?)",
    ]


NONE = "matrix: {fix: [none]}"
TWENTY = ", ".join(map(str, range(1, 21)))
MANY = [
    f"  {name}: [{TWENTY}]" for name in ("delete_retention_ms", "min_isr", "index_interval_bytes")
]


@pytest.mark.parametrize(
    ("lines", "line", "told"),
    [
        (["about: [readers]"], 0, "rule_sets: missing"),
        (["rule_sets: [{}]", "tittle: x"], 9, "did you mean 'title'?"),
        (["rule_sets: [{fix: empty_batches}]"], 8, "did you mean 'empty_batch'?"),
        (["rule_sets: [{strategi: x}]"], 8, "did you mean 'strategy'?"),
        (["matrix: {}"], 8, "matrix: no rule in it"),
        (["matrix: [fix]"], 8, "matrix: expected fields"),
        (["matrix:", "  fix: none"], 9, "matrix.fix: expected a list"),
        (["matrix:", "  fix: []"], 9, "matrix.fix: no value"),
        (["matrix:", "  fix: [none, none]"], 9, 'matrix.fix[1]: "none" is given twice'),
        (["matrix:", "  fix: [none]", "  fixx: [none]"], 10, "unknown rule (did you mean 'fix'?)"),
        (["matrix:", "  fix:", "  - none", "  - empty"], 11, "did you mean 'empty_batch'?"),
        ([NONE, "rule_sets: [{}, {fix: none}]"], 9, "rule_sets[1].fix: a rule of the matrix, too"),
        ([NONE, "rule_sets: []"], 9, "rule_sets: empty"),
        ([NONE, "rule_sets: [{strategy: x}]"], 9, "rule_sets[0].strategy: "),
        ([NONE, "label: '{fi}'"], 9, "{fi}: no swept rule (did you mean 'fix'?); allowed: fix"),
        ([NONE, "label: '{fix'"], 9, "label: "),
        ([NONE, "label: a", "labels: [a]"], 9, "labels is given, too"),
        (["rule_sets: [{fix: none}]", "label: a"], 9, "label: only with matrix"),
        (
            ["matrix: {fix: [none, gap_fetch]}", "rule_sets: [{}, {strategy: offset}]"],
            8,
            "matrix: entries 0 and 2 (from 0) are the same rules",
        ),
        (["matrix:", *MANY], 8, "8,000 rule sets; at most 1,000"),
        ([NONE, "plugins: [no_such_plugin]"], 9, "plugins: plugin no_such_plugin"),
    ],
)
def test_what_is_wrong_with_a_plan_is_one_line_with_its_place(
    tmp_path: Path, lines: list[str], line: int, told: str
) -> None:
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, *lines)

    (complaint,) = str(caught.value).splitlines()
    assert f"plan.yaml:{line}: " in complaint or not line
    assert told in complaint
