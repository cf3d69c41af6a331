"""Hides every red story in noise, shrinks it again, and writes `reports/shrink.md`.

`python -m tests.bench.shrinking -j 2` takes a few minutes on two cores.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple

from sim.diagnose.shrink.engine import ShrinkBudget
from sim.diagnose.shrink.smallest import ShrinkCase
from sim.files.atomic import replacing
from sim.files.formats import STORY_FORMAT
from sim.protocol.rules.spec import shown
from sim.simulate.story import load_story
from sim.simulate.story.format import STORY_DEFAULTS
from sim.study.suite.scenario_files import format_of, scenario_files
from tests.bench.hiding import hide

SCENARIOS = Path("scenarios")
NOISE = 520
RATIO = 1.5
SECONDS = 10.0


HOW = """\
How a story is hidden: bursts of up to 32 random steps are put at random places before and \
between its own steps, and a tenth of them behind. They are appends, transactions, fetches with \
and without a loss, late answers, readers, cleaning passes, crashes, restarts, elections, changes \
of the in-sync set, replicas that are added, wiped and removed, snapshots, deleted prefixes and \
passing time; two replicas are added, and rules that do not matter are set. Epochs and offsets \
that steps name are moved accordingly.

A burst stays only if the first violation of the invariant is still that of the same step for the \
same cause. The shrinker is given the run and the invariant, and nothing of the story or the \
noise. Its result may be shorter than the story: the noise may lead to the same violation in \
another way.

The shortest story known for a bug is the shortest of: the story as written, the story shrunk by \
itself, and the same of every other story with the same invariant, cause and rules. It is not \
proven to be the shortest there is."""


class Row(NamedTuple):
    """One story.

    Attributes:
        name: Its file below the folder.
        bug: Invariant, cause and rules: stories that have the same are about one bug.
        invariant: The invariant that it violates.
        cause: Why, as its signature says.
        written: Steps of the story as somebody wrote it.
        alone: Steps when it is shrunk without noise.
        hidden: Steps of the run that it was hidden in.
        same_cause: Whether that run still violates it for that cause.
        steps: Steps of what that run was shrunk to.
        seconds: Of processor time.
        complete: Whether it came to an end.
    """

    name: str
    bug: str
    invariant: str
    cause: str
    written: int
    alone: int
    hidden: int
    same_cause: bool
    steps: int
    seconds: float
    complete: bool


class Judged(NamedTuple):
    """A row and the shortest story known for its bug."""

    row: Row
    shortest: int

    @property
    def ratio(self) -> float:
        """How many times as long as the shortest one."""
        return self.row.steps / self.shortest


def measured(path: Path, folder: Path, seed: int, noise: int) -> Row:
    """Hide one story and shrink it again."""
    story = load_story(path)
    alone = ShrinkCase(story)
    invariant = alone.invariant
    alone_steps = alone.shrink(ShrinkBudget()).steps or 0
    hidden = hide(story, invariant, seed=seed, noise=noise).story
    budget = ShrinkBudget()
    begun = time.process_time()
    case = ShrinkCase(hidden, invariant)
    found = case.shrink(budget)
    seconds = time.process_time() - begun
    cause, known = ("; ".join(one.signature.mechanism) for one in (case, alone))
    differing = alone.best.value.rules.differing_from(STORY_DEFAULTS)
    rules = ", ".join(f"{name}: {shown(value)}" for name, value in differing.items())
    return Row(
        name=str(path.relative_to(folder)),
        bug=f"{invariant}: {known}; {rules or 'defaults'}",
        invariant=invariant,
        cause=known,
        written=len(story.steps),
        alone=alone_steps,
        hidden=len(hidden.steps),
        same_cause=cause == known,
        steps=case.left,
        seconds=seconds,
        complete=found.complete,
    )


def judged(rows: Sequence[Row]) -> list[Judged]:
    """Each row beside the shortest story of its bug: its own, or that of another file."""
    shortest: dict[str, int] = {}
    for row in rows:
        found = min(row.written, row.alone)
        shortest[row.bug] = min(found, shortest.get(row.bug, found))
    return [Judged(row, shortest[row.bug]) for row in rows]


def page(rows: Sequence[Judged], *, seed: int, noise: int) -> str:
    """The report."""
    ratios = [each.ratio for each in rows]
    seconds = [each.row.seconds for each in rows]
    within = sum(ratio <= RATIO for ratio in ratios)
    in_time = sum(second <= SECONDS for second in seconds)
    finished = sum(each.row.complete for each in rows)
    longest = sum(each.row.hidden >= 500 for each in rows)
    lines = [
        "# Shrinking",
        "",
        (
            "Every story of `scenarios/` that violates an invariant, hidden in a random run and "
            "shrunk again."
        ),
        "",
        (
            f"Made by `python -m tests.bench.shrinking --seed {seed} --noise {noise}`; times are "
            "of one processor core."
        ),
        "",
        "| | |",
        "|---|--:|",
        f"| stories | {len(rows)} |",
        f"| hidden among 500 steps or more | {longest} |",
        f"| steps left, of the shortest story known for the bug: median | {median(ratios):.2f} |",
        f"| the same: largest | {max(ratios):.2f} |",
        f"| at most {RATIO:g} times the shortest | {within} of {len(rows)} |",
        f"| shrunk within {SECONDS:g} s | {in_time} of {len(rows)} |",
        f"| seconds: median, longest | {median(seconds):.1f}, {max(seconds):.1f} |",
        f"| shrunk to the end: no single step can be left out | {finished} of {len(rows)} |",
        "",
        *HOW.split("\n"),
        "",
        "| story | violates | steps | shortest known | shrunk to | seconds |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for each in rows:
        row = each.row
        other = "" if row.same_cause else " (by another cause)"
        lines.append(
            f"| `{row.name}` | {row.invariant}{other} | {row.written} | {each.shortest} "
            f"| {row.steps} | {row.seconds:.1f} |"
        )
    return "\n".join(lines) + "\n"


def red_stories(folder: Path) -> list[Path]:
    """The story files that expect a violation."""
    stories = (path for path in scenario_files(folder) if format_of(path) == STORY_FORMAT)
    return [path for path in stories if load_story(path).expect.violated]


def rows_of(paths: Sequence[Path], folder: Path, seed: int, noise: int, jobs: int) -> Iterator[Row]:
    """The rows in the order of the paths."""
    count = len(paths)
    given = [paths, [folder] * count, [seed] * count, [noise] * count]
    if jobs == 1:
        yield from map(measured, *given)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(measured, *given)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noise", type=int, default=NOISE, help="steps to add to each story")
    parser.add_argument("--scenarios", type=Path, default=SCENARIOS)
    parser.add_argument("--out", type=Path, default=Path("reports/shrink.md"))
    given = parser.parse_args()
    paths = red_stories(given.scenarios)
    rows: list[Row] = []
    for row in rows_of(paths, given.scenarios, given.seed, given.noise, given.jobs):
        rows.append(row)
        print(
            f"{len(rows)} of {len(paths)}: {row.name}: {row.hidden} to {row.steps} "
            f"(alone {row.alone}), {row.seconds:.1f} s",
            file=sys.stderr,
            flush=True,
        )
    with replacing(given.out) as file:
        file.write(page(judged(rows), seed=given.seed, noise=given.noise).encode())
    print(given.out)


if __name__ == "__main__":
    main()
