"""The answer of a report: what is violated least, how sure that is, at what price."""

import json
from pathlib import Path

import pytest

from sim.report.answer import Answer
from sim.report.comparison import compare
from sim.report.sweep_folder import read_folder
from tests.report.folders import Verdicts, both_fixes, entry, pair, rule_set, write_folder
from tests.report.tables import write_tables

FIXES = ("none", "leo_retention", "empty_batch")
RUNS = 1_000


def answer(out: Path) -> Answer:
    [environment] = read_folder(out).environments
    return compare(environment).answer


def three(out: Path, violated: tuple[int, int, int], pairs: list[Verdicts]) -> Path:
    """Three fixes; `pairs` are the verdicts of none and each fix, and of the two fixes."""
    entries = [
        entry(place, fix, {"holds": RUNS - violated[place], "violated": violated[place]})
        for place, fix in enumerate(FIXES)
    ]
    sides = [(0, 1), (0, 2), (1, 2)]
    compared = [pair(*side, verdicts) for side, verdicts in zip(sides, pairs, strict=True)]
    return write_folder(out, [rule_set(*one) for one in enumerate(FIXES)], entries, compared)


def test_who_violates_least_is_set_against_the_baseline_and_the_next(tmp_path: Path) -> None:
    found = answer(both_fixes(tmp_path))

    assert found.fewest == "empty_batch: none of 998 runs (0 to 0.37 %)"
    against_none, against_next, unit = found.certainty.split("; ")
    assert against_none.endswith("against none")
    assert against_next == ("\u22120.70 points (\u22121.44 to \u22120.098) against leo_retention")
    assert unit == "95 % intervals on the same cases, not adjusted"


def test_what_chance_may_explain_is_not_told_apart(tmp_path: Path) -> None:
    few: Verdicts = {"holds/holds": 997, "violated/holds": 2, "violated/violated": 1}
    same: Verdicts = {"holds/holds": 999, "violated/violated": 1}

    found = answer(three(tmp_path, (3, 1, 1), [few, few, same]))

    assert found.fewest.startswith("leo_retention: 1 of 1,000 runs")
    assert found.fewest.endswith("; as few: empty_batch")
    assert "against none: not told apart" in found.certainty


def test_where_nobody_violates_less_no_difference_is_said_with_its_bounds(tmp_path: Path) -> None:
    held: Verdicts = {"holds/holds": RUNS}

    found = answer(three(tmp_path, (0, 0, 0), [held, held, held]))

    assert found.fewest == (
        "no difference: none of 1,000 runs (0 to 0.37 %) under each of the 3 rule sets"
    )
    assert "0 points (\u22120.37 to +0.37)" in found.certainty
    assert found.certainty.count("not told apart") == 1
    assert found.price.startswith("none: nothing, as what the others are compared with; leo")


def test_a_price_is_what_differs_beyond_chance(tmp_path: Path) -> None:
    none_worse: Verdicts = {"holds/holds": 900, "violated/holds": 100}
    held: Verdicts = {"holds/holds": RUNS}
    out = three(tmp_path, (100, 0, 0), [none_worse, none_worse, held])
    costs = {
        "bytes_retained": [(1_000 + case, 1_050 + case, 1_000 + case) for case in range(RUNS)],
        "bytes_replicated": [(500, 501 if case < 3 else 500, 500) for case in range(RUNS)],
    }
    write_tables(out, costs)

    found = answer(out)

    assert found.fewest.startswith("leo_retention")
    assert found.price.startswith("leo_retention: bytes retained \u00d71.03")
    assert "replicated" not in found.price  # in three cases: no interval


def test_a_plan_that_says_what_it_is_about_is_answered_by_that(tmp_path: Path) -> None:
    out = both_fixes(tmp_path)
    plan = json.loads((out / "plan.json").read_text())
    plan["plan"]["about"] = ["log divergence"]
    (out / "plan.json").write_text(json.dumps(plan))
    tallies = json.loads((out / "tallies.json").read_text())
    for environment in (tallies, *tallies["environments"]):
        for one, runs in zip(environment["rule_sets"], (9, 8, 1), strict=True):
            one["counts"]["about"] = {"any": {"runs": runs, "first_run": 4}}
        for one in environment["pairs"]:
            one["about"] = {"both": 0, "only_left": 8, "only_right": 0}
    (out / "tallies.json").write_text(json.dumps(tallies))

    found = answer(out)

    assert found.fewest.startswith("leo_retention: 1 of 1,000 runs")
    assert [one.share.runs for one in found.standings] == [9, 8, 1]


def test_without_a_judged_run_there_is_no_answer(tmp_path: Path) -> None:
    entries = [entry(place, fix, {"error": 5}) for place, fix in enumerate(FIXES[:2])]
    rule_sets = [rule_set(*one) for one in enumerate(FIXES[:2])]
    out = write_folder(tmp_path, rule_sets, entries, [pair(0, 1, {"error/error": 5}, ended=0)])

    assert answer(out).fewest == "no run was judged"


@pytest.mark.parametrize(("left", "right"), [(0, 1), (1, 0)])
def test_the_sides_of_a_pair_do_not_turn_the_answer(tmp_path: Path, left: int, right: int) -> None:
    verdicts: Verdicts = {"holds/holds": 900, "violated/holds": 100}
    if left:
        verdicts = {"holds/holds": 900, "holds/violated": 100}
    entries = [
        entry(0, "none", {"holds": 900, "violated": 100}),
        entry(1, "leo_retention", {"holds": 1_000}),
    ]
    rule_sets = [rule_set(0, "none"), rule_set(1, "leo_retention")]
    out = write_folder(tmp_path, rule_sets, entries, [pair(left, right, verdicts)])

    found = answer(out).standings[1].against_baseline

    assert found is not None
    assert found.value == -0.1
    assert found.interval.high < 0
