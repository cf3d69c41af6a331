"""Every invariant can be violated, and no near miss is taken for a violation."""

from pathlib import Path

import pytest

from sim.check import Checker
from sim.check.checker import known_invariants
from sim.check.violation import RecordSeen, Value, Violation
from sim.trace import Event
from tests.check.pairs.text import Case, cases_of
from tests.check.unusual import asking_always
from tests.story.pairs import PAIRS

CASES = [
    case for path in sorted(Path(__file__).parent.glob("pairs/*.txt")) for case in cases_of(path)
]


def violations(case: Case, events: list[Event], *, always: bool = False) -> list[Violation]:
    checker = Checker(case.rules, [case.name], **case.checker)
    if always:
        asking_always(checker)
    for number, event in enumerate(events, start=1):
        checker.on(number, event)
    return checker.violations


def shown(violation: Violation) -> dict[str, str]:
    """Its evidence as texts have it: records by uid, no blanks."""
    return {name: told(value) for name, value in violation.evidence}


def told(value: Value) -> str:
    if isinstance(value, RecordSeen):
        return f"#{value.uid}"
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text.replace(" ", "_")


def place(violation: Violation) -> str:
    _, _, replica, offset, key, *_ = violation
    return (replica or "") + ("" if offset is None else f"@{offset}") + (f":{key}" if key else "")


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{number}-{case.name}" for number, case in enumerate(CASES)]
)
def test_a_violation_is_found_where_it_is_and_its_near_miss_is_not(case: Case) -> None:
    found = violations(case, case.violating)

    assert [place(each) for each in found] == case.places
    assert not found or shown(found[0]) == case.evidence
    assert all("{" not in each.sentence for each in found)
    assert violations(case, case.violating, always=True) == found
    assert violations(case, case.near_miss) == []
    assert violations(case, case.near_miss, always=True) == []


@pytest.mark.parametrize("name", known_invariants())
def test_an_invariant_has_a_violation_and_two_near_misses_at_least(name: str) -> None:
    stories, by_hand = PAIRS.get(name, []), [case for case in CASES if case.name == name]
    near_misses = [case for case in by_hand if case.near_miss or not case.places]

    assert stories or any(case.places for case in by_hand)
    assert len({pair.near_miss for pair in stories}) + len(near_misses) >= 2


def test_every_pair_is_of_an_invariant() -> None:
    assert {*PAIRS, *(case.name for case in CASES)} <= set(known_invariants())
