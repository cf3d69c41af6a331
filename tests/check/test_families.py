"""Families: every invariant has one, and the facts of a history tell the two deletes apart."""

from pathlib import Path

import pytest

from sim.check.checker import known_invariants
from sim.check.families import (
    DELETED_KEY_RETURNS,
    FAMILIES,
    LATE_WRITE,
    LOG_DIVERGENCE,
    NO_FAMILY,
    TRANSACTIONS,
)
from sim.check.family_by_cause import family_of
from sim.check.registry import INVARIANTS
from sim.story import run_story
from sim.story.format import load_story
from tests.check.events import checked

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
    assert family_of(checked(()).queries, None, None, None, None) == NO_FAMILY


@pytest.mark.parametrize(
    "story",
    [
        "kip280/kip280_23_late_write_after_an_expired_tombstone",
        "kip280/kip280_24_all_replicas_agree_on_the_wrong_state",
        "kip280/kip280_48_coordination_does_not_hold_back_a_producer",
        "kip280/kip280_71_no_order_helps_once_the_tombstone_is_gone",
        "findings/finding_07_leo_retention_brings_a_deleted_key_back",
    ],
)
def test_a_value_above_the_delete_that_beats_it_outlives_it_and_nobody_lagged(story: str) -> None:
    found = families(story)

    assert found["no-resurrection"] == {LATE_WRITE}
    assert found["materialized-state-equivalence"] == {LATE_WRITE}


def test_a_late_write_outlives_its_delete_for_a_while_too() -> None:
    found = families("kip280/kip280_81_late_version_shown_until_the_next_write")

    assert found == {"no-transient-resurrection": {LATE_WRITE}}


@pytest.mark.parametrize(
    "story",
    [
        "kip630/kip630_01_tombstone_removed_too_early",
        "kip630/kip630_09_new_replica_copied_in_two_parts",
        "kip630/kip630_14_report_of_a_lost_disk",
        "durability/checkpoint_02_saved_before_the_work",
    ],
)
def test_a_value_below_the_delete_returns(story: str) -> None:
    found = families(story)

    assert found["no-resurrection"] == {DELETED_KEY_RETURNS}
    assert found["materialized-state-equivalence"] == {DELETED_KEY_RETURNS}


@pytest.mark.parametrize(
    ("story", "family"),
    [
        ("transactions/txn_01_abort_marker_lost", TRANSACTIONS),  # aborted data counts
        ("transactions/txn_10_user_key_evicts_a_marker", TRANSACTIONS),  # committed data does not
        ("findings/finding_09_ghost_of_an_old_leader", LOG_DIVERGENCE),  # it was never committed
        ("truncation/kip279_01_one_question_is_not_enough", LOG_DIVERGENCE),
    ],
)
def test_another_value_than_the_committed_one_is_of_the_family_of_its_cause(
    story: str, family: str
) -> None:
    assert families(story)["materialized-state-equivalence"] == {family}
