"""Numbers of states of tiny worlds, against a plain enumeration with the story engine."""

from dataclasses import replace
from typing import Any

import pytest

from sim.simulate.story.format import STORY_DEFAULTS
from sim.study.explore.search import Search
from sim.study.explore.space import Space
from sim.study.explore.world import Budgets, World
from tests.schedules.enumeration import Tiny, enumerated

ONCE = Budgets(appends=1, epochs=1, cleanings=0, crashes=0, shrinks=0, snapshots=0)


def pair(
    budgets: Budgets, *, isr: tuple[int, ...] = (0, 1), keys: tuple[str, ...] = ("k",)
) -> World:
    return World(2, isr, keys, (0,), tombstones=False, clean=True, budgets=budgets)


SHRUNK = pair(ONCE._replace(crashes=1, shrinks=1))
WORLDS = [
    (pair(ONCE._replace(epochs=2, cleanings=1, crashes=1)), {}),
    (pair(ONCE._replace(appends=2, cleanings=2), isr=(0,), keys=("a", "b")), {}),
    (
        replace(pair(ONCE._replace(cleanings=1)), replicas=3, isr=(0, 1, 2)),
        {},
    ),
    (SHRUNK, {"truncation": "high_watermark"}),
    (SHRUNK, {"high_watermark_waits_for": "caught_up_eligible"}),
    (pair(ONCE._replace(epochs=2, snapshots=1), isr=(0,)), {}),
]
COUNTED = {
    "append": "appends",
    "elect_from_isr": "epochs",
    "compact": "cleanings",
    "crash": "crashes",
    "isr": "shrinks",
    "snapshot": "snapshots",
}
"""Steps of a story, and the budget that each takes from."""


@pytest.mark.parametrize(("world", "values"), WORLDS)
def test_a_search_meets_the_states_of_a_plain_enumeration(
    world: World, values: dict[str, Any]
) -> None:
    rules = STORY_DEFAULTS.with_values({"strategy": "offset", **values})
    budget = {op: getattr(world.budgets, name) for op, name in COUNTED.items()}
    in_sync = tuple(world.names[one] for one in world.isr)
    allowed = {op: count for op, count in budget.items() if count}
    expected = enumerated(Tiny(world.names, in_sync, world.keys, allowed), rules)

    plain = [*Search(Space(world, rules, symmetry=False)).levels()]
    assert [level.states for level in plain] == expected.states
    assert [level.transitions for level in plain] == expected.transitions
    canonical = [*Search(Space(world, rules)).levels()]
    assert [level.states for level in canonical] == expected.orbits
