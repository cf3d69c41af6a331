"""The verdict: sentences made of claims, each supported by the cells; no claim survives a cell."""

from collections.abc import Mapping, Sequence

import pytest

from sim.study.report.claims import Claim, Sentence, contradictions, verdict_of
from sim.study.report.grid import RUNS, SEARCH, STORY, Finding, Grid, ReportDecision, Unit
from sim.study.sweep.hazards import HAZARDS

TWICE, LOST, BACK = (
    "offset given twice",
    "committed record lost",
    "deleted key returns",
)
FIXES = ("none", "leo", "empty")
SMALL, LARGE = Unit(SEARCH, "small"), Unit(SEARCH, "large")
PLAIN, STORY_1 = Unit(RUNS, "plain"), Unit(STORY, "finding_01_a_tail")


def searched(hazard: str, unit: Unit, *moves: int | None) -> list[Finding]:
    """What a search found under each of the three alternatives: after so many moves, or nothing."""
    return [
        Finding(hazard, fix, unit, broken=one is not None, moves=one, states=100)
        for fix, one in zip(FIXES, moves, strict=True)
    ]


def rates(hazard: str, *runs: int, judged: int = 1_000) -> list[Finding]:
    return [
        Finding(hazard, fix, PLAIN, broken=bool(one), runs=one, judged=judged)
        for fix, one in zip(FIXES, runs, strict=True)
    ]


def shown(hazard: str, *broken: bool) -> list[Finding]:
    """A story under each alternative."""
    return [Finding(hazard, fix, STORY_1, one) for fix, one in zip(FIXES, broken, strict=True)]


def grid(*findings: Sequence[Finding], apart: Mapping[tuple[str, str, str], int] = {}) -> Grid:
    """A grid; of rates each case met under fewer alternatives is one of those with the most."""
    found = [one for each in findings for one in each]
    runs = {(one.hazard, one.alternative): one.runs for one in found if one.unit == PLAIN}
    alone = {
        (PLAIN, hazard, fix, other): apart.get(
            (hazard, fix, other), max(0, count - runs[hazard, other])
        )
        for (hazard, fix), count in runs.items()
        for other in FIXES
        if other != fix
    }
    return Grid(ReportDecision("fixes", {fix: {"fix": fix} for fix in FIXES}), found, alone)


def texts(of: Grid) -> list[str]:
    sentences = verdict_of(of)
    assert contradictions(of, sentences) == []
    return [one.text for one in sentences]


def test_what_all_others_prevent_is_said_of_the_searches_in_which_they_do() -> None:
    found = grid(searched(TWICE, SMALL, 9, None, None), searched(LOST, LARGE, 7, 14, None))

    closed, differ = texts(found)

    assert closed == (
        "Both leo and empty prevent an offset given twice in the search of small worlds with clean "
        'elections where "none" does not.'
    )
    assert differ == (
        "They differ: in small worlds with clean elections leo allows the loss of a committed "
        "record (14 moves or more), empty does not."
    )


def test_each_difference_is_said_in_both_directions() -> None:
    found = grid(
        searched(TWICE, SMALL, 9, 13, None),
        searched(BACK, LARGE, None, None, 8),
        shown(TWICE, True, True, False),
    )

    (differ,) = texts(found)

    assert differ == (
        "They differ: in small worlds with clean elections leo allows an offset given twice (13 "
        "moves or more), empty does not; empty allows the return of a deleted key (8 moves or "
        "more), leo does not; of the two, finding_01 shows an offset given twice under leo only."
    )


def test_what_another_search_breaks_under_the_other_is_not_said_of_one_alone() -> None:
    early, late = searched(TWICE, SMALL, 9, 9, None), searched(TWICE, LARGE, 9, None, 13)
    same = searched(TWICE, LARGE, 9, None, 9)

    assert texts(grid(early, late))[0] == (
        "They differ: in small worlds with clean elections an offset given twice takes 9 moves "
        "under leo, 13 under empty."
    )
    assert texts(grid(early, same))[0] == (
        "They differ: in small worlds with clean elections an offset given twice occurs in other "
        "worlds under each."
    )
    alone = verdict_of(grid(early, searched(TWICE, LARGE, 9, None, None)))
    assert contradictions(grid(early, late), alone) != []


