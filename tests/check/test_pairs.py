"""Every invariant can be violated, and no near miss is taken for a violation."""

import pytest

from sim.check.checker import known_invariants
from tests.check.text import Case, cases_of, place, shown
from tests.story.pairs import PAIRS

CASES = cases_of("pairs/*.txt")


def ids() -> list[str]:
    """The invariant of each case, and which of its cases it is."""
    names = [case.name for case in CASES]
    return [f"{name}-{names[:number].count(name)}" for number, name in enumerate(names)]


@pytest.mark.parametrize("case", CASES, ids=ids())
def test_a_violation_is_found_where_it_is_and_its_near_miss_is_not(case: Case) -> None:
    found = case.checked(case.name).violations
    evidence = [f"{name}={shown(value)}" for one in found[:1] for name, value in one.evidence]

    assert [place(one.replica, one.offset, one.key) for one in found] == case.places
    assert sorted(evidence) == sorted(word for line in case.notes["shows"] for word in line)
    assert all("{" not in each.sentence for each in found)
    assert case.checked(case.name, side="+").violations == []


@pytest.mark.parametrize("name", known_invariants())
def test_an_invariant_has_a_violation_and_two_near_misses_at_least(name: str) -> None:
    stories, by_hand = PAIRS.get(name, []), [case for case in CASES if case.name == name]
    near_misses = [case for case in by_hand if case.sides["+"] or not case.places]

    assert stories or any(case.places for case in by_hand)
    assert len({pair.near_miss for pair in stories}) + len(near_misses) >= 2


def test_every_pair_is_of_an_invariant() -> None:
    assert {*PAIRS, *[case.name for case in CASES]} <= set(known_invariants())
