"""The verdict of a sweep: what is closed, what differs, what remains; a tie is called a tie."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sim.check.families import LOG_DIVERGENCE
from sim.study.causes import Cause, Causes
from sim.study.causes.grouping import Example, Share
from sim.study.causes.track_record import Shown
from sim.study.report import headline
from sim.study.report.comparison import INTERVALS
from sim.study.report.sweep_folder import SweepFolder
from tests.report.folders import both_fixes, entry, folder_of, pair, rule_set

FIXES = ("none", "leo_retention", "empty_batch")
SIDES = ("both", "only_left", "only_right")
Cases = tuple[int, int, int]
"""Violated under both, under the left one alone, under the right one alone."""


def folder(
    families: Mapping[str, tuple[int, int, int]],
    disagree: Mapping[str, Cases] | None = None,
    *,
    turned: bool = False,
) -> SweepFolder:
    """1,000 cases under no fix and both; per family the violated cases under each.

    `disagree` says of invariants how the two fixes compare on the same cases.
    """
    fixes = [FIXES[place] for place in ((0, 2, 1) if turned else (0, 1, 2))]
    violated = {fix: {n: v[place] for n, v in families.items()} for place, fix in enumerate(FIXES)}
    entries = [
        entry(place, fix, {"violated": 1_000}, counts={"family": _seen(violated[fix])})
        for place, fix in enumerate(fixes)
    ]
    invariants = {
        name: dict(
            zip(("both", "only_right", "only_left") if turned else SIDES, cases, strict=True)
        )
        for name, cases in (disagree or {}).items()
    }
    verdicts = {"violated/violated": 1_000}
    pairs = [pair(0, 1, verdicts), pair(0, 2, verdicts)]
    pairs.append(pair(1, 2, verdicts, invariants=invariants))
    return folder_of([rule_set(*one) for one in enumerate(fixes)], entries, pairs)


def _seen(runs: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in runs.items() if count}


def sentences(out: SweepFolder, causes: Causes | None = None) -> tuple[str, ...]:
    return headline(out, causes)


def test_what_both_fixes_close_is_said_with_what_the_cases_leave_open() -> None:
    closed, _ = sentences(folder({LOG_DIVERGENCE: (21, 0, 0), "transactions": (9, 8, 0)}))

    assert closed == (
        "Closed under both leo_retention and empty_batch: log divergence (21 of 1,000 plain runs) "
        "without a fix; none of 1,000 seeds is at most 0.37 %."
    )


SHOWN = "of 1,000 seeds fewer than 6 that differ (0.60 points) cannot be told from chance."


def test_fixes_that_agree_in_every_case_tie() -> None:
    _, differences = sentences(folder({}, {"log-matching": (3, 0, 0)}))

    assert differences == (
        "A tie: leo_retention and empty_batch violate the same invariants in the same cases; "
        + SHOWN
    )


def test_what_may_be_chance_is_a_tie_with_its_numbers() -> None:
    few = {"no-resurrection": (50, 4, 0), "log-matching": (0, 0, 1)}

    _, differences = sentences(folder({}, few))

    assert differences == (
        "A tie, as far as the cases tell: leo_retention and empty_batch disagree in 2 comparisons, "
        "in none beyond chance; most in no-resurrection: 50 cases under both, 4 under "
        "leo_retention alone, 0 under empty_batch alone (p = 0.25); " + SHOWN
    )


@pytest.mark.parametrize("turned", [False, True], ids=["as planned", "the other way round"])
def test_fixes_that_differ_are_told_with_their_paired_numbers(turned: bool) -> None:
    many = {"no-resurrection": (50, 9, 0), "log-matching": (0, 1, 0)}

    _, differences = sentences(folder({}, many, turned=turned))

    under = ["9 under leo_retention alone", "0 under empty_batch alone"]
    names = ["leo_retention", "empty_batch"]
    if turned:
        under, names = under[::-1], names[::-1]
    assert differences == (
        f"{' and '.join(names)} differ in no-resurrection: 50 cases under both, "
        f"{', '.join(under)} (p = 0.0078); {SHOWN}"
    )


def cause(text: str, runs: Mapping[str, int], story: str | None) -> Cause:
    """`runs` by the label of their rule set."""
    shares = tuple(Share("plain", 0, label, count, 1_000, None) for label, count in runs.items())
    shown = None if story is None else Shown(Path(f"scenarios/x/{story}.yaml"), "", 3)
    example = Example(1, "plain", "none", "log-matching", 1, 1, "")
    return Cause(text, sum(runs.values()), {}, shares, example, shown)


def test_what_remains_under_both_has_its_cause_and_its_story() -> None:
    found = (
        cause("cut by epochs", {"none": 50, "leo_retention": 2, "empty_batch": 1}, None),
        cause("closed by one", {"none": 9, "leo_retention": 0, "empty_batch": 4}, "a_01_b"),
        cause("a late write", {"none": 5, "leo_retention": 9, "empty_batch": 8}, "bug_01_x"),
    )

    *_, remains = sentences(folder({}), Causes(Path(), 88, found))

    assert remains == (
        "What remains under both leo_retention and empty_batch: a late write (9 and 8 runs; "
        "bug_01_x); cut by epochs (2 and 1 runs; not known)."
    )


def many(violated: list[int]) -> SweepFolder:
    """Nine cures of 100 cases each, some of which violate what the plan is about."""
    labels = [f"cure {number}" for number in range(9)]
    entries: list[dict[str, Any]] = [
        entry(index, label, {"holds": 100}, counts={"about": {"any": count} if count else {}})
        for index, (label, count) in enumerate(zip(labels, violated, strict=True))
    ]
    pairs = [
        pair(left, right, {"holds/holds": 100})
        | {"about": {"both": 0, "only_left": violated[left], "only_right": violated[right]}}
        for left in range(9)
        for right in range(left + 1, 9)
    ]
    rule_sets = [
        {**rule_set(index, "none"), "label": label, "swept": {"a": str(index), "b": "x"}}
        for index, label in enumerate(labels)
    ]
    about = {"about": [LOG_DIVERGENCE, "transactions"]}
    return folder_of(rule_sets, entries, pairs, plan=about)


def test_of_many_rule_sets_those_that_violate_least_tie() -> None:
    fewest, apart = sentences(many([20, 7, 0, 9, 9, 9, 9, 1, 0]))

    assert fewest == (
        "Fewest cases of log divergence or transactions: a tie of cure 2 and cure 8, each none of "
        "100 seeds."
    )
    assert apart.startswith(
        "More under cure 0 (20), cure 1 (7), cure 3 (9), cure 4 (9), cure 5 (9) and cure 6 (9); "
        "too near to tell: cure 7; 95 % intervals on the same seeds; "
    )


def test_one_that_violates_least_alone_does_not_tie() -> None:
    fewest, apart = sentences(many([1, 1, 0, 1, 1, 1, 1, 1, 1]))

    assert fewest.endswith(": cure 2, none of 100 seeds.")
    assert apart.startswith("No other is told apart from it; 95 % intervals")


def test_one_rule_set_has_its_rate_and_what_is_not_green_is_said() -> None:
    alone = entry(0, "none", {"holds": 90, "violated": 8, "error": 2})

    assert sentences(folder_of([rule_set(0, "none")], [alone], [])) == (
        f"An invariant was violated in 8 of 98 runs (8.16 %; 3.59 to 15.5 %); {INTERVALS}.",
        "Not green: of 100 runs 2 ended in an exception.",
    )
    assert sentences(both_fixes())[-1] == (
        "Not green: of 3,000 runs 2 ended in an exception and 2 hit a bound."
    )


def test_environments_have_the_same_seeds_so_no_interval_is_of_both_together() -> None:
    plain, hunted = (entry(0, "none", {"holds": 100 - runs, "violated": runs}) for runs in (8, 12))
    both = entry(0, "none", {"holds": 180, "violated": 20})
    environments: dict[str, Any] = {"plain": ([plain], []), "hunted": ([hunted], [])}
    out = folder_of([rule_set(0, "none")], [both], [], environments=environments)

    (told,) = sentences(out)
    assert told == (
        "An invariant was violated in 8 of 100 runs (8.00 %; 3.52 to 15.2 %) in plain, "
        f"12 of 100 runs (12.0 %; 6.36 to 20.0 %) in hunted; {INTERVALS}."
    )


def test_without_a_judged_run_nothing_is_claimed() -> None:
    entries = [entry(place, fix, {"error": 5}) for place, fix in enumerate(FIXES[:2])]
    rule_sets = [rule_set(*one) for one in enumerate(FIXES[:2])]
    out = folder_of(rule_sets, entries, [pair(0, 1, {"error/error": 5}, ended=0)])

    assert sentences(out) == (
        "No run was judged.",
        "Not green: of 10 runs 10 ended in an exception.",
    )