def test_a_search_that_was_stopped_does_not_say_that_an_alternative_holds() -> None:
    stopped = [one._replace(bound=9) for one in searched(TWICE, SMALL, 9, 9, None)]

    assert not any("does not" in one for one in texts(grid(stopped)))


def test_a_hazard_that_another_search_breaks_is_not_called_prevented() -> None:
    found = grid(searched(TWICE, SMALL, 9, None, None), searched(TWICE, LARGE, 9, 13, None))

    assert "prevent" not in texts(found)[0]


def test_a_search_that_was_stopped_prevents_nothing() -> None:
    stopped = [one._replace(bound=9) for one in searched(TWICE, SMALL, 9, None, None)]

    assert not any("prevent" in one for one in texts(grid(stopped)))


def test_rates_fall_where_they_differ_beyond_chance_and_stay_where_the_same_runs_meet() -> None:
    found = grid(rates(TWICE, 40, 0, 0), rates(LOST, 50, 9, 9), rates(BACK, 60, 61, 60))

    fell, differ, same = texts(found)

    assert fell == (
        "In 1,000 plain runs, an offset given twice falls from 40 to 0 under both leo and empty."
    )
    assert differ == "No rate distinguishes leo and empty."
    assert same == "All of them allow as often in runs the return of a deleted key."


def test_a_rate_that_differs_beyond_chance_is_a_difference_and_one_within_it_is_none() -> None:
    clear, near = grid(rates(LOST, 30, 30, 5)), grid(rates(LOST, 30, 4, 3))

    assert texts(clear)[0] == (
        "They differ: of 1,000 plain runs the loss of a committed record in 5 under empty and 30 "
        "under leo."
    )
    assert "No rate distinguishes leo and empty." in texts(near)


def test_what_breaks_under_all_is_said() -> None:
    found = grid(searched(TWICE, SMALL, 9, 13, 13), searched(LOST, LARGE, 3, 3, 3))

    assert texts(found)[-1] == (
        "All of them allow an offset given twice and the loss of a committed record in small "
        "worlds."
    )


def test_a_story_that_breaks_a_closed_cell_is_told() -> None:
    before = grid(searched(TWICE, SMALL, 9, None, None), shown(TWICE, True, False, False))
    said = [Sentence("closed", (Claim(TWICE, (), ("leo", "empty"), ()),)), *verdict_of(before)]
    assert contradictions(before, said) == []

    after = grid(searched(TWICE, SMALL, 9, None, None), shown(TWICE, True, True, False))

    assert contradictions(after, said) == ["offset given twice: finding_01 breaks it under leo"]
    assert "finding_01 shows an offset given twice under leo only" in "".join(texts(after))


@pytest.mark.parametrize("moves", [(9, 9, None), (9, None, 9), (None, None, None)])
def test_a_search_that_says_otherwise_is_told(moves: tuple[int | None, ...]) -> None:
    said = verdict_of(grid(searched(TWICE, SMALL, 9, None, None)))

    assert contradictions(grid(searched(TWICE, SMALL, *moves)), said) != []


def test_one_alternative_has_no_verdict() -> None:
    alone = Grid(
        ReportDecision("", {"none": {}}), [Finding(TWICE, "none", PLAIN, True, runs=1)], {}
    )

    assert verdict_of(alone) == []


def test_no_order_of_the_alternatives_hides_one() -> None:
    """Symmetric: with the fixes in the other order the same is said of each."""
    found = [searched(TWICE, SMALL, 9, 13, None), searched(BACK, LARGE, None, None, 8)]
    turned = Grid(
        ReportDecision("fixes", {fix: {"fix": fix} for fix in ("none", "empty", "leo")}),
        [one for each in found for one in each],
        {},
    )

    first, second = (texts(one)[0] for one in (grid(*found), turned))
    for part in ("leo allows an offset given twice (13 moves", "empty allows the return of a"):
        assert part in first
        assert part in second


def test_every_invariant_belongs_to_one_hazard() -> None:
    named = [name for one in HAZARDS for name in one.invariants]

    assert len(named) == len({*named})
    assert len({one.name for one in HAZARDS}) == len(HAZARDS)
