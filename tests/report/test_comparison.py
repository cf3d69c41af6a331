"""What is said about a sweep: rates, pairs, costs, in numbers and in sentences."""

import pytest

from sim.study.report import comparison_table
from sim.study.report.costs import costs_of
from sim.study.report.pairs import counted_in, paired, pairs_within, rate_of
from sim.study.report.sweep_folder import SweepFolder
from tests.report.folders import both_fixes, entry, folder_of, pair, rule_set


@pytest.fixture(scope="module")
def both() -> SweepFolder:
    return both_fixes()


def test_a_rate_is_out_of_the_runs_that_were_judged_and_never_a_bare_zero(
    both: SweepFolder,
) -> None:
    none, empty_batch, _ = map(rate_of, both.statistics["rule_sets"])

    assert (none.runs, none.judged) == (120, 998)
    assert none.interval is not None
    assert none.interval.low < 120 / 998 < none.interval.high
    assert empty_batch.interval == pytest.approx((0, 0.003689), abs=1e-6)
    assert empty_batch.rate_text == "none of 998 runs (0 to 0.37 %)"
    assert empty_batch.share_text == "none (0 to 0.37 %)"


def test_pairs_that_differ_in_one_rule_are_compared(both: SweepFolder) -> None:
    *_, last = pairs_within(both)

    assert [(one["left"], one["right"]) for one in pairs_within(both)] == [(0, 1), (0, 2), (1, 2)]
    found = paired(last, counted_in(both, last))
    assert (found.both, found.only_left, found.only_right, found.judged) == (0, 0, 7, 998)
    assert found.difference is not None
    assert found.difference.value == -7 / 998
    assert found.p == pytest.approx(2 / 2**7)


def test_costs_are_compared_with_the_same_cases_without_a_fix(both: SweepFolder) -> None:
    bytes_retained, _, empty_batches, _ = costs_of(both)

    none, empty_batch, leo_retention = bytes_retained.rule_sets
    assert (none.mean, none.ratio, none.difference) == (1_000, None, None)
    assert empty_batch.baseline == leo_retention.baseline == "none"
    assert empty_batch.ratio == pytest.approx(1.2)
    assert empty_batch.difference == 100
    assert empty_batch.interval == (100, 100)
    assert empty_batches.rule_sets[1].ratio is None  # nothing to divide by


def test_where_no_fix_is_compared_the_first_rule_set_is_the_baseline() -> None:
    presets = ("kafka-4.0", "kraft")
    rule_sets = [
        rule_set(index, fix) | {"label": preset, "swept": {"preset": preset}}
        for index, (preset, fix) in enumerate(zip(presets, ("empty_batch", "none"), strict=True))
    ]
    entries = [entry(index, preset, {"holds": 9}) for index, preset in enumerate(presets)]
    out = folder_of(rule_sets, entries, [pair(0, 1, {"holds/holds": 9})])

    costs = costs_of(out)[0].rule_sets

    assert {one.baseline for one in costs} == {"kafka-4.0"}


def test_the_baseline_has_the_other_rules_of_the_rule_set() -> None:
    rule_sets = [
        rule_set(index, fix, strategy) | {"label": f"fix={fix} strategy={strategy}"}
        for index, (fix, strategy) in enumerate(
            [("none", "offset"), ("none", "header"), ("empty_batch", "header")]
        )
    ]
    entries = [entry(index, one["label"], {"holds": 9}) for index, one in enumerate(rule_sets)]
    pairs = [pair(0, 1, {"holds/holds": 9}), pair(0, 2, {"holds/holds": 9})]
    out = folder_of(rule_sets, entries, [*pairs, pair(1, 2, {"holds/holds": 9})])

    costs = costs_of(out)[0].rule_sets

    assert costs[2].baseline == "fix=none strategy=header"
    assert costs[2].difference == 0
    assert [one.difference for one in costs[:2]] == [None, None]


def test_the_table_for_a_terminal_has_a_row_per_rule_set(both: SweepFolder) -> None:
    rows = comparison_table(both)

    assert rows[1] == {
        "rule set": "empty_batch",
        "runs": "1,000",
        "violated": "0",
        "rate": "none (0 to 0.37 %)",
        "not judged": "2",
        "bytes retained": "1,200 (x1.200)",
        "bytes replicated": "0",
        "empty batches": "0.50",
        "stale records a consumer reads last": "0",
    }
    assert rows[0]["rate"] == "12.0 % (10.1 to 14.2 %)"
