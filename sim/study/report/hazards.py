"""Hazards: the ways in which a log fails its users, and in how many runs of a sweep each was met.

Each hazard is a row of a report's grid. The unit of rates is the run, never the violation. Both
questions (how many runs, and on the same cases under which rules) go to the views of the statistics
of a sweep (`sim.study.sweep.statistics`), in the same session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sim.check.families import (
    DELETED_KEY_RETURNS,
    FAMILIES,
    LATE_WRITE,
    LOG_DIVERGENCE,
    NO_FAMILY,
    READERS,
    TRANSACTIONS,
)
from sim.study.sweep import stats, wording
from sim.study.sweep.statistics import Ask


class Hazard(NamedTuple):
    """A way to fail users, with the violations that belong to it.

    Attributes:
        name: Title of its row.
        phrase: How a sentence of the verdict names it.
        family: Family whose other invariants belong to it, too; empty for none.
        invariants: The invariants whose violations belong to it, of any family.
    """

    name: str
    phrase: str
    family: str = ""
    invariants: tuple[str, ...] = ()


HAZARDS: Final = (
    Hazard(
        "offset given twice",
        "an offset given twice",
        invariants=("no-offset-reuse", "record-offset-uniqueness", "offset-epoch-uniqueness"),
    ),
    Hazard(
        "committed record lost",
        "the loss of a committed record",
        invariants=(
            "committed-never-lost",
            "committed-replicated",
            "leader-completeness",
            "acknowledged-kept",
            "winner-retained",
        ),
    ),
    Hazard(
        "committed offset cut off",
        "a committed offset cut off",
        invariants=("no-truncation-below-hw", "hw-monotonic", "truncation-below-log-start"),
    ),
    Hazard("replicas diverge", "diverging replicas", LOG_DIVERGENCE),
    Hazard(
        "follower believed too far",
        "a follower believed too far",
        invariants=("follower-position-sound",),
    ),
    Hazard(
        "log end lost",
        "the loss of the log end",
        invariants=("leo-convergence", "leo-preservation", "hole-justified"),
    ),
    Hazard("deleted key returns", "the return of a deleted key", DELETED_KEY_RETURNS),
    Hazard("late write outlives its delete", "a late write outliving its delete", LATE_WRITE),
    Hazard("transaction ends otherwise", "a transaction that ends otherwise", TRANSACTIONS),
    Hazard("reader misses something", "a reader that misses something", READERS),
    Hazard("another rule of the log broken", "another broken rule of the log", NO_FAMILY),
)
"""All of them, in the order of every grid; each violation belongs to one."""
PHRASES: Final = {one.name: one.phrase for one in HAZARDS}
"""Name of a hazard -> how a sentence names it."""


def hazard_of(invariant: str, family: str) -> str:
    """The name of the hazard that a violation belongs to, by its invariant and its family."""
    named = (one.name for one in HAZARDS if invariant in one.invariants)
    return next(
        named, next((one.name for one in HAZARDS if family == one.family), HAZARDS[-1].name)
    )


def hazard_in_sql() -> str:
    """`hazard_of` over the columns `invariant` and `family`."""
    named = [
        f"WHEN invariant IN ({', '.join(map(repr, one.invariants))}) THEN '{one.name}'"
        for one in HAZARDS
        if one.invariants
    ]
    named += [f"WHEN family = '{one.family}' THEN '{one.name}'" for one in HAZARDS if one.family]
    return f"CASE {' '.join(named)} ELSE '{HAZARDS[-1].name}' END"


_ENDANGERED = """
    CREATE OR REPLACE TEMPORARY VIEW endangered AS
    SELECT DISTINCT place, number, case_id, run_id, {hazard} AS hazard
    FROM found WHERE judged"""
_MET = """
    SELECT place, number, hazard, count(*), min(run_id)
    FROM endangered GROUP BY place, number, hazard"""
# Of each ordered pair: cases judged under both in which the first alone met the hazard.
_ALONE = """
    SELECT e.place, e.number, j.number, e.hazard, count(*)
    FROM endangered AS e
    JOIN numbered AS j ON j.case_id = e.case_id AND j.number <> e.number AND j.judged
    LEFT JOIN endangered AS o ON o.run_id = j.run_id AND o.hazard = e.hazard
    WHERE o.run_id IS NULL
    GROUP BY e.place, e.number, j.number, e.hazard"""


class Met(NamedTuple):
    """The number of runs of a rule set in an environment that met a hazard, and the first one."""

    runs: int = 0
    first_run: int | None = None


class Hazards(NamedTuple):
    """Counts of the hazards that runs met, by places of environments and rule sets.

    Attributes:
        met: (environment, rule set, hazard) -> the runs that met it.
        alone: (environment, rule set, other rule set, hazard) -> the cases, judged under both, that
            met it under the first alone.
    """

    met: Mapping[tuple[int, int, str], Met]
    alone: Mapping[tuple[int, int, int, str], int]


NO_HAZARDS: Final = Hazards({}, {})


def hazards_met(ask: Ask) -> Hazards:
    """Counts every hazard, through the views that the statistics made of the table of a sweep."""
    ask(_ENDANGERED.format(hazard=hazard_in_sql()))
    met = {(row[0], row[1], row[2]): Met(*row[3:]) for row in ask(_MET)}
    return Hazards(met, {(row[0], row[1], row[2], row[3]): row[4] for row in ask(_ALONE)})


def measure_of(name: str) -> str:
    """The measure of the statistics that counts a name which a plan is about."""
    return "family" if name in FAMILIES else "invariant"


def judged_runs(entry: Mapping[str, Any]) -> int:
    """Number of runs of a rule set with a verdict: those that held or violated."""
    verdicts = entry["counts"]["verdict"]
    return int(verdicts["holds"]["runs"] + verdicts["violated"]["runs"])


NO_RUN_JUDGED: Final = "no run was judged"


def rate_text(runs: int, judged: int) -> str:
    """A rate with its exact two-sided 95 % interval, as in 120 of 998 (10.1 to 14.2 %)."""
    if not judged:
        return NO_RUN_JUDGED
    return f"{wording.count(runs)} of {wording.count(judged)} ({interval_text(runs, judged)})"


def interval_text(runs: int, judged: int) -> str:
    """The exact two-sided 95 % interval of a rate; of none its upper end, as in below 0.37 %."""
    limits = stats.clopper_pearson(runs, judged)
    return wording.shares(limits) if runs else f"below {wording.share(limits.high)}"
