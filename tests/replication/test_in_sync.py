"""Who may lead cleanly: the in-sync set, eligible leader replicas, the last leader (KIP-966)."""

import pytest

from sim.replication.elections import Candidates, changed, clean_choice, led_by
from sim.replication.leader import expand_isr, record_position
from sim.rules import Rules
from tests.replication.replicas import batch, leading

CLASSIC = Rules.of(commit="isr", min_isr=2)
ELIGIBLE = Rules.of(commit="isr", min_isr=2, eligible_leaders="elr")
ALL = Candidates(("r1", "r2", "r3"))


def test_the_last_member_of_the_in_sync_set_stays_without_eligible_replicas() -> None:
    alone = changed(ALL, ("r1",), rules=CLASSIC)

    assert alone == Candidates(("r1",))
    assert changed(alone, (), rules=CLASSIC) == alone
    assert clean_choice(alone, ("r2", "r3")) == ()


def test_who_leaves_a_set_that_is_large_enough_is_not_eligible() -> None:
    assert changed(ALL, ("r1", "r2"), rules=ELIGIBLE) == Candidates(("r1", "r2"))


def test_who_leaves_a_set_that_is_too_small_stays_eligible() -> None:
    two = changed(ALL, ("r1", "r2"), rules=ELIGIBLE)
    one = changed(two, ("r1",), rules=ELIGIBLE)
    none = changed(one, (), rules=ELIGIBLE)

    assert (one.elr, none.elr) == (("r2",), ("r2", "r1"))
    assert clean_choice(one, ("r1", "r2", "r3")) == ("r1",)
    assert clean_choice(none, ("r3", "r2")) == ("r2",)
    assert clean_choice(none, ("r3",)) == ()


def test_who_comes_back_from_a_crash_is_not_eligible() -> None:
    one = Candidates(("r1",), ("r2",))

    assert changed(one, ("r1",), unclean=("r2",), rules=ELIGIBLE).elr == ()
    assert changed(one, (), unclean=("r1",), rules=ELIGIBLE).elr == ("r2",)


def test_nobody_stays_eligible_once_the_set_is_large_enough_again() -> None:
    one = Candidates(("r1",), ("r2",))

    assert changed(one, ("r1", "r3"), rules=ELIGIBLE) == Candidates(("r1", "r3"))


def test_the_last_leader_is_the_last_resort() -> None:
    nobody = Candidates((), (), "r1")

    assert clean_choice(nobody, ("r1", "r2")) == ("r1",)
    assert clean_choice(nobody, ("r2",)) == ()
    assert clean_choice(Candidates((), ("r2",), "r1"), ("r1",)) == ()


def test_an_eligible_replica_that_leads_is_alone_in_sync() -> None:
    chosen = led_by(Candidates((), ("r2", "r1"), "r1"), "r2", rules=ELIGIBLE)

    assert chosen == Candidates(("r2",), ("r1",), None)
    assert led_by(ALL, "r2", rules=ELIGIBLE) == ALL


@pytest.mark.parametrize(("confirmed", "high_watermark"), [(None, 1), (1, 0), (2, 1)])
def test_a_member_that_the_controller_has_not_confirmed_does_not_count_for_min_isr(
    confirmed: int | None, high_watermark: int
) -> None:
    made = leading(records=0, isr=("r1",), rules=ELIGIBLE)
    made.log.append(batch(0), now_ms=0)
    assert made.leadership is not None
    made.leadership.confirmed = confirmed
    record_position(made, "r2", 1, rules=ELIGIBLE)
    expand_isr(made, "r2", rules=ELIGIBLE)

    assert made.leadership.isr == ("r1", "r2")
    assert made.log.high_watermark == high_watermark
