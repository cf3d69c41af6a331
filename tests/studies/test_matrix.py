"""A matrix says what each value of a rule violates, under which other rules, and its price."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.rules import RULES
from sim.studies.matrix import AS_WRITTEN, Choice, Matrix, choice_of, choices_of, make_matrix
from sim.studies.matrix_page import (
    as_document,
    as_markdown,
    conditions_table,
    invariants_table,
    prices_table,
    scenarios_table,
)
from sim.suite import run_file

ROOT = Path(__file__).parents[2]
KIP280 = ROOT / "scenarios/kip280"
LOST_TAIL = KIP280 / "kip280_16_believed_position_epoch_truncation_no_fix.yaml"
LOST_TAIL_CURED = KIP280 / "kip280_17_believed_position_epoch_truncation_empty_batch.yaml"
LAST_RECORD = KIP280 / "kip280_07_log_end_from_last_record.yaml"
NARROW = KIP280 / "kip280_59_narrow_empty_batch_and_an_unclean_election.yaml"
QUIET = KIP280 / "kip280_09_quiet_partition_never_catches_up.yaml"
TIMED = KIP280 / "timed_lost_tail.yaml"
FIXES = ("none", "leo_retention", "empty_batch", "empty_batch_at_hw", "persisted_leo", "gap_fetch")


def matrix_of(*paths: Path, under: str | None = None, **options: object) -> Matrix:
    groups = [] if under is None else [choices_of(under, option="--under")]
    varied = choice_of(f"fix={','.join(FIXES)}", option="--vary")
    return make_matrix(paths, varied, under=groups, **options)  # type: ignore[arg-type]


def cells(rows: list[dict[str, str]], name: str) -> list[str]:
    """The row of that name, without its name."""
    [found] = [row for row in rows if name in row.values()]
    return list(found.values())[1:]


def test_every_cell_is_what_running_the_scenario_under_that_rule_says() -> None:
    for path in (LOST_TAIL, TIMED):
        [line] = matrix_of(path).lines
        for fix, outcome in zip(FIXES, line.outcomes[0], strict=True):
            run = run_file(path, rules={"fix": fix})
            assert outcome.violated == tuple(dict.fromkeys(v.invariant for v in run.violations))


def test_a_timed_scenario_costs_what_its_run_counts() -> None:
    [line] = matrix_of(TIMED).lines

    for fix, outcome in zip(FIXES, line.outcomes[0], strict=True):
        assert outcome.counters == run_file(TIMED, rules={"fix": fix}).detail["counters"]


def test_of_the_lost_tail_three_fixes_are_a_cure() -> None:
    made = matrix_of(LOST_TAIL)

    reuse = cells(invariants_table(made), "no-offset-reuse")
    assert reuse == ["1", "holds", "holds", "holds", "1", "holds"]
    assert cells(scenarios_table(made), LOST_TAIL.stem)[0] == "follower-position-sound +6"


def test_a_scenario_that_names_what_is_checked_is_judged_by_that_alone() -> None:
    [line] = matrix_of(NARROW).lines

    assert {name for one in line.outcomes[0] for name in one.violated} == {
        "follower-position-sound",
        "no-resurrection",
    }
    holds = [fix for fix, one in zip(FIXES, line.outcomes[0], strict=True) if not one.violated]
    assert holds == ["empty_batch", "gap_fetch"]


def test_scenarios_that_differ_in_the_varied_rule_alone_count_once() -> None:
    made = matrix_of(LOST_TAIL, LOST_TAIL_CURED)

    [line] = made.lines
    assert (line.id, line.twins) == (LOST_TAIL.stem, (LOST_TAIL_CURED.stem,))
    assert len(matrix_of(LOST_TAIL, LAST_RECORD).lines) == 2


def test_a_liveness_invariant_counts_where_a_scenario_does_not_say_otherwise() -> None:
    convergence = cells(invariants_table(matrix_of(QUIET)), "leo-convergence")

    assert convergence == ["1", "holds", "holds", "holds", "1", "holds"]


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
    assert reuse[FIXES.index("empty_batch")] == "holds"
    assert reuse[FIXES.index("none")] == "A B C E"
    assert reuse[FIXES.index("persisted_leo")] == "A B C"
    assert reuse[FIXES.index("gap_fetch")] == "C E"


def test_what_every_value_violates_is_not_decided_by_the_rule() -> None:
    path = KIP280 / "kip280_23_late_write_after_an_expired_tombstone.yaml"
    made = matrix_of(path)

    assert "no-resurrection" in made.violated
    assert made.decided == ()
    assert conditions_table(made) == scenarios_table(made) == []


def test_prices_are_added_up_over_the_scenarios() -> None:
    alone, other, both = matrix_of(LOST_TAIL), matrix_of(QUIET), matrix_of(LOST_TAIL, QUIET)

    for at in range(len(FIXES)):
        for counter in ("empty_batches", "bytes_retained", "gaps_learned", "log_ends_persisted"):
            together = alone.price(counter, at) + other.price(counter, at)
            assert both.price(counter, at) == together
    assert [alone.price("empty_batches", at) for at in range(len(FIXES))] == [0, 0, 2, 2, 0, 0]
    assert [alone.price("gaps_learned", at) for at in range(len(FIXES))] == [0, 0, 0, 0, 0, 1]
    assert [alone.price("log_ends_persisted", at) for at in range(len(FIXES))] == [0, 0, 0, 0, 1, 0]
    assert cells(prices_table(alone), "keys on whose stale record a reader ends")[1] == "1"


def test_a_rule_can_be_fixed_for_all_of_them() -> None:
    [line] = matrix_of(LOST_TAIL, rules={"follower_position": "request"}).lines

    assert all("no-offset-reuse" not in outcome.violated for outcome in line.outcomes[0])


def test_files_can_be_left_out_by_name_and_log_files_are() -> None:
    some = make_matrix(
        [KIP280],
        Choice("fix", ("none",)),
        skip=["kip280_*", "timed_[!l]*", "timed_la*", "timed_lost*"],
    )

    names = [line.path.stem for line in some.lines]
    assert names == ["timed_low_rate", "timed_low_rate_maximum_lag"]


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


@pytest.mark.parametrize(
    ("vary", "complaint"),
    [
        ("fixes", "--vary fixes: unknown rule (did you mean 'fix'?); allowed: strategy, "),
        ("delete_retention_ms", "--vary delete_retention_ms: say which values: "),
        ("fix=nothing", "--vary fix: unknown value 'nothing'"),
    ],
)
def test_a_rule_or_value_that_does_not_exist_is_refused(vary: str, complaint: str) -> None:
    with pytest.raises(BadInput) as refused:
        choice_of(vary, option="--vary")

    assert str(refused.value).startswith(complaint)


def test_a_rule_is_named_once() -> None:
    with pytest.raises(BadInput, match="fix: named twice"):
        matrix_of(LOST_TAIL, under="fix")
    with pytest.raises(BadInput, match="strategy: named twice"):
        matrix_of(LOST_TAIL, under="strategy", rules={"strategy": "header"})


def test_nothing_to_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no story and no timed scenario"):
        matrix_of(KIP280 / "log_late_version_azure.json")
    with pytest.raises(BadInput, match="no such folder"):
        matrix_of(tmp_path / "nowhere")


def test_the_document_has_every_outcome() -> None:
    document = as_document(matrix_of(LOST_TAIL, under="leo_source"))

    [scenario] = document["scenarios"]
    assert document["values"] == list(FIXES)
    assert list(scenario["violated"]) == document["conditions"]
    assert scenario["violated"][AS_WRITTEN]["empty_batch"] == []
    assert scenario["violated"][AS_WRITTEN]["none"][0] == "follower-position-sound"
    assert document["prices"]["empty_batches"]["empty_batch"] == 2


def test_the_page_links_to_the_scenarios_from_where_it_is(tmp_path: Path) -> None:
    folder = ROOT / "reports"
    page = as_markdown(matrix_of(LOST_TAIL), command="replog matrix …", folder=folder)

    assert "$ replog matrix …" in page
    target = f"(../scenarios/kip280/{LOST_TAIL.name})"
    assert f"[{LOST_TAIL.stem}]{target}" in page
    assert (folder / target.strip("()")).is_file()
