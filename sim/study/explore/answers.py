"""Answers of the searches of a plan: what breaks, after how many moves, and how."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, count
from pathlib import Path
from typing import Any, Final, NamedTuple

from sim.bounds import Bounds, bounded
from sim.check.certify import certify
from sim.diagnose.shrink.writing import file_of
from sim.diagnose.what_if import near_miss_of, violated_by
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
from sim.study.explore.levels import Break, Breaks, Engine, Reached, in_this_process
from sim.study.explore.plan import SearchPlan
from sim.study.explore.search import Level, Searched
from sim.study.explore.world import Move, World, step_of
from sim.study.workers import pool_of

Task = tuple[str, str]
"""A search of a plan: a label and, of two rule sets that are compared, the other one."""


class Progress(NamedTuple):
    """Progress of a search.

    Attributes:
        depth: Number of the last finished level.
        states: Number of states so far.
        frontier: Number of states in the next level.
        seconds: Real time since the search began or was resumed.
        resumed: True for the last level that an earlier search left.
    """

    depth: int
    states: int
    frontier: int
    seconds: float
    resumed: bool = False


OnLevel = Callable[[str, Progress], None]
"""Takes the name of a search and its progress."""


UP_TO_8_GB: Final = Bounds(None, 8_000)
"""Default bounds of one search."""


def ignore_progress(_name: str, _progress: Progress) -> None:
    """Ignores the progress of a search."""


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
            other value of one rule makes it hold.
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


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer of a search under one rule set, or under two side by side.

    Attributes:
        label: Label of the rule set; of two, the one in which the witnesses break.
        against: Label of the other one, in which they break nothing of the same name; or empty.
        levels: A row for each depth.
        exhausted: True if every schedule of the world was followed to its end.
        witnesses: The broken invariants, those of fewer moves first.
        seconds: Real time of the search.
        interrupted: True if Ctrl-C stopped it.
    """

    label: str
    against: str
    levels: tuple[Level, ...]
    exhausted: bool
    witnesses: tuple[SearchWitness, ...]
    seconds: float
    interrupted: bool = False

    @property
    def states(self) -> int:
        """Number of states; those that differ in the names of replicas alone count once."""
        return sum(level.states for level in self.levels)

    @property
    def transitions(self) -> int:
        """Number of moves from these states that change something."""
        return sum(level.transitions for level in self.levels)

    @property
    def depth(self) -> int:
        """Number of moves of the longest schedule."""
        return len(self.levels) - 1


def explore(
    plan: SearchPlan,
    *,
    processes: int = 1,
    bounds: Bounds = UP_TO_8_GB,
    on_level: OnLevel = ignore_progress,
    done: Collection[Task] = (),
    keep: Path | None = None,
    engine: Engine | None = None,
) -> Iterator[tuple[SearchAnswer, ...]]:
    """Searches every rule set of a plan, then each pair that it compares; yields as they end.

    Args:
        plan: The plan.
        processes: Number of searches at a time; one runs in this process.
        bounds: Bounds of each search.
        on_level: Takes the progress after every level, in the process of the search.
        done: Searches to leave out.
        keep: Folder for the levels of unfinished searches; a search resumes after those in it.
        engine: Engine of the searches, which then run one after the other; None for this process.
    """
    tasks = [task for task in tasks_of(plan) if task not in done]
    if processes == 1 or len(tasks) == 1 or engine is not None:
        for task in tasks:
            answers = answers_of(plan, task, bounds, on_level, keep, engine)
            yield answers
            if answers[0].interrupted:
                raise KeyboardInterrupt
        return
    with pool_of(processes) as pool:
        futures = [pool.submit(answers_of, plan, task, bounds, on_level, keep) for task in tasks]
        for future in as_completed(futures):
            yield future.result()


def tasks_of(plan: SearchPlan) -> list[Task]:
    """The searches of a plan."""
    return [*[(label, "") for label, _ in plan.searched()], *combinations(plan.compare, 2)]


