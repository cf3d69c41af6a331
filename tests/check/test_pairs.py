"""Every invariant can be violated, and no near miss is taken for a violation."""

import pytest

from sim.check import Checker
from sim.check.checker import known_invariants
from sim.check.violation import Violation
from tests.check.text import Case, cases_of, shown
from tests.story.pairs import PAIRS

CASES = cases_of("pairs/*.txt")


def violations(case: Case, side: str) -> list[Violation]:
    checker = Checker(case.rules, [name_of(case)], **case.checker)
    for at, event in case.happened(side):
        checker.on(at, event)
    return checker.violations


def name_of(case: Case) -> str:
    return case.head.split()[0].rstrip(":")


def places_of(case: Case) -> list[str]:
    return case.head.partition(": ")[0].split()[1:]


def place(violation: Violation) -> str:
    _, _, replica, offset, key, *_ = violation
    return (replica or "") + ("" if offset is None else f"@{offset}") + (f":{key}" if key else "")


def ids() -> list[str]:
    """The invariant of each case, and which of its cases it is."""
    names = [name_of(case) for case in CASES]
    return [f"{name}-{names[:number].count(name)}" for number, name in enumerate(names)]


@pytest.mark.parametrize("case", CASES, ids=ids())
def test_a_violation_is_found_where_it_is_and_its_near_miss_is_not(case: Case) -> None:
    found = violations(case, "-")
    evidence = [f"{name}={shown(value)}" for one in found[:1] for name, value in one.evidence]

    assert [place(each) for each in found] == places_of(case)
    assert sorted(evidence) == sorted(word for line in case.notes["shows"] for word in line)
    assert all("{" not in each.sentence for each in found)
    assert violations(case, "+") == []


@pytest.mark.parametrize("name", known_invariants())
def test_an_invariant_has_a_violation_and_two_near_misses_at_least(name: str) -> None:
    stories, by_hand = PAIRS.get(name, []), [case for case in CASES if name_of(case) == name]
    near_misses = [case for case in by_hand if case.sides["+"] or not places_of(case)]

    assert stories or any(map(places_of, by_hand))
    assert len({pair.near_miss for pair in stories}) + len(near_misses) >= 2


def test_every_pair_is_of_an_invariant() -> None:
    assert {*PAIRS, *map(name_of, CASES)} <= set(known_invariants())
