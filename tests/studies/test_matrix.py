"""A matrix says what each value of a rule violates, under which other rules, and its price."""

from functools import cache
from pathlib import Path

import pytest

import sim
from sim.protocol.rules import RULES
from sim.study.matrix import (
    AS_WRITTEN,
    Choice,
    Matrix,
    as_document,
    as_markdown,
    choice_of,
    choices_of,
    conditions_table,
    invariants_table,
    letters,
    make_matrix,
    prices_table,
)
from tests.commands import ROOT, SCENARIOS
from tests.commands import STORY as LOST_TAIL

KIP280 = SCENARIOS / "kip280"
LOST_TAIL_CURED = KIP280 / "kip280_17_believed_position_epoch_truncation_empty_batch.yaml"
LAST_RECORD = KIP280 / "kip280_07_log_end_from_last_record.yaml"
NARROW = KIP280 / "kip280_59_narrow_empty_batch_and_an_unclean_election.yaml"
QUIET = KIP280 / "kip280_09_quiet_partition_never_catches_up.yaml"
TIMED = KIP280 / "timed_lost_tail.yaml"
FIXES = ("none", "leo_retention", "empty_batch", "empty_batch_at_hw", "persisted_leo", "gap_fetch")


@cache
def matrix_of(*paths: Path, under: str | None = None) -> Matrix:
    groups = [] if under is None else [choices_of(under, option="--under")]
    return make_matrix(paths, Choice("fix", FIXES), under=groups)


def cells(rows: list[dict[str, str]], name: str) -> list[str]:
    """The row of that name, without its name."""
    [found] = [row for row in rows if name in row.values()]
    return list(found.values())[1:]


@pytest.mark.parametrize("path", [LOST_TAIL, TIMED])
def test_every_cell_is_what_running_the_scenario_under_that_rule_says(path: Path) -> None:
    [line] = matrix_of(path).lines
    for fix, outcome in zip(FIXES, line.outcomes[0], strict=True):
        run = sim.run(path, fix=fix).recorded
        assert outcome.violated == tuple(dict.fromkeys(v.invariant for v in run.violations))
        assert outcome.counters == (run.counters or outcome.counters)


@pytest.mark.parametrize(
    ("path", "invariant", "expected"),
    [
        (LOST_TAIL, "no-offset-reuse", ["1", "0", "0", "0", "1", "0"]),
        # A liveness invariant counts where a scenario does not say otherwise.
        (QUIET, "leo-convergence", ["1", "0", "0", "0", "1", "0"]),
        # Of one that names what is checked, these alone.
        (NARROW, "follower-position-sound", ["1", "1", "0", "1", "1", "0"]),
    ],
)
def test_what_the_rule_decides(path: Path, invariant: str, expected: list[str]) -> None:
    assert cells(invariants_table(matrix_of(path)), invariant) == expected


def test_scenarios_that_differ_in_the_varied_rule_alone_count_once() -> None:
    [line] = matrix_of(LOST_TAIL, LOST_TAIL_CURED).lines

    assert (line.id, line.twins) == (LOST_TAIL.stem, (LOST_TAIL_CURED.stem,))
    assert len(matrix_of(LOST_TAIL, LAST_RECORD).lines) == 2


def test_a_run_that_leaves_the_durability_contract_is_not_said_to_hold() -> None:
    path = SCENARIOS / "durability" / "timed_power_failure.yaml"
    made = make_matrix([path], Choice("flush", ("interval", "on_append")))

    [violated] = as_document(made)["scenarios"][0]["violated"].values()
    assert violated == {"interval": None, "on_append": []}
    assert not made.lines[0].differs


def test_other_rules_are_tried_in_every_combination_of_a_group() -> None:
    made = matrix_of(LOST_TAIL, under="follower_position+leo_source")

    assert made.conditions == (
        AS_WRITTEN,
        "follower_position=read_end, leo_source=stored",
        "follower_position=read_end, leo_source=last_record",
        "follower_position=request, leo_source=stored",
        "follower_position=request, leo_source=last_record",
    )
    reuse = cells(conditions_table(made), "no-offset-reuse")
    assert reuse == ["A B C E", *["never worse"] * 3, "A B C", "C E"]


def test_prices_are_added_up_over_the_scenarios() -> None:
    alone, other, both = matrix_of(LOST_TAIL), matrix_of(QUIET), matrix_of(LOST_TAIL, QUIET)
    for counter in ("empty_batches", "bytes_retained", "gaps_learned", "log_ends_persisted"):
        added = map(sum, zip(alone.prices(counter), other.prices(counter), strict=True))
        assert both.prices(counter) == list(added)
    assert alone.prices("empty_batches") == [0, 0, 2, 2, 0, 0]
    assert alone.prices("gaps_learned") == [0, 0, 0, 0, 0, 1]
    assert alone.prices("log_ends_persisted") == [0, 0, 0, 0, 1, 0]
    assert cells(prices_table(alone), "keys for which a reader ends on a stale record")[1] == "1"


def test_a_rule_is_fixed_for_all_and_files_are_left_out_by_name() -> None:
    fix, rules = Choice("fix", ("none",)), {"follower_position": "request"}
    [line] = make_matrix([LOST_TAIL], fix, rules=rules).lines
    assert "no-offset-reuse" not in line.outcomes[0][0].violated

    skip = ["kip280_*", "timed_[!l]*", "timed_la*", "timed_lost*"]
    names = [line.path.stem for line in make_matrix([KIP280], fix, skip=skip).lines]
    assert names == ["timed_low_rate", "timed_low_rate_maximum_lag"]  # and no log files


@pytest.mark.parametrize(
    ("vary", "values"),
    [
        ("fix", RULES["fix"].values),
        ("fix=gap_fetch,none", ("gap_fetch", "none")),
        ("delete_retention_ms=0,100,0", (0, 100)),
        ("fencing", (True, False)),
    ],
)
def test_a_rule_is_varied_over_all_its_values_or_those_given(
    vary: str, values: tuple[object, ...]
) -> None:
    assert choice_of(vary, option="--vary").values == values


def test_every_condition_has_a_letter_however_many_there_are() -> None:
    names = tuple(map(str, range(5_000)))

    found = letters(Matrix(Choice("fix", FIXES), names, ()))

    assert (*found.values(),) == names
    assert [*found][24:27] + [*found][701:703] == ["Y", "Z", "AA", "ZZ", "AAA"]


def test_document_and_page_have_every_outcome() -> None:
    made, folder = matrix_of(LOST_TAIL, under="leo_source"), ROOT / "reports"
    document = as_document(made)
    page = as_markdown(made, command="replog matrix …", folder=folder)

    [scenario] = document["scenarios"]
    assert document["values"] == list(FIXES)
    assert list(scenario["violated"]) == document["conditions"]
    assert scenario["violated"][AS_WRITTEN]["empty_batch"] == []
    assert scenario["violated"][AS_WRITTEN]["none"][0] == "follower-position-sound"
    assert document["prices"]["empty_batches"]["empty_batch"] == 2
    assert "$ replog matrix …" in page
    target = f"../scenarios/kip280/{LOST_TAIL.name}"
    assert f"| [{LOST_TAIL.stem}]({target}) | follower-position-sound +6 |" in page
    assert (folder / target).is_file()
