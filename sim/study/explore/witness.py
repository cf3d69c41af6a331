"""Schedules that a search found, as stories, and the shortest one in the world of a story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from sim.bounds import Bounds, bounded
from sim.protocol.rules import Rules
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story
from sim.simulate.story.op import Step
from sim.simulate.story.steps import line_of
from sim.study.explore import check_installation
from sim.study.explore.judging import JUDGED, JUDGING_STEPS
from sim.study.explore.plan import MOST_REPLICAS, MOST_TIMES, beyond
from sim.study.explore.search import NO_MOVE, FirstBreak, Search, Searched
from sim.study.explore.world import USES, Budgets, Move, World, step_of


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


_FREE = ("fetch", "sync", "follow", "restart", "fetch_snapshot", "delete_prefix", "coordinate")
_OF_APPENDS = {"leader", "label", "key", "hdr", "ts", "tombstone", "null_value", "flag"}


@dataclass(frozen=True, slots=True)
class Shortest:
    """The result of a search of the world of a story.

    Attributes:
        why_not: Reason why there was no search, or why it did not end; empty after a whole one.
        moves: Number of moves of the shortest schedule that breaks the invariant.
        syncs: True if the story has steps that are several moves.
        states: Number of states of the search.
        story: The shortest schedule, if it has fewer moves than the story has steps.
    """

    why_not: str = ""
    moves: int = 0
    syncs: bool = False
    states: int = 0
    story: Story | None = None

    def sentence(self) -> str:
        """The result in a sentence about the story."""
        if self.why_not:
            return f"not known to be the shortest: {self.why_not}"
        found = f"{self.states:,} states of its world were searched"
        if self.story is not None:
            return f"a schedule of {self.moves} moves breaks it, too, for any cause; {found}"
        least = f"no schedule of fewer than {self.moves} moves breaks it; {found}"
        return f"{least}; a sync is several" if self.syncs else f"shortest: {least}"


def shortest(story: Story, invariant: str, bounds: Bounds) -> Shortest:
    """Searches for a shorter schedule that breaks an invariant.

    Raises:
        BadInput: There can be no search in this installation.
    """
    check_installation()
    why_not = _why_not(story, invariant)
    if why_not:
        return Shortest(why_not)
    world = world_of(story)
    search = Searched(world, (story.rules,)).search()
    search.only([invariant])
    with bounded(bounds):
        for _level in search.levels():
            if search.result.found:
                break
    found = search.result.found.get((0, invariant))
    if found is None:
        ended = "no schedule of a search breaks it" if search.result.exhausted else "out of time"
        return Shortest(ended)
    length = sum(step.op not in JUDGING_STEPS for step in story.steps)
    syncs = any(step.op == "sync" for step in story.steps)
    other = None
    if found.depth < length:
        moves = schedule_of(search, found)
        other = story_of(world, story.rules, moves, ends_with=found.ends_with, name=story.id)
    return Shortest("", found.depth, syncs, search.result.states, other)


def world_of(story: Story) -> World:
    """The world of a story, with budgets for as many steps as it has."""
    appends = [step.fields for step in story.steps if step.op == "append"]
    versions = dict.fromkeys(fields.get("hdr", fields.get("ts")) for fields in appends)
    used = Counter(USES[step.op] for step in story.steps if step.op in USES)
    return World(
        len(story.replicas),
        tuple(story.replicas.index(name) for name in story.isr),
        tuple(dict.fromkeys(fields["key"] for fields in appends)) or ("k",),
        tuple(versions) or (0,),
        any(fields.keys() & {"tombstone", "null_value", "flag"} for fields in appends),
        all(step.op != "elect" for step in story.steps[1:]),
        Budgets(**{name: used[name] for name in Budgets._fields}),
    )


def _why_not(story: Story, invariant: str) -> str:
    """The reason why no search covers the world of a story; empty if one does."""
    if invariant not in JUDGED:
        return f"a search does not judge {invariant}"
    names = tuple(f"r{one + 1}" for one in range(len(story.replicas)))
    if story.replicas != names or len(names) > MOST_REPLICAS:
        return f"a search has replicas r1 to r{MOST_REPLICAS}"
    for step in story.steps:
        if step.op not in (*USES, *_FREE, *JUDGING_STEPS):
            return f"a search has no {step.op}"
        fields = step.fields
        if step.op == "append" and (fields.keys() - _OF_APPENDS or fields["key"] is None):
            return "a search has no such append: " + step.line
    if max(Counter(step.op for step in story.steps).values(), default=0) > MOST_TIMES:
        return f"a search has nothing more often than {MOST_TIMES} times"
    return "; ".join(beyond(story.rules))
