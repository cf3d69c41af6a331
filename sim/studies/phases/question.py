"""What a phase diagram asks, and what is found: the cases of every cell are run on all cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product

from sim.scenario.model import Scenario
from sim.timed_run import conclusive, run_scenario
from sim.workers import pool_of, usable_cores

CASES_PER_TASK = 25

Point = tuple[float, float, float]
"""Where a case stands: its value of the panels, the rows and the columns."""
Row = dict[str, str]
"""Of a table, by column."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One quantity.

    Attributes:
        title: What it is, with its unit.
        values: In order.
        labels: What each is called; empty = as the number is written.
    """

    title: str
    values: tuple[float, ...]
    labels: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """A label for each value."""
        return self.labels or tuple(f"{value:g}" for value in self.values)


@dataclass(frozen=True, slots=True)
class Question:
    """One phase diagram.

    Attributes:
        name: Of its files.
        title: The question, in a line.
        rate_of: What is counted, out of what.
        setting: What is held still, and what is drawn at random, in sentences.
        panels: One grid for each value.
        rows: From top to bottom.
        columns: From left to right.
        scenario: (seed, point) -> the case.
        invariant: What is violated where it happened.
    """

    name: str
    title: str
    rate_of: str
    setting: str
    panels: Axis
    rows: Axis
    columns: Axis
    scenario: Callable[[int, Point], Scenario]
    invariant: str

    def happened(self, seed: int, point: Point) -> bool:
        """Simulates a case: whether it happened."""
        case = self.scenario(seed, point)
        run = conclusive(run_scenario(case, also_check=(self.invariant,)))
        return self.invariant in run.violated

    @property
    def points(self) -> tuple[Point, ...]:
        """All cells, panel by panel and row by row."""
        return tuple(product(self.panels.values, self.rows.values, self.columns.values))


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a question.

    Attributes:
        question: The question.
        cases: So many in each cell, the same seeds in all of them.
        seed: Of the first case.
        happened: In so many of them, cell by cell in the order of `Question.points`.
    """

    question: Question
    cases: int
    seed: int
    happened: tuple[int, ...]

    def panel(self, index: int) -> list[list[int]]:
        """The counts of one panel, row by row."""
        rows, columns = len(self.question.rows.values), len(self.question.columns.values)
        starts = range(index * rows * columns, (index + 1) * rows * columns, columns)
        return [list(self.happened[start : start + columns]) for start in starts]

    @property
    def panels(self) -> dict[str, list[list[int]]]:
        """The counts of every panel by its title, which is empty where there is one."""
        axis = self.question.panels
        return {f"{axis.title} {name}".strip(): self.panel(n) for n, name in enumerate(axis.shown)}

    def table(self, panel: list[list[int]], corner: str, said: Callable[[int], str]) -> list[Row]:
        """A panel in words, row by row: column -> what is said of a count."""
        question = self.question
        return [
            {corner: label} | dict(zip(question.columns.shown, map(said, counts), strict=True))
            for label, counts in zip(question.rows.shown, panel, strict=True)
        ]


def measure(
    question: Question, *, cases: int, seed: int, report: Callable[[int], None] = lambda done: None
) -> Found:
    """Run `cases` cases in every cell; case n has the same seed in each.

    `report` is told how many runs are done. The answer does not depend on the number of cores.
    """
    cells = range(len(question.points))
    parts = [range(at, min(at + CASES_PER_TASK, cases)) for at in range(0, cases, CASES_PER_TASK)]
    counts, done = [0] * len(cells), 0
    with pool_of(min(usable_cores(), len(cells) * len(parts))) as pool:
        tasks = {
            pool.submit(_count, question, question.points[cell], seed, part): (cell, part)
            for cell, part in product(cells, parts)
        }
        for task in as_completed(tasks):
            cell, part = tasks[task]
            counts[cell] += task.result()
            done += len(part)
            report(done)
    return Found(question, cases, seed, tuple(counts))


def _count(question: Question, point: Point, seed: int, cases: range) -> int:
    return sum(question.happened(case_seed(seed, case), point) for case in cases)


def case_seed(seed: int, case: int) -> int:
    """The seed of a case, in [0, 2**63)."""
    digest = blake2b(f"phases/{seed}/{case}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
