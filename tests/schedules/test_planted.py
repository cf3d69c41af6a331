"""Defects planted in the core that a small world can express are found by its search."""

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import pytest

from sim.study.explore.parts import PLACE, Notes
from sim.study.explore.search import Search
from sim.study.explore.space import Space
from sim.study.explore.world import Budgets, World
from tests.check import defects
from tests.schedules.agreement import rules_of

PAIR = World(
    2,
    (0, 1),
    ("k",),
    (0,),
    tombstones=False,
    clean=True,
    budgets=Budgets(appends=2, epochs=2, cleanings=1),
)
ALONE = replace(
    PAIR, isr=(0,), tombstones=True, budgets=Budgets(appends=2, epochs=1, cleanings=1, passes=1)
)


class Case(NamedTuple):
    """A defect, what the search finds, and at which depth."""

    defect: str
    invariant: str
    depth: int
    world: World = PAIR
    fix: str = "none"


CASES = [
    Case("a high watermark that is one too high", "committed-replicated", 2),
    Case("a leader that waits for nobody", "committed-replicated", 2),
    Case("a position recorded too far", "follower-position-sound", 2),
    Case("a leader that uses an offset again", "no-offset-reuse", 5),
    Case("a follower that leaves a batch out", "hole-justified", 5, replace(PAIR, keys=("a", "b"))),
    Case("a follower that writes one offset further", "record-offset-uniqueness", 3),
    Case("a follower that takes its high watermark back", "hw-monotonic", 4),
    Case("a cut that goes one too far", "no-truncation-below-hw", 7),
    Case("a cleaner that drops a live record", "winner-retained", 5),
    Case("a cleaner that drops a tombstone too early", "no-resurrection", 6, ALONE, "empty_batch"),
    Case("a cleaner that reads too far and denies it", "committed-replicated", 8),
    Case("a cleaner that moves the log end", "leo-preservation", 1),
]


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect shows whenever it can: what a search has seen once it does not ask again."""
    monkeypatch.setattr(defects, "now_and_then", lambda _every: lambda: True)


def found(world: World, fix: str, depth: int) -> dict[str, int]:
    """What breaks in a world after so many moves, and at which depth."""
    rules = rules_of({"strategy": "offset", "fix": fix})
    result = Search(Space(world, rules)).run(depth=depth)
    return {name: one.depth for (_, name), one in result.found.items()}


@cache
def without_defects(world: World, fix: str) -> dict[str, int]:
    """The same of the core as it is, as deep as any case of the world goes."""
    return found(world, fix, max(one.depth for one in CASES if one.world == world))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.defect)
def test_a_planted_defect_is_found(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = without_defects(case.world, case.fix)
    assert case.invariant not in {name for name, depth in sound.items() if depth <= case.depth}
    defects.PLANTED[case.defect].plant(monkeypatch)
    assert found(case.world, case.fix, case.depth).get(case.invariant) == case.depth


def test_what_an_act_reads_and_nobody_notes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    get, hidden = Notes.get, PLACE["log.epochs"]

    def forgetful(self: Notes, place: int) -> Any:
        value = get(self, place)
        self.read.discard(hidden)
        return value

    monkeypatch.setattr(Notes, "get", forgetful)
    world = replace(PAIR, versions=(0, 9))
    with pytest.raises(AssertionError, match="has read what nobody noted"):
        Search(Space(world, rules_of({"strategy": "header"}))).run()
