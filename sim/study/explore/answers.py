"""Answers of the searches of a plan: what breaks, after how many moves, and how."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from sim.bounds import Bounds, bounded
from sim.plugins import Plugins, in_use, load_in_worker
from sim.study.explore.levels import Engine, Reached, in_this_process
from sim.study.explore.plan import SearchPlan
from sim.study.explore.search import Level, Searched
from sim.study.explore.witness import Breaks, SearchWitness, witnesses_of
from sim.study.workers import pool_of

Task = tuple[str, str]
"""A search of a plan: the label of a rule set, and of the one it is compared with, or empty."""


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
"""Default bounds of one search: 8,000 MB of memory, any time."""


def ignore_progress(_name: str, _progress: Progress) -> None:
    """Ignores the progress of a search."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer of a search under one rule set, or under two side by side.

    Attributes:
        label: Label of the rule set; of two, the one in which the witnesses break.
        against: Label of the other one, in which they break nothing of the same name; or empty.
        levels: Counts of each finished level.
        exhausted: True if every schedule of the world was followed to its end.
        witnesses: A shortest schedule for each broken invariant, those of fewer moves first.
        seconds: Real time of the search and of its witnesses so far.
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
        work = partial(_in_worker, in_use(), plan)
        futures = [pool.submit(work, task, bounds, on_level, keep) for task in tasks]
        for future in as_completed(futures):
            yield future.result()


def _in_worker(plugins: Plugins, *search: Any) -> tuple[SearchAnswer, ...]:
    load_in_worker(plugins)
    return answers_of(*search)


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
        most = math.inf if plan.depth is None else plan.depth
        breaks.update({key: each for key, each in one.breaks.items() if each.depth <= most})
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
    answers, of_all, exhausted = [], tuple(levels), not frontier
    for place, label in enumerate(labels):
        against = next((one for one in labels if one != label), "")
        own = {name: one for (world, name), one in breaks.items() if world == place}
        found = witnesses_of(searched.world, own, rules[label], against, rules.get(against))
        witnesses = tuple(sorted(found, key=attrgetter("steps")))
        seconds = time.monotonic() - began
        answers.append(
            SearchAnswer(label, against, of_all, exhausted, witnesses, seconds, interrupted)
        )
    return tuple(answers)


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
