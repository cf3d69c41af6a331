"""A matrix in a plan: what it expands to, in which order, and what is wrong with one."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.files.yaml_text import parse_yaml
from sim.sweeps.folder import describe
from sim.sweeps.plan import Plan, load_plan, number_runs

ROOT = Path(__file__).resolve().parents[2]
EARLIER = json.loads((ROOT / "tests/data/plans.json").read_text())
"""The rule sets of each plan as they were written out, before plans had matrices."""
HEAD = """\
format: replog-sweep/1
title: a test
source: none
count: 4
seed: 7
generate: {mix: reference}
rules: {preset: kafka-4.0}
"""

Load = Callable[..., Plan]


@pytest.fixture
def plan(tmp_path: Path) -> Load:
    """Loads a plan that ends with these lines."""

    def load(*lines: str) -> Plan:
        path = tmp_path / "plan.yaml"
        path.write_text(HEAD + "\n".join(lines) + "\n")
        return load_plan(path)

    return load


@pytest.mark.parametrize("name", EARLIER)
def test_a_plan_has_the_rule_sets_it_had_when_they_were_written_out(name: str) -> None:
    sweep = number_runs(load_plan(ROOT / "scenarios/sweeps" / name))

    earlier = EARLIER[name]
    assert [one.label for one in sweep.rule_sets] == [one["label"] for one in earlier["rule_sets"]]
    given = [list(one.items()) for one in sweep.plan.rule_sets]
    assert given == [list(one["rules"].items()) for one in earlier["rule_sets"]]
    assert list(sweep.swept) == earlier["swept"]


def test_every_plan_of_the_repository_is_compared_with_what_it_was() -> None:
    assert {path.name for path in (ROOT / "scenarios/sweeps").glob("*.yaml")} == set(EARLIER)


def test_a_factorial_is_written_out_with_its_first_rule_changing_fastest(plan: Load) -> None:
    found = plan(
        "matrix:",
        "  fix: [none, leo_retention, empty_batch]",
        "  strategy: [offset, timestamp]",
        "  fencing: [true, false]",
    )

    assert len(found.rule_sets) == 12
    assert found.rule_sets[:4] == [
        {"fix": "none", "strategy": "offset", "fencing": True},
        {"fix": "leo_retention", "strategy": "offset", "fencing": True},
        {"fix": "empty_batch", "strategy": "offset", "fencing": True},
        {"fix": "none", "strategy": "timestamp", "fencing": True},
    ]
    assert found.rule_sets[-1] == {"fix": "empty_batch", "strategy": "timestamp", "fencing": False}
    assert number_runs(found).swept == ("fix", "strategy", "fencing")


def test_each_rule_set_meets_the_whole_matrix(plan: Load) -> None:
    found = plan("rule_sets: [{}, {leo_source: last_record}]", "matrix: {fix: [none, empty_batch]}")

    assert found.rule_sets == [
        {"fix": "none"},
        {"fix": "empty_batch"},
        {"fix": "none", "leo_source": "last_record"},
        {"fix": "empty_batch", "leo_source": "last_record"},
    ]


def test_presets_can_be_a_factor(plan: Load) -> None:
    found = number_runs(
        plan(
            "matrix: {preset: [kafka-2.8, kraft], fix: [none, empty_batch]}",
            'label: "{preset} {fix}"',
        )
    )

    assert [one.label for one in found.rule_sets] == [
        "kafka-2.8 none",
        "kraft none",
        "kafka-2.8 empty_batch",
        "kraft empty_batch",
    ]
    assert found.rule_sets[1].rules.replication.commit == "majority"


def test_combinations_can_be_excluded(plan: Load) -> None:
    found = plan(
        "matrix: {fix: [none, leo_retention, empty_batch], strategy: [offset, header]}",
        "exclude: [{strategy: offset, fix: leo_retention}, {fix: empty_batch}]",
        'label: "{strategy}/{fix}"',
    )

    assert found.labels == ["offset/none", "header/none", "header/leo_retention"]
    assert len(found.rule_sets) == 3


def test_what_a_folder_says_of_a_plan_is_written_out(plan: Load) -> None:
    matrix = plan("matrix: {fix: [none, empty_batch]}", 'label: "with {fix}"')
    written = plan(
        "rule_sets: [{fix: none}, {fix: empty_batch}]", "labels: [with none, with empty_batch]"
    )

    stored = describe(number_runs(matrix))

    assert stored == describe(number_runs(written))
    assert stored["plan"]["rule_sets"] == [{"fix": "none"}, {"fix": "empty_batch"}]
    assert "matrix" not in stored["plan"]
    assert Plan.model_validate_json(json.dumps(stored["plan"])) == matrix


def test_a_plan_in_python_has_a_matrix_too() -> None:
    from sim.api.sweeps import _plan

    data = parse_yaml(HEAD, "a test").data | {"matrix": {"fix": ["none", "gap_fetch"]}}

    (found, file), (other, _) = _plan(data), _plan(HEAD + "matrix: {fix: [none, gap_fetch]}\n")

    assert found.rule_sets == other.rule_sets == [{"fix": "none"}, {"fix": "gap_fetch"}]
    assert file is None
    with pytest.raises(BadInput, match=r"^the plan: matrix\.fix: no value"):
        _plan(data | {"matrix": {"fix": []}})


@pytest.mark.parametrize(
    ("lines", "line", "told"),
    [
        (["matrix: {}"], 8, "matrix: no rule in it"),
        (["matrix: [fix]"], 8, "matrix: expected fields"),
        (["matrix:", "  fix: none"], 9, "matrix.fix: expected a list"),
        (["matrix:", "  fix: []"], 9, "matrix.fix: no value"),
        (["matrix:", "  fix: [none, none]"], 9, 'matrix.fix[1]: "none" is given twice'),
        (["matrix:", "  fix: [none]", "  fixx: [none]"], 10, "unknown rule (did you mean 'fix'?)"),
        (["matrix:", "  fix:", "  - none", "  - empty"], 11, "did you mean 'empty_batch'?"),
        (["matrix:", "  preset: [kafka-3]"], 9, "unknown preset"),
        (
            ["matrix: {fix: [none]}", "rule_sets: [{}, {fix: none}]"],
            9,
            "rule_sets[1].fix: a rule of the matrix, too",
        ),
        (["matrix: {fix: [none]}", "rule_sets: []"], 9, "rule_sets: empty"),
        (["matrix: {fix: [none]}", "rule_sets: [{strategi: x}]"], 9, "did you mean 'strategy'?"),
        (["matrix: {fix: [none]}", "rule_sets: [{strategy: x}]"], 9, "rule_sets[0].strategy: "),
        (["matrix: {fix: [none]}", "exclude: [{}]"], 9, "exclude[0]: no rule in it"),
        (["matrix: {fix: [none]}", "exclude: [{fix: none}]"], 9, "exclude: no rule set is left"),
        (["matrix: {fix: [none]}", "exclude: [{fix: gap_fetch}]"], 9, "excludes nothing"),
        (["matrix: {fix: [none]}", "exclude: [{flush: none}]"], 9, "unknown swept rule"),
        (["matrix: {fix: [none]}", "label: '{fi}'"], 9, "label: {fi}: no swept rule; allowed: fix"),
        (["matrix: {fix: [none]}", "label: '{fix.x}'"], 9, "no swept rule"),
        (["matrix: {fix: [none]}", "label: '{fix'"], 9, "label: "),
        (["matrix: {fix: [none]}", "label: a", "labels: [a]"], 9, "labels is given, too"),
        (["matrix: {fix: [none, gap_fetch]}", "label: a"], 9, "label: a label is given twice"),
        (["rule_sets: [{fix: none}]", "label: a"], 9, "label: only with matrix"),
        (["rule_sets: [{fix: none}]", "exclude: []"], 9, "exclude: only with matrix"),
        (
            ["matrix: {fix: [none, gap_fetch]}", "rule_sets: [{}, {strategy: offset}]"],
            8,
            "matrix: entries 0 and 2 (from 0) are the same rules",
        ),
        (
            [
                "matrix:",
                *(
                    f"  {n}: {list(range(1, 21))}"
                    for n in ("delete_retention_ms", "min_isr", "index_interval_bytes")
                ),
            ],
            8,
            "8,000 rule sets; at most 1,000",
        ),
        (
            ["matrix: {fix: [none]}", "plugins: [no_such_plugin]"],
            9,
            "plugins: plugin no_such_plugin",
        ),
    ],
)
def test_what_is_wrong_with_a_matrix_is_one_line_with_its_place(
    plan: Load, lines: list[str], line: int, told: str
) -> None:
    with pytest.raises(BadInput) as caught:
        plan(*lines)

    (complaint,) = str(caught.value).splitlines()
    assert f"plan.yaml:{line}: " in complaint
    assert told in complaint


def test_a_plan_without_a_matrix_needs_rule_sets(plan: Load) -> None:
    with pytest.raises(BadInput, match="rule_sets: missing"):
        plan("about: [readers]")
