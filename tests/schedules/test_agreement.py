"""A search judges random schedules as the checker does, and the same whoever is called what."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sim.study.explore.search import Search
from sim.study.explore.space import Space
from sim.study.explore.world import Budgets, World
from tests.schedules.agreement import THREE, TRIED, TWO, Walk, rules_of

SCHEDULES = int(os.environ.get("REPLOG_SCHEDULES", "5"))
"""Of each world; more are more thorough."""


def _states(search: Search, depth: int | None = None) -> int:
    """The number of states that a search finds."""
    return sum(level.states for level in search.levels(depth))


@pytest.mark.parametrize(("world", "values"), TRIED)
def test_search_and_checker_agree_at_every_step(world: World, values: dict[str, Any]) -> None:
    assert list(Walk(world, rules_of(values), seed=1).differences(SCHEDULES)) == []


SMALL = replace(THREE, versions=(0,), tombstones=False, budgets=Budgets(appends=2, epochs=2))
UNCLEAN = replace(SMALL, clean=False, budgets=SMALL.budgets._replace(shrinks=1))
PAIR = replace(TWO, isr=(0, 1), budgets=Budgets(appends=2, epochs=3, crashes=1, shrinks=1))
SNAPPED = Budgets(appends=2, epochs=1, cleanings=1, snapshots=1)


@pytest.mark.parametrize(
    ("world", "values", "depth"),
    [
        (PAIR, {"strategy": "header"}, 5),
        (SMALL, {"truncation": "high_watermark"}, 7),
        (UNCLEAN, {"strategy": "offset"}, 5),
        (replace(TWO, budgets=SNAPPED._replace(epochs=2)), {"strategy": "header"}, 7),
        (
            replace(THREE, tombstones=False, budgets=SNAPPED),
            {"strategy": "header", "commit": "majority"},
            7,
        ),
    ],
)
def test_names_make_no_difference(world: World, values: dict[str, Any], depth: int) -> None:
    spaces = [Space(world, rules_of(values), symmetry=symmetry) for symmetry in (True, False)]
    searches = [Search(space) for space in spaces]
    canonical, plain = (_states(search, depth) for search in searches)
    depths = [{name: found.depth for name, found in one.found.items()} for one in searches]
    assert depths[0] == depths[1] != {}
    assert canonical < plain


@pytest.mark.parametrize("isr", [(0,), (0, 1)])
def test_what_a_coordinator_knows_has_no_order(isr: tuple[int, ...]) -> None:
    budgets = Budgets(appends=1, epochs=2, cleanings=1, passes=1)
    world = replace(TWO, isr=isr, tombstones=True, versions=(0,), budgets=budgets)
    rules = rules_of({"strategy": "offset", "tombstone_removal": "coordinated"})
    canonical, plain = (_states(Search(Space(world, rules, symmetry=one))) for one in (True, False))
    assert canonical < plain <= 2 * canonical


def test_no_two_states_of_four_replicas_share_a_hash() -> None:
    """Some are alike but for who holds what: the first and the last, or the two others."""
    world = replace(
        TWO,
        replicas=4,
        isr=(0, 1, 2, 3),
        versions=(0,),
        budgets=Budgets(appends=1, epochs=1, cleanings=1, crashes=2, grows=0),
    )
    search = Search(Space(world, rules_of({"strategy": "offset"}), symmetry=False))
    expander, rows = search.expanders[0], search.rows
    states = {*map(tuple, rows.tolist())}
    for _ in range(7):
        reached = set[tuple[int, ...]]()
        for placed in expander.placed:
            before = rows[expander.possible(placed.move, expander.facts_of(rows))]
            if len(before):
                reached.update(map(tuple, expander.apply(placed.number, before)[0].tolist()))
        rows = np.array(sorted(reached - states)[:2000], np.int32)
        states |= reached
    everything = np.array(sorted(states), np.int32)
    assert len({*search.hashes(everything)}) == len(states) > 2000


def test_a_search_that_a_depth_ends_has_not_seen_every_schedule() -> None:
    world = replace(TWO, budgets=Budgets(appends=1, epochs=2))
    rules = rules_of({"strategy": "header"})
    deepest = len([*Search(Space(world, rules)).levels()]) - 1
    for depth, exhausted in ((2, False), (deepest - 1, False), (deepest, True)):
        search = Search(Space(world, rules))
        assert len([*search.levels(depth)]) == depth + 1
        assert search.exhausted == exhausted
