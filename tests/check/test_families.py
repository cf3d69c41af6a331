"""Families: every invariant has one, and the facts of a history tell the two deletes apart."""

from pathlib import Path

import pytest

from sim.check.checker import family_of, known_invariants
from sim.check.history import ClusterHistory
from sim.check.registry import INVARIANTS
from sim.check.violation import (
    DELETED_KEY_RETURNS,
    FAMILIES,
    LATE_WRITE,
    LOG_DIVERGENCE,
    NO_FAMILY,
    TRANSACTIONS,
)
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import load_story
from tests.check.events import RULES

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def families(story: str) -> dict[str, set[str]]:
    """Invariant -> the families of its violations in a story."""
    found: dict[str, set[str]] = {}
    for violation in run_story(load_story(SCENARIOS / f"{story}.yaml")).seen:
        found.setdefault(violation.invariant, set()).add(violation.family)
    return found


def test_every_invariant_is_of_a_family_and_every_family_has_one() -> None:
    known_invariants()

    assert {each.family for each in INVARIANTS.values()} | {LATE_WRITE} == set(FAMILIES)


def test_what_is_in_no_table_is_in_no_family_and_not_lost() -> None:
    assert family_of(ClusterHistory(RULES), None, None, None, None) == NO_FAMILY


RETURNS = ("no-resurrection", "materialized-state-equivalence")
EQUIVALENCE = ("materialized-state-equivalence",)
TRANSIENT = ("no-transient-resurrection",)


@pytest.mark.parametrize(
    ("story", "violated", "family"),
    [
        # The value lies above the delete that beats it, and nobody lagged.
        ("kip280/kip280_23_late_write_after_an_expired_tombstone", RETURNS, LATE_WRITE),
        ("kip280/kip280_81_late_version_shown_until_the_next_write", TRANSIENT, LATE_WRITE),
        # It lies below.
        ("kip630/kip630_01_tombstone_removed_too_early", RETURNS, DELETED_KEY_RETURNS),
        ("durability/checkpoint_02_saved_before_the_work", RETURNS, DELETED_KEY_RETURNS),
        # Aborted data counts; committed data does not; it was never committed.
        ("transactions/txn_01_abort_marker_lost", EQUIVALENCE, TRANSACTIONS),
        ("findings/finding_09_ghost_of_an_old_leader", EQUIVALENCE, LOG_DIVERGENCE),
    ],
)
def test_a_violation_is_of_the_family_of_its_cause(
    story: str, violated: tuple[str, ...], family: str
) -> None:
    found = families(story)

    assert {name: found[name] for name in violated} == {name: {family} for name in violated}
    assert violated != TRANSIENT or set(found) == set(violated)
