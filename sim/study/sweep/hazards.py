"""Hazards: the ways in which a log fails its users, each a row of a report's grid.

The unit of rates is the run, never the violation.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sim.check import violation as families


class Hazard(NamedTuple):
    """A way to fail users, with the violations that belong to it.

    Attributes:
        name: Title of its row.
        phrase: How a sentence of the verdict names it.
        family: Family whose violations belong to it, unless a hazard names their invariant; empty
            for none.
        invariants: The invariants whose violations belong to it, of any family.
    """

    name: str
    phrase: str
    family: str = ""
    invariants: tuple[str, ...] = ()


HAZARDS: Final = (
    Hazard(
        "offset given twice",
        "offsets given twice",
        invariants=("no-offset-reuse", "record-offset-uniqueness", "offset-epoch-uniqueness"),
    ),
    Hazard(
        "committed record lost",
        "lost committed records",
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
        "committed offsets cut off",
        invariants=("no-truncation-below-hw", "hw-monotonic", "truncation-below-log-start"),
    ),
    Hazard("replicas diverge", "diverging replicas", families.LOG_DIVERGENCE),
    Hazard(
        "follower believed too far",
        "followers believed too far",
        invariants=("follower-position-sound",),
    ),
    Hazard(
        "log end lost",
        "lost log ends",
        invariants=("leo-convergence", "leo-preservation", "hole-justified"),
    ),
    Hazard("deleted key returns", "returning deleted keys", families.DELETED_KEY_RETURNS),
    Hazard(
        "late write outlives its delete", "late writes that outlive deletes", families.LATE_WRITE
    ),
    Hazard("transaction ends otherwise", "transactions that end otherwise", families.TRANSACTIONS),
    Hazard("reader misses something", "readers that miss something", families.READERS),
    Hazard("another rule of the log broken", "other broken rules of the log", families.NO_FAMILY),
)
"""All hazards, the gravest first, in the order of every grid; each violation belongs to one."""
PHRASES: Final = {one.name: one.phrase for one in HAZARDS}
"""Name of a hazard -> how a sentence names it."""


def hazard_of(invariant: str, family: str) -> str:
    """The name of the hazard that a violation belongs to, by its invariant and its family."""
    named = (one.name for one in HAZARDS if invariant in one.invariants)
    return next(
        named, next((one.name for one in HAZARDS if family == one.family), HAZARDS[-1].name)
    )


def hazard_in_sql() -> str:
    """The expression in SQL for `hazard_of` of the columns `invariant` and `family`."""
    named = [
        f"WHEN invariant IN ({', '.join(map(repr, one.invariants))}) THEN '{one.name}'"
        for one in HAZARDS
        if one.invariants
    ]
    named += [f"WHEN family = '{one.family}' THEN '{one.name}'" for one in HAZARDS if one.family]
    return f"CASE {' '.join(named)} ELSE '{HAZARDS[-1].name}' END"
