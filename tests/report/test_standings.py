"""Where each rule set stands: against its baseline, on the same cases, and at what price."""

import pytest

from sim.study.report.parts import Table
from sim.study.report.sections import columns_of, standings_of
from sim.study.report.sweep_folder import SweepFolder
from tests.report.folders import Verdicts, entry, folder_of, pair, rule_set

FIXES = ("none", "leo_retention", "empty_batch")
RUNS = 1_000


def standings(out: SweepFolder) -> Table:
    [environment] = out.environments
    return standings_of(environment, columns_of(out))


def test_a_price_is_what_differs_beyond_chance() -> None:
    worse: Verdicts = {"holds/holds": 900, "violated/holds": 100}
    entries = [
        entry(place, fix, {"holds": RUNS - violated, "violated": violated})
        for place, (fix, violated) in enumerate(zip(FIXES, (100, 0, 0), strict=True))
    ]
    paid = pair(
        0,
        1,
        worse,
        differences={"bytes_retained": 50 * RUNS, "bytes_replicated": 3},
        squares={"bytes_retained": 2_500 * RUNS, "bytes_replicated": 3},
        differing={"bytes_retained": RUNS, "bytes_replicated": 3},
    )
    pairs = [paid, pair(0, 2, worse), pair(1, 2, {"holds/holds": RUNS})]
    out = folder_of([rule_set(*one) for one in enumerate(FIXES)], entries, pairs)

    none, leo_retention, empty_batch = standings(out).rows

    assert none[2:] == ("the baseline", "")
    assert leo_retention[3].startswith("bytes retained +50.0 (+50.0 to")
    assert "replicated" not in leo_retention[3]  # in three cases: by chance
    assert empty_batch[3] == "nothing that can be told from chance"


def test_a_plan_that_says_what_it_is_about_is_measured_by_that() -> None:
    entries = [
        entry(place, fix, {"holds": 50, "violated": 50}, counts={"about": {"any": runs}})
        for place, (fix, runs) in enumerate((("none", 9), ("leo_retention", 1)))
    ]
    both = pair(0, 1, {"violated/violated": 50, "holds/holds": 50}) | {
        "about": {"both": 1, "only_left": 8, "only_right": 0}
    }
    rule_sets = [rule_set(0, "none"), rule_set(1, "leo_retention")]
    out = folder_of(rule_sets, entries, [both], plan={"about": ["log divergence"]})

    none, leo_retention = standings(out).rows

    assert (none[1], leo_retention[1]) == ("9 of 100 (9.00 %)", "1 of 100 (1.00 %)")
    assert leo_retention[2].startswith("\u22128.00 points (")


@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0)])
def test_the_sides_of_a_pair_do_not_turn_it(left: int, right: int) -> None:
    verdicts: Verdicts = {"holds/holds": 900, "violated/holds": 100}
    if left:
        verdicts = {"holds/holds": 900, "holds/violated": 100}
    entries = [
        entry(0, "none", {"holds": 900, "violated": 100}),
        entry(1, "leo_retention", {"holds": 1_000}),
    ]
    rule_sets = [rule_set(0, "none"), rule_set(1, "leo_retention")]
    out = folder_of(rule_sets, entries, [pair(left, right, verdicts)])

    table = standings(out)

    assert table.rows[1][2].startswith("\u221210.0 points (")
    low, value, high, zero = table.drawn[1] or ()
    assert 2 <= low < value < high < zero == 98
    assert table.drawn[0] is None
