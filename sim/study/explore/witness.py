"""Schedules that a search found, as stories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from sim.protocol.rules import Rules
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story
from sim.simulate.story.op import Step
from sim.simulate.story.steps import line_of
from sim.study.explore.search import NO_MOVE, FirstBreak, Search
from sim.study.explore.world import Move, World, step_of


def schedule_of(search: Search, found: FirstBreak) -> list[Move]:
    """The moves from the start to what was found, by the names that replicas have at the start."""
    depth, row, taken = found.depth, found.row, []
    if found.move != NO_MOVE:
        depth, taken = depth - 1, [(found.move, 0)]
    while depth > 0:
        parents = search.parents[depth - 1]
        taken.append((int(parents.moves[row]), int(parents.orders[row])))
        row, depth = int(parents.rows[row]), depth - 1
    return named_moves(search, taken[::-1])


def named_moves(search: Search, taken: Sequence[tuple[int, int]]) -> list[Move]:
    """Moves by the names that replicas have at the start.

    Args:
        search: The search with these moves.
        taken: Number of each move, and of the order that renames replicas after it.
    """
    named = search.start_names()
    moves = []
    for number, order in taken:
        move = search.moves[number]
        moves.append(move._replace(who=tuple(named[one] for one in move.who)))
        for renaming in (search.order_of(move), order):
            named = _renamed(named, search.orders[renaming])
    return moves


def _renamed(named: list[int], order: tuple[int, ...]) -> list[int]:
    """The names at the start by new number, from those by old number."""
    found = list(named)
    for old, new in enumerate(order):
        found[new] = named[old]
    return found


def story_of(
    world: World,
    rules: Rules,
    moves: Sequence[Move],
    *,
    ends_with: str,
    name: str,
    source: str = "replog explore",
) -> Story:
    """The story of a schedule; records are called a, b, c, … in order.

    Args:
        world: The world.
        rules: The rules.
        moves: The schedule.
        ends_with: Step after the moves that judges the invariant; empty for none.
        name: Id of the story.
        source: Source of the story.
    """
    names = world.names
    isr = tuple(names[one] for one in sorted(world.isr))
    story = Story(name, "", source, rules, replicas=names, isr=isr, voters=names)
    driver = StoryDriver(story, invariants=())
    labels, epochs = _labels(), count(1)
    steps: list[Step] = []
    for move in moves:
        label = next(labels) if move.op == "append" else ""
        step = step_of(move, world, driver, epochs.__next__, label)
        if step is not None:
            steps.append(replace(step, number=len(steps) + 1, line=line_of(step.op, step.fields)))
            driver.take(steps[-1])
    if ends_with:
        steps.append(Step(len(steps) + 1, ends_with, {}, ends_with))
    return replace(story, steps=tuple(steps))


def _labels() -> Iterator[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return (letter * times for times in count(1) for letter in letters)
