"""The verdict: sentences made of claims, each supported by the cells; no claim survives a cell."""

from collections.abc import Mapping, Sequence

import pytest

from sim.study.report.claims import WORDS_MAX, Sentence, verdict_of
from sim.study.report.grid import RUNS, SEARCH, STORY, UNCLEAN, Finding, Grid, ReportDecision, Unit
from sim.study.sweep.hazards import HAZARDS
from tests.report.contradicting import contradictions

TWICE, LOST, BACK = (
    "offset given twice",
    "committed record lost",
    "deleted key returns",
)
FIXES = ("none", "leo", "empty")
SMALL, LARGE = Unit(SEARCH, "small"), Unit(SEARCH, "large")
PAIRS = Unit(SEARCH, "pairs", UNCLEAN)
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


def test_what_all_others_prevent_is_said_with_the_searches_in_which_they_do() -> None:
    found = grid(searched(TWICE, SMALL, 9, None, None), searched(LOST, LARGE, 7, 14, None))

    differ, closed = texts(found)

    assert differ == "Searches find lost committed records (large) under leo, not empty."
    assert closed == (
        "In searches with clean elections leo and empty prevent offsets given twice (small)."
    )


@pytest.mark.parametrize(
    ("adding", "said"),
    [
        (searched(BACK, LARGE, None, None, 8), "empty adds returning deleted keys (large)"),
        (searched(BACK, LARGE, None, 8, None), "leo adds returning deleted keys (large)"),
        (searched(BACK, PAIRS, None, 8, 8), "leo and empty add returning deleted keys"),
        (shown(BACK, False, True, False), "leo adds returning deleted keys (finding_01)"),
    ],
)
def test_what_an_alternative_breaks_where_the_first_one_holds_is_said_first(
    adding: Sequence[Finding], said: str
) -> None:
    """Also of a hazard that the first one breaks elsewhere, and whatever else is found."""
    found = grid(
        searched(TWICE, SMALL, 9, 13, None),
        searched(BACK, SMALL, 6, 6, 6),
        adding,
        rates(LOST, 40, 0, 0),
    )

    assert texts(found)[0].startswith(f'Where "none" holds, {said}')


@pytest.mark.parametrize(
    ("found", "unsaid"),
    [
        (searched(BACK, LARGE, None, None, 8), "adds"),
        (searched(TWICE, SMALL, 9, 9, None), ", not "),
        (searched(TWICE, SMALL, 9, None, None), "prevent"),
    ],
)
def test_a_search_that_was_stopped_adds_and_prevents_nothing_and_shows_nothing_to_hold(
    found: Sequence[Finding], unsaid: str
) -> None:
    assert any(unsaid in one for one in texts(grid(found)))
    stopped = [one._replace(bound=9) for one in found]
    assert not any(unsaid in one for one in texts(grid(stopped)))


def test_each_difference_is_said_in_both_directions() -> None:
    found = grid(
        searched(TWICE, SMALL, 9, 13, None),
        searched(LOST, LARGE, 9, None, 8),
        shown(TWICE, True, True, False),
    )

    assert texts(found) == [
        (
            "Searches find offsets given twice (small) under leo, not empty and lost committed "
            "records (large) under empty, not leo; of 1 story 1 breaks more under leo (finding_01: "
            "offsets given twice)."
        )
    ]


def test_worlds_in_which_two_alternatives_differ_are_named_though_both_break_a_hazard() -> None:
    early, late = searched(TWICE, SMALL, 9, 9, None), searched(TWICE, LARGE, 9, None, 13)

    assert texts(grid(early, late)) == [
        (
            "Searches find offsets given twice (small) under leo, not empty and offsets given "
            "twice (large) under empty, not leo."
        )
    ]


def test_a_hazard_that_another_search_breaks_is_not_called_prevented() -> None:
    found = grid(searched(TWICE, SMALL, 9, None, None), searched(TWICE, LARGE, 9, 13, None))

    assert not any("prevent" in one for one in texts(found))


def test_every_rate_that_differs_beyond_chance_is_said_and_about_as_many_runs_are() -> None:
    found = grid(rates(TWICE, 40, 0, 0), rates(LOST, 50, 9, 9), rates(BACK, 60, 61, 60))

    assert texts(found) == [
        (
            "In 1,000 plain runs leo and empty lower offsets given twice (40 to 0) and lost "
            "committed records (50 to 9); nothing in the grid distinguishes leo and empty."
        ),
        (
            "In about as many of 1,000 plain runs all of them allow returning deleted keys "
            "(60\u201361)."
        ),
    ]


def test_a_rate_that_differs_beyond_chance_is_a_difference_and_one_within_it_is_none() -> None:
    clear, near = grid(rates(LOST, 30, 30, 5)), grid(rates(LOST, 30, 4, 3))

    assert texts(clear) == [
        "Of 1,000 plain runs lost committed records in 5 under empty and 30 under leo.",
        "In 1,000 plain runs empty lowers lost committed records (30 to 5).",
    ]
    assert texts(near)[0].endswith(
        "(30 to 3\u20134); nothing in the grid distinguishes leo and empty."
    )
    assert texts(grid(rates(LOST, 3, 30, 3)))[0].startswith(
        "In 1,000 plain runs leo raises lost committed records (3 to 30); of 1,000 plain runs"
    )


def test_what_breaks_under_all_is_said_with_the_kind_of_elections() -> None:
    found = grid(
        searched(TWICE, SMALL, 9, 13, 13),
        searched(TWICE, PAIRS, 3, 3, 3),
        searched(LOST, PAIRS, 3, 3, 3),
    )

    assert texts(found)[-1] == (
        "In searches with clean elections all of them allow offsets given twice (small); in "
        "searches with unclean elections lost committed records (pairs)."
    )


def test_a_sentence_that_is_too_long_says_how_much_the_grid_has_besides() -> None:
    found = grid(*(rates(one.name, 50, 0, 0) for one in HAZARDS))

    (said, *_) = texts(found)
    assert len(said.split()) <= WORDS_MAX
    assert said.count(" to 0)") == len(HAZARDS) - int(said.split("; ")[-1].split()[0]) + 1


def test_a_story_that_breaks_a_closed_cell_is_told() -> None:
    before = grid(searched(TWICE, SMALL, 9, None, None), shown(TWICE, True, False, False))
    said = [Sentence("closed", before.comparisons), *verdict_of(before)]
    assert contradictions(before, said) == []

    after = grid(searched(TWICE, SMALL, 9, None, None), shown(TWICE, True, True, False))

    assert contradictions(after, said) == ["offset given twice: finding_01 breaks it under leo"]
    assert "more under leo (finding_01: offsets given twice)" in "".join(texts(after))


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

    assert texts(grid(*found)) == texts(turned)
