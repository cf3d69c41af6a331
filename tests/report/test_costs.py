"""What rules cost: means, and what differs on the same cases, with intervals that may be said."""

from pathlib import Path

import numpy as np
import pytest

from sim.study.report.bootstrap import CostOfRuleSet
from sim.study.report.costs import costs_of
from sim.study.report.sweep_folder import read_folder
from tests.report.folders import entry, pair, rule_set, write_folder
from tests.report.tables import Row, write_tables

CASES = 400


def folder_with(out: Path, rows: list[Row]) -> Path:
    """Two rule sets, without a fix and with one, whose runs cost what `rows` say."""
    fixes = ("none", "empty_batch")
    sums = [sum(value or 0 for value in column) for column in zip(*rows, strict=True)]
    entries = [
        entry(place, fix, {"holds": len(rows)}, totals={"bytes_retained": sums[place]})
        for place, fix in enumerate(fixes)
    ]
    rule_sets = [rule_set(place, fix) for place, fix in enumerate(fixes)]
    write_folder(out, rule_sets, entries, [pair(0, 1, {"holds/holds": len(rows)})])
    return write_tables(out, {"bytes_retained": rows})


def fix_of(out: Path) -> CostOfRuleSet:
    return costs_of(read_folder(out))[0].rule_sets[1]


def spread() -> list[int]:
    return np.random.default_rng(1).integers(0, 50_000, CASES).tolist()


def test_what_every_case_pays_is_seen_though_the_means_overlap(tmp_path: Path) -> None:
    rows = [(one, one + 10 + place % 2) for place, one in enumerate(spread())]
    none, fix = costs_of(read_folder(folder_with(tmp_path, rows)))[0].rule_sets

    assert none.interval is not None
    assert fix.interval is not None
    assert none.interval.high > fix.interval.low + 1_000
    assert fix.difference == 10.5
    assert fix.difference_interval is not None
    assert fix.difference_interval == pytest.approx((10.45, 10.55), abs=0.01)
    assert fix.ratio_interval is not None
    assert 1 < fix.ratio_interval.low < fix.ratio_interval.high < 1.001


def test_a_mean_that_is_rarely_paid_has_no_interval_below_zero(tmp_path: Path) -> None:
    rows = [(0, 0 if place >= 6 else 100 if place == 0 else 1) for place in range(CASES)]

    fix = fix_of(folder_with(tmp_path, rows))

    assert fix.interval is not None
    assert 0 <= fix.interval.low < 105 / CASES < fix.interval.high


@pytest.mark.parametrize(
    ("more", "ratio", "text"),
    [(50, 1.0, "\u00d71.00193 (1.00182 to 1.00204)"), (0, 1.0, "the same in every case")],
)
def test_what_every_case_pays_alike_is_known_exactly(
    tmp_path: Path, more: int, ratio: float, text: str
) -> None:
    fix = fix_of(folder_with(tmp_path, [(one, one + more) for one in spread()]))

    assert fix.difference == more
    assert fix.difference_interval == ((more, more) if more else None)
    assert fix.ratio == pytest.approx(ratio, abs=0.01)
    assert fix.paired_text == text


def test_a_few_cases_have_no_interval_and_are_counted(tmp_path: Path) -> None:
    rows = [(0, int(place < 4)) for place in range(CASES)]

    fix = fix_of(folder_with(tmp_path, rows))

    assert (fix.interval, fix.difference_interval, fix.ratio) == (None, None, None)
    assert (fix.paid_in, fix.differing) == (4, 4)
    assert fix.mean_text == "0.010 (in 4 runs)"
    assert fix.paired_text == "+0.010 (other in 4 cases)"


def test_a_case_of_which_one_run_did_not_end_is_no_pair(tmp_path: Path) -> None:
    rows: list[Row] = [(one, one + 7) for one in spread()]
    rows[3], rows[5] = (None, 1_000_000), (1_000_000, None)

    none, fix = costs_of(read_folder(folder_with(tmp_path, rows)))[0].rule_sets

    assert (none.runs, fix.runs) == (CASES - 1, CASES - 1)
    assert fix.difference == 7
    assert fix.differing == CASES - 2


def test_a_rule_set_of_which_no_run_ended_costs_nothing_known(tmp_path: Path) -> None:
    fix = fix_of(folder_with(tmp_path, [(one, None) for one in spread()]))

    assert (fix.mean, fix.difference, fix.ratio) == (None, None, None)
    assert (fix.mean_text, fix.paired_text) == ("-", "")