def answers_of(
    plan: SearchPlan,
    task: Task,
    bounds: Bounds = UP_TO_8_GB,
    on_level: OnLevel = ignore_progress,
    keep: Path | None = None,
    engine: Engine | None = None,
) -> tuple[SearchAnswer, ...]:
    """Makes one search: one answer, or two on what breaks in one of two worlds alone."""
    rules = dict(plan.searched())
    labels = [label for label in task if label]
    searched = Searched(plan.world_of(), tuple(rules[label] for label in labels))
    began = time.monotonic()
    engine = engine or partial(in_this_process, keep=keep)
    reached = engine(searched, plan.depth, sorted(plan.invariants))
    levels: list[Level] = []
    breaks: Breaks = {}
    frontier, interrupted = 1, False

    def note(one: Reached) -> None:
        nonlocal frontier
        breaks.update(one.breaks)
        if one.level is not None:
            frontier = one.frontier
            levels.append(one.level)
            states, seconds = sum(level.states for level in levels), time.monotonic() - began
            how_far = Progress(one.level.depth, states, frontier, seconds, one.resumed)
            on_level(" against ".join(labels), how_far)

    try:
        note(next(reached))  # the start is judged in any case
        with bounded(bounds):
            for one in reached:
                note(one)
    except KeyboardInterrupt:
        interrupted = True
    return tuple(
        SearchAnswer(
            label,
            labels[1 - place] if len(labels) > 1 else "",
            tuple(levels),
            not frontier,
            tuple(
                sorted(
                    _witnesses(breaks, place, labels, [rules[one] for one in labels], plan),
                    key=lambda one: one.steps,
                )
            ),
            time.monotonic() - began,
            interrupted,
        )
        for place, label in enumerate(labels)
    )


def _witnesses(
    breaks: Breaks, place: int, labels: Sequence[str], rules: Sequence[Rules], plan: SearchPlan
) -> Iterator[SearchWitness]:
    found = {name: one for (world, name), one in breaks.items() if world == place}
    named = [name for name in searchable() if name in found]
    for invariant in named:
        story = _story_of(plan.world_of(), rules, place, invariant, found[invariant])
        sentence, disputed = confirmed(story, invariant)
        other: Story | Scenario | None
        if len(rules) > 1:
            other, healed_by = replace(story, rules=rules[1 - place]), labels[1 - place]
            if invariant in violated_by(other, invariant):
                raise AssertionError(f"{invariant}: both break it, and one alone was to")
        else:
            near = near_miss_of(story, invariant)
            other, healed_by = (near.value, near.change) if near else (None, "")
        yield SearchWitness(
            invariant,
            sum(step.op not in JUDGING_STEPS for step in story.steps),
            tuple(step.line for step in story.steps),
            sentence,
            file_of(story, invariant, sentence),
            file_of(other, invariant) if other is not None else "",
            healed_by,
            disputed,
        )


def _story_of(
    world: World, rules: Sequence[Rules], place: int, invariant: str, found: Break
) -> Story:
    """The story of a schedule, without final fetches that `quiesce` makes as well.

    It is known to be shortest only after a search of one rule set for an invariant that is not
    judged at rest.
    """
    moves, at_rest = [*found.moves], found.ends_with == QUIESCE
    source = "replog explore"
    if len(rules) == 1 and not at_rest:
        source += f": no shorter schedule of this world breaks {invariant}"

    def story_with(moves: Sequence[Move]) -> Story:
        return story_of(
            world, rules[place], moves, ends_with=found.ends_with, name=invariant, source=source
        )

    story = story_with(moves)
    while at_rest and moves[-1:] and moves[-1].op == "fetch":
        shorter = story_with(moves[:-1])
        alone = len(rules) == 1 or not _breaks(replace(shorter, rules=rules[1 - place]), invariant)
        if not _breaks(shorter, invariant) or not alone:
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


def _breaks(story: Story, invariant: str) -> bool:
    """Returns True if the checker finds the invariant violated in a story."""
    run = run_story(replace(story, expect=StoryExpect((invariant,))))
    return any(one.invariant == invariant for one in run.violations)


def confirmed(story: Story, invariant: str) -> tuple[str, bool]:
    """The checker's sentence on a story, and True if `certify` finds something else.

    Raises:
        AssertionError: The checker finds nothing: it or the search is wrong.
    """
    run = run_story(replace(story, expect=StoryExpect((invariant,))))
    said = [one for one in run.violations if one.invariant == invariant]
    if not said:
        raise AssertionError(f"{invariant}: the checker finds no violation in {story.steps}")
    return said[0].sentence, bool(differing(run))


def differing(run: Run) -> list[str]:
    """The differences between `certify` and the checker on the run of a story."""
    return certify(b"".join(trace_lines(run))).differing


def as_document(answers: Sequence[SearchAnswer]) -> list[dict[str, Any]]:
    """Answers as JSON has them."""
    return [
        {
            "label": one.label,
            **({"against": one.against} if one.against else {}),
            "states": one.states,
            "transitions": one.transitions,
            "depth": one.depth,
            "exhausted": one.exhausted,
            "seconds": round(one.seconds, 1),
            "levels": [level._asdict() for level in one.levels],
            "witnesses": [
                {
                    "invariant": witness.invariant,
                    "steps": witness.steps,
                    "schedule": list(witness.schedule),
                    "sentence": witness.sentence,
                    **({"healed_by": witness.healed_by} if witness.healed_by else {}),
                    **({"disputed": True} if witness.disputed else {}),
                }
                for witness in one.witnesses
            ],
        }
        for one in answers
    ]
