"""The failing runs of a sweep as a sequence, and the folders of a suite's failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from sim.api.runs import Run, run
from sim.api.tables import grid, shorten
from sim.errors import BadInput, did_you_mean
from sim.study.suite import CaseResult, NotRun

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10
"""Failures that a notebook lists."""
_BY_VIOLATION = ("invariant", "family", "cause")


class Failures(Sequence[Run]):
    """Runs of a sweep that violate something, those with the fewest events first.

    Attributes:
        table: Their rows of `runs` in that order, with `sentence`, their first violation.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        violations: pd.DataFrame,
        make: Callable[[int, str], Run],
        *,
        about: str = "",
    ) -> None:
        """Takes the failing rows and all violations of the sweep.

        `make` returns a run by its number, with the invariant that questions to it are about.
        """
        self.table = table
        self._violations = violations
        self._make = make
        self._about = about

    def first(self) -> Run:
        """The failing run with the fewest events.

        Raises:
            BadInput: No run fails.
        """
        if not len(self):
            raise BadInput("failures: there are none")
        return self[0]

    def where(self, **wanted: object) -> Failures:
        """Filters the failures: `where(invariant="no-offset-reuse", fix="none")`.

        Args:
            wanted: `invariant`, `family` or `cause` of any of their violations, or a column of
                `runs`, such as a swept rule, `rule_set` or `environment`; a value, or a list.

        Raises:
            BadInput: There is no such column, or a text that nothing in this sweep has. A number
                that nothing has selects no run.
        """
        table, about = self.table, self._about
        for name, given in wanted.items():
            values = list(given) if isinstance(given, list | tuple | set) else [given]
            if name in _BY_VIOLATION:
                _check(name, values, self._violations[name].dropna().unique().tolist())
                found = self._violations[self._violations[name].isin(values)].run_id
                table = table[table.run_id.isin(found)]
                if name == "invariant" and len(values) == 1:
                    about = str(values[0])
            elif name in table.columns:
                categories = getattr(self.table[name].dtype, "categories", None)
                known = self.table[name].unique() if categories is None else categories
                _check(name, values, list(known))
                table = table[table[name].isin(values)]
            else:
                known = [*_BY_VIOLATION, *map(str, table.columns)]
                raise BadInput(
                    f"failures: {name}: no such column{did_you_mean(name, known)}; allowed: "
                    f"{', '.join(_BY_VIOLATION)} and the columns of runs"
                )
        return Failures(table, self._violations, self._make, about=about)

    def one_per_cause(self) -> Failures:
        """For each cause of a first violation the run with the fewest events."""
        table = self.table[~self.table.duplicated("cause")]
        return Failures(table, self._violations, self._make, about=self._about)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Failures: ...
    def __getitem__(self, index: int | slice) -> Run | Failures:
        """Returns a run by its place, or a slice of the failures."""
        if isinstance(index, slice):
            return Failures(self.table.iloc[index], self._violations, self._make, about=self._about)
        if not -len(self) <= index < len(self):
            raise IndexError(f"failures: {index}: there are {len(self)}")
        return self._make(int(self.table.run_id.iloc[index]), self._about)

    def __len__(self) -> int:
        """Returns the number of failing runs."""
        return len(self.table)

    def __repr__(self) -> str:
        """Returns one line for people."""
        about = f" of {self._about}" if self._about else ""
        return f"Failures({len(self)} runs{about})"

    def _repr_html_(self) -> str:
        shown = self.table.head(SHOWN)
        rows = [
            (row.run_id, row.case_id, row.rule_set, row.events, shorten(str(row.sentence), 160))
            for row in shown.itertuples()
        ]
        left = len(self) - len(rows)
        note = f"and {left:,} more" if left else ""
        head = ("run_id", "case_id", "rule set", "events", "first violation")
        return grid(head, rows, note=note) if rows else "<p>no failures</p>"


def _check(name: str, values: Sequence[object], known: Sequence[object]) -> None:
    """Raises BadInput for a text that is no value; a number that nothing has is no mistake."""
    for value in values:
        if isinstance(value, str) and value not in known:
            hint = did_you_mean(value, map(str, known))
            raise BadInput(
                f"failures: {name}: {value}: not in this sweep{hint}; there: "
                f"{', '.join(map(str, known)) or 'none'}"
            )


def save_result(result: CaseResult, folder: Path) -> Path | None:
    """Writes the folder of an unexpected result below `folder`; returns its path.

    Returns None for a result that is as expected, of a file without a run, and of a log file, whose
    answer is all there is. Raises BadInput where the folder cannot be written.
    """
    passed = result.expectation_met or result.noted
    if passed or result.is_log or isinstance(result.outcome, NotRun):
        return None
    about = next((violation.invariant for violation in result.unexpected), None)
    return run(result.path).save(folder, about)
