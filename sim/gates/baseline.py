"""A sweep against an earlier one: is anything more frequent?

A sweep of the same plan and seed has the same cases, and as long as generating them did not change,
the same weather, which the rows say (`weather`). Such cases are pairs: what does not depend on the
change that is being judged is the same in both, and McNemar's test looks at the others alone.
Without them (another seed, another generator) the sweeps are two independent samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from sim.errors import BadInput
from sim.gates.cells import Cell, cells_of
from sim.gates.finding import Finding, Pairs, Place, Seen
from sim.gates.wanted import ABOUT, ANY
from sim.report import one_sided
from sim.report.sweep_folder import SweepFolder
from sim.sweeps.statistics import JUDGED
from sim.sweeps.stats import paired_difference
from sim.sweeps.table import State

RUN_COLUMNS = ("run_id", "seed", "rule_set", "environment", "verdict", "weather")
VIOLATION_COLUMNS = ("run_id", "invariant", "family")

PAIRED_FROM = 0.5
"""Sweeps are compared in pairs when this share of the smaller one's cases is in both."""


class Comparison(NamedTuple):
    """A finding before its correction.

    Attributes:
        finding: With its numbers and p; None = there is nothing to compare.
        lowest: The lowest p that so many violations, or changes, could have had.
        lowest_of_all: The lowest p that so many runs could have had.
    """

    finding: Finding
    lowest: float
    lowest_of_all: float


class _Tables:
    """Runs and violations of a sweep, in memory, without the columns that no gate needs."""

    def __init__(self, folder: SweepFolder, table: State) -> None:
        runs = table.read(RUN_COLUMNS).to_pandas()
        labels = [one["label"] for one in folder.plan["rule_sets"]]
        self._runs = runs.assign(rule_set=[labels[place] for place in runs.rule_set])
        self._violations = table.violations(VIOLATION_COLUMNS).to_pandas()
        self._about = folder.about

    def cases(self, place: Place) -> pd.DataFrame:
        """The runs of a place, by the seeds of their cases: what a case is known by."""
        own = self._runs.rule_set == place.rule_set
        own &= self._runs.environment == place.environment
        found: pd.DataFrame = self._runs[own].set_index("seed")
        return found

    def violating(self, name: str) -> pd.Series:
        """The numbers of the runs that violated a family, an invariant, `any` or `about`."""
        found, names = self._violations, self._about if name == ABOUT else [name]
        if name != ANY:
            found = found[found.family.isin(names) | found.invariant.isin(names)]
        numbers: pd.Series = found.run_id
        return numbers


def compare_with(
    cells: Sequence[Cell], folder: SweepFolder, earlier: SweepFolder, names: Sequence[str]
) -> tuple[list[Comparison], list[str]]:
    """Every name in every rule set and environment that both sweeps have, and notes.

    Rule sets and environments are found by their labels; what differs in the rules of a rule set is
    a note.

    Args:
        cells: Those of the sweep that are judged.
        folder: The sweep.
        earlier: The earlier one.
        names: Families, invariants, `any`.

    Raises:
        BadInput: Nothing is in both, or what is not paired was drawn from something else.
    """
    known = {(cell.place.rule_set, cell.place.environment): cell for cell in cells_of(earlier)}
    tables = [None if one.table is None else _Tables(one, one.table) for one in (folder, earlier)]
    found: list[Comparison] = []
    notes: list[str] = []
    for cell in cells:
        before = known.get((cell.place.rule_set, cell.place.environment))
        if before is None:
            notes.append(f"not in the baseline: {cell.place.text}")
            continue
        notes += _changed_rules(cell, before)
        both = None
        if tables[0] is not None and tables[1] is not None:
            both = _common(*(one.cases(cell.place) for one in tables if one is not None))
        if both is None:
            _check_same_draw(cell, before, earlier)
            found += [_samples(name, cell, before) for name in names]
            continue
        for name in names:
            now, then = (one.violating(name) for one in tables if one is not None)
            found.append(
                _pairs(name, cell.place, both, both.run_id.isin(now), both.run_id_then.isin(then))
            )
    if not found:
        raise BadInput(f"{earlier.name}: no rule set of this sweep is in that one, by its label")
    return found, list(dict.fromkeys(notes))


def _changed_rules(cell: Cell, before: Cell) -> list[str]:
    """Which rules of a rule set had another value, as a sentence; none = nothing to say."""
    changed = [
        f"{name} was {_value(before.rules, name)} and is {_value(cell.rules, name)}"
        for name in dict.fromkeys((*cell.rules, *before.rules))
        if _value(before.rules, name) != _value(cell.rules, name)
    ]
    return [f"other rules in {cell.place.rule_set}: {', '.join(changed)}"] if changed else []


def _value(rules: Mapping[str, object], name: str) -> str:
    return str(rules.get(name, "unknown"))


def _common(now: pd.DataFrame, then: pd.DataFrame) -> pd.DataFrame | None:
    """The cases judged in both sweeps with the same weather; None = too few to go by pairs."""
    both = now.join(then, rsuffix="_then", how="inner")
    both = both[both.weather.fillna("") == both.weather_then.fillna("")]
    if len(both) < PAIRED_FROM * min(len(now), len(then)):
        return None
    return both[both.verdict.isin(JUDGED) & both.verdict_then.isin(JUDGED)]


def _check_same_draw(cell: Cell, before: Cell, earlier: SweepFolder) -> None:
    """Two samples are comparable only when they were drawn from the same."""
    both = cell.generate.keys() & before.generate.keys()
    other = sorted(name for name in both if cell.generate[name] != before.generate[name])
    if other:
        raise BadInput(
            f"{earlier.name}: environment {cell.place.environment}: drawn from another mix "
            f"({', '.join(other)}); rates of different weather cannot be compared"
        )


def _pairs(
    name: str, place: Place, both: pd.DataFrame, violated: pd.Series, violated_then: pd.Series
) -> Comparison:
    cases, worse = len(both), violated & ~violated_then
    only_now, only_then = int(worse.sum()), int((violated_then & ~violated).sum())
    seen, earlier = Seen(int(violated.sum()), cases), Seen(int(violated_then.sum()), cases)
    if not cases:
        return Comparison(Finding("baseline", name, place, seen, earlier=earlier), 1.0, 1.0)
    shows = int(both.run_id[worse].min()) if only_now else None
    finding = Finding(
        "baseline",
        name,
        place,
        seen,
        p=one_sided.grown_in_pairs(only_now, only_then),
        earlier=earlier,
        pairs=Pairs(cases, only_now, only_then, paired_difference(only_now, only_then, cases)),
        shows=shows,
    )
    lowest = one_sided.grown_in_pairs(only_now + only_then, 0)
    return Comparison(finding, lowest, one_sided.grown_in_pairs(cases, 0))


def _samples(name: str, cell: Cell, before: Cell) -> Comparison:
    seen, earlier = cell.seen(name), before.seen(name)
    finding = Finding("baseline", name, cell.place, seen, earlier=earlier, shows=seen.first_run)
    if not (seen.judged and earlier.judged):
        return Comparison(finding, 1.0, 1.0)
    p = one_sided.grown(seen.violated, seen.judged, earlier.violated, earlier.judged)
    together = seen.violated + earlier.violated
    return Comparison(
        replace(finding, p=p),
        one_sided.grown_at_most(together, seen.judged, earlier.judged),
        one_sided.grown_at_most(seen.judged, seen.judged, earlier.judged),
    )
