"""What a phase diagram asks, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from sim.scenario.model import Scenario

Point = tuple[float, float, float]
"""Where a case stands: its value of the panels, the rows and the columns."""


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
        happened: Whether it happened in a case. Takes the scenario, and simulates it.
    """

    name: str
    title: str
    rate_of: str
    setting: str
    panels: Axis
    rows: Axis
    columns: Axis
    scenario: Callable[[int, Point], Scenario]
    happened: Callable[[Scenario], bool]

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
        start = index * rows * columns
        return [
            list(self.happened[start + row * columns : start + (row + 1) * columns])
            for row in range(rows)
        ]
