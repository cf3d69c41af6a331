"""Numbers of states of tiny worlds, against a plain enumeration with the story engine."""

from typing import Any

import pytest

from sim.simulate.story.format import STORY_DEFAULTS
from sim.study.explore.search import Search
from sim.study.explore.space import Space
from sim.study.explore.world import Budgets, World
from tests.schedules.enumeration import Tiny, enumerated

PAIR = ("r1", "r2")
WORLDS = [
    (
        Tiny(PAIR, PAIR, ("k",), {"append": 1, "elect_from_isr": 2, "compact": 1, "crash": 1}),
        {},
    ),
    (Tiny(PAIR, ("r1",), ("a", "b"), {"append": 2, "elect_from_isr": 1, "compact": 2}), {}),
    (
        Tiny(
            ("r1", "r2", "r3"),
            ("r1", "r2", "r3"),
            ("k",),
            {"append": 1, "elect_from_isr": 1, "compact": 1},
        ),
        {},
    ),
    (
        Tiny(PAIR, PAIR, ("k",), {"append": 1, "elect_from_isr": 1, "crash": 1, "isr": 1}),
        {"truncation": "high_watermark"},
    ),
    (
        Tiny(PAIR, PAIR, ("k",), {"append": 1, "elect_from_isr": 1, "crash": 1, "isr": 1}),
        {"high_watermark_waits_for": "caught_up_eligible"},
    ),
    (
        Tiny(
            PAIR, ("r1",), ("k",), {"append": 1, "elect_from_isr": 2, "compact": 0, "snapshot": 1}
        ),
        {},
    ),
]


@pytest.mark.parametrize(("tiny", "values"), WORLDS)
def test_a_search_meets_the_states_of_a_plain_enumeration(
    tiny: Tiny, values: dict[str, Any]
) -> None:
    rules = STORY_DEFAULTS.with_values({"strategy": "offset", **values})
    used = tiny.budget.get
    world = World(
        replicas=len(tiny.replicas),
        isr=tuple(tiny.replicas.index(one) for one in tiny.isr),
        keys=tiny.keys,
        versions=(0,),
        tombstones=False,
        clean=True,
        budgets=Budgets(
            appends=used("append", 0),
            epochs=used("elect_from_isr", 0),
            cleanings=used("compact", 0),
            crashes=used("crash", 0),
            shrinks=used("isr", 0),
            snapshots=used("snapshot", 0),
        ),
    )
    expected = enumerated(tiny, rules)

    plain = [*Search(Space(world, rules, symmetry=False)).levels()]
    assert [level.states for level in plain] == expected.states
    assert [level.transitions for level in plain] == expected.transitions
    canonical = [*Search(Space(world, rules)).levels()]
    assert [level.states for level in canonical] == expected.orbits
