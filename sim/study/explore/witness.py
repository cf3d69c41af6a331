"""Witnesses of a search: from the first break of an invariant to its schedule, and to a story.

The checker and `certify` judge the story of each schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from sim.check import Violation
from sim.check.certify import certify
from sim.diagnose.shrink.writing import file_of
from sim.diagnose.what_if import near_miss_of
from sim.protocol.rules import Rules
from sim.simulate.run import Run
from sim.simulate.run.stories import run_story
from sim.simulate.run.trace_file import trace_lines
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story, StoryExpect
from sim.simulate.story.op import Step
from sim.simulate.story.steps import line_of
from sim.study.explore.judging import JUDGING_STEPS, QUIESCE, searchable
from sim.study.explore.search import NO_MOVE, FirstBreak, Search
from sim.study.explore.world import Move, World, step_of


class Break(NamedTuple):
    """A shortest schedule that breaks an invariant.

    Attributes:
        depth: Number of its moves.
        moves: The moves.
        ends_with: Step after them that judges the invariant in a story; empty if it is judged at
            once.
    """

    depth: int
    moves: list[Move]
    ends_with: str


Breaks = dict[tuple[int, str], Break]
"""World (0 or 1) and invariant -> the schedule."""


def schedule_of(search: Search, found: FirstBreak) -> list[Move]:
    """The moves from the start to a break, with the numbers that replicas have at the start."""
    depth, row, taken = found.depth, found.row, []
    if found.move != NO_MOVE:
        depth, taken = depth - 1, [(found.move, 0)]
    while depth > 0:
        parents = search.parents[depth - 1]
        taken.append((int(parents.moves[row]), int(parents.orders[row])))
        row, depth = int(parents.rows[row]), depth - 1
    return named_moves(search, taken[::-1])


def named_moves(search: Search, taken: Sequence[tuple[int, int]]) -> list[Move]:
    """Moves with the numbers that replicas have at the start.

    Args:
        search: The search with these moves.
        taken: (number of the move, number of the order that renames replicas after it) of each.
    """
    named = _renamed(range(search.n), search.orders[search.start_order])
    moves = []
    for number, order in taken:
        move = search.moves[number]
        moves.append(move._replace(who=tuple(named[one] for one in move.who)))
        for renaming in (search.order_of(move), order):
            named = _renamed(named, search.orders[renaming])
    return moves


def _renamed(named: Sequence[int], order: Sequence[int]) -> list[int]:
    """Each replica's number at the start, by its new number; `named` has it by the old one."""
    found = list(named)
    for old, new in enumerate(order):
        found[new] = named[old]
    return found


@dataclass(frozen=True, slots=True)
class SearchWitness:
    """A shortest schedule after which an invariant is broken.

    Attributes:
        invariant: Name of the invariant.
        steps: Number of its moves, without a `quiesce` or `check` after them and, of an invariant
            that is judged at rest, without the fetches that resting makes anyway.
        schedule: Its steps as a story has them, a line each.
        sentence: Sentence of the checker on the violation.
        story: Text of the story's file.
        near_miss: Text of the file of the same schedule where the invariant holds; empty if no
            other value of one rule avoids every violation.
        healed_by: The rule with the value that makes it hold; of two rule sets, the other one.
        disputed: True if `certify` does not agree with the checker on this schedule, so that one
            of them is wrong.
    """

    invariant: str
    steps: int
    schedule: tuple[str, ...]
    sentence: str
    story: str
    near_miss: str
    healed_by: str
    disputed: bool = False


def witnesses_of(
    world: World, breaks: Mapping[str, Break], rules: Rules, against: str, other: Rules | None
) -> Iterator[SearchWitness]:
    """The witnesses of what breaks under some rules.

    Args:
        world: The world.
        breaks: Invariant -> its schedule.
        rules: The rules.
        against: Label of the rule set under which it does not break; empty for none.
        other: The rules of that one.
    """
    for invariant in (name for name in searchable() if name in breaks):
        story = _story_of(world, rules, other, invariant, breaks[invariant])
        sentence, disputed = confirmed(story, invariant)
        healed: Story | Scenario | None
        if other is not None:
            healed, healed_by = replace(story, rules=other), against
            if _breaks(healed, invariant):
                raise AssertionError(f"{invariant}: both break it, and one alone was to")
        else:
            near = near_miss_of(story, invariant)
            healed, healed_by = (near.value, near.change) if near else (None, "")
        if healed is not None:
            healed = replace(healed, id=f"{story.id}_near_miss")
        yield SearchWitness(
            invariant,
            sum(step.op not in JUDGING_STEPS for step in story.steps),
            tuple(step.line for step in story.steps),
            sentence,
            file_of(story, invariant, sentence),
            file_of(healed, invariant) if healed is not None else "",
            healed_by,
            disputed,
        )


def _story_of(
    world: World, rules: Rules, other: Rules | None, invariant: str, found: Break
) -> Story:
    """The story of a schedule, without final fetches that `quiesce` makes as well.

    It is known to be shortest only after a search of one rule set for an invariant that is not
    judged at rest.
    """
    moves, at_rest = [*found.moves], found.ends_with == QUIESCE
    source = "replog explore"
    if other is None and not at_rest:
        source += f": no shorter schedule of this world breaks {invariant}"

    def story_with(moves: Sequence[Move]) -> Story:
        return story_of(
            world, rules, moves, ends_with=found.ends_with, name=invariant, source=source
        )

    story = story_with(moves)
    while at_rest and moves[-1:] and moves[-1].op == "fetch":
        shorter = story_with(moves[:-1])
        both = other is not None and _breaks(replace(shorter, rules=other), invariant)
        if both or not _breaks(shorter, invariant):
            break
        moves, story = moves[:-1], shorter
    return story


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


def _run(story: Story, invariant: str) -> tuple[Run, list[Violation]]:
    """Runs a story in which an invariant is judged; returns its violations, too."""
    run = run_story(replace(story, expect=StoryExpect((invariant,))))
    return run, [one for one in run.violations if one.invariant == invariant]


def _breaks(story: Story, invariant: str) -> bool:
    return bool(_run(story, invariant)[1])


def confirmed(story: Story, invariant: str) -> tuple[str, bool]:
    """The checker's sentence on a story, and True if `certify` finds something else.

    Raises:
        AssertionError: The checker finds nothing: it or the search is wrong.
    """
    run, said = _run(story, invariant)
    if not said:
        raise AssertionError(f"{invariant}: the checker finds no violation in {story.steps}")
    return said[0].sentence, bool(differing(run))


def differing(run: Run) -> list[str]:
    """The differences between `certify` and the checker on the run of a story."""
    return certify(b"".join(trace_lines(run))).differing
