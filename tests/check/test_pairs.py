"""Every law can be violated, and no near miss is taken for a violation."""

import re
from pathlib import Path

import pytest

from sim.check import Checker
from sim.check.checker import known_invariants
from sim.check.violation import Violation
from sim.trace import Event
from tests.check.pairs import HAND_MADE, TESTED_APART
from tests.check.pairs.handmade import HandMade
from tests.check.unusual import asking_always
from tests.story.pairs import PAIRS

ROOT = Path(__file__).parents[2]
BY_HAND = [(name, pair) for name, pairs in HAND_MADE.items() for pair in pairs]


def violations(name: str, pair: HandMade, events: list[Event], *, always: bool) -> list[Violation]:
    checker = Checker(pair.rules, [name], **pair.checker)
    if always:
        asking_always(checker)
    for number, event in enumerate(events, start=1):
        checker.on(number, event)
    return checker.violations


@pytest.mark.parametrize("name", sorted({*known_invariants()} - {*TESTED_APART}))
def test_a_law_has_a_violation_and_two_near_misses_at_least(name: str) -> None:
    stories, by_hand = PAIRS.get(name, []), HAND_MADE.get(name, [])
    violating = [*{pair.violating for pair in stories}, *(pair.violating for pair in by_hand)]
    near_misses = [*{pair.near_miss for pair in stories}, *(pair.near_miss for pair in by_hand)]

    assert len(violating) >= 1
    assert len(near_misses) >= 2


@pytest.mark.parametrize("name", TESTED_APART)
def test_a_law_that_is_tested_apart_has_a_violation_and_two_near_misses(name: str) -> None:
    tests = (ROOT / TESTED_APART[name]).read_text(encoding="utf-8")
    asked = re.findall(rf'violations_of\("{name}".*', tests)

    assert len([line for line in asked if line.endswith(" == []")]) >= 2
    assert any(not line.endswith(" == []") for line in asked)


def test_every_pair_is_of_a_law() -> None:
    assert {*PAIRS, *HAND_MADE} <= set(known_invariants())


@pytest.mark.parametrize(("name", "pair"), BY_HAND)
def test_a_hand_made_violation_is_found_and_its_near_miss_is_not(name: str, pair: HandMade) -> None:
    violating, near_miss = list(pair.violating), list(pair.near_miss)

    assert violations(name, pair, violating, always=False)
    assert violations(name, pair, near_miss, always=False) == []


@pytest.mark.parametrize(("name", "pair"), BY_HAND)
def test_a_hand_made_violation_is_no_usual_event(name: str, pair: HandMade) -> None:
    for events in (list(pair.violating), list(pair.near_miss)):
        always, unusual = (violations(name, pair, events, always=each) for each in (True, False))
        assert always == unusual


@pytest.mark.parametrize(("name", "pair"), BY_HAND)
def test_a_hand_made_near_miss_is_near(name: str, pair: HandMade) -> None:
    """Few events differ, whatever follows from the one step that does."""
    shared = sum(event in pair.violating for event in pair.near_miss)

    assert max(len(pair.violating), len(pair.near_miss)) - shared <= 6
