"""Liveness: what has to happen some day, and what makes it fair to ask."""

import pytest

from sim.check.registry import INVARIANTS, Kind
from sim.cli.listing import invariants
from sim.rules import Rules
from sim.trace import Cleaned, Event, HighWatermarkMoved, ReplicaCrashed, RoundsEnded
from tests.check.events import appended, batch, cluster, committed, copied, violations_of

NAME = "tombstone-eventually-removed"
LOG = [batch(0, "k", None), batch(1, "a"), batch(2, "k", None)]
BASE: list[Event] = [
    *cluster("r1", "r2"),
    *appended("r1", *LOG),
    copied("r2", "r1", 0, *LOG),
    committed("r1", 3),
    HighWatermarkMoved("r2", 3, leading=False),
]


def rounds(*cleaners: str) -> RoundsEnded:
    return RoundsEnded("r1", 3, 150, cleaners)


def passed(replica: str, protected: int | None) -> Cleaned:
    return Cleaned(replica, 0, 3, (), (), (), (), protected, 3, 3, (200, 200))


def test_every_tombstone_on_every_cleaned_disk_is_told() -> None:
    assert violations_of(NAME, [*BASE, rounds("r1")]) == [
        "r1 still holds the tombstone of k (offset 0) after 3 rounds of cleaning, 150 ms apart.",
        "r1 still holds the tombstone of k (offset 2) after 3 rounds of cleaning, 150 ms apart.",
    ]
    assert len(violations_of(NAME, [*BASE, rounds("r1", "r2")])) == 4


def test_what_the_fix_keeps_at_the_log_end_is_left_out() -> None:
    [sentence] = violations_of(NAME, [*BASE, passed("r1", 2), rounds("r1")])

    assert "offset 0" in sentence


def test_above_an_open_transaction_nothing_is_judged() -> None:
    log = [batch(0, "k", None), batch(1, "t", pid=7), batch(2, "k", None)]
    events = [*cluster("r1"), *appended("r1", *log), committed("r1", 3), rounds("r1")]

    [sentence] = violations_of(NAME, events)

    assert "offset 0" in sentence


@pytest.mark.parametrize(
    ("removal", "cleaners", "found"),
    [
        ("horizon", ("r1",), 2),
        ("never", ("r1", "r2"), 0),
        ("coordinated", ("r1",), 0),
        ("coordinated", ("r1", "r2"), 4),
    ],
)
def test_a_rule_that_promises_nothing_is_not_judged(
    removal: str, cleaners: tuple[str, ...], found: int
) -> None:
    rules = Rules.of(commit="isr", tombstone_removal=removal)

    assert len(violations_of(NAME, [*BASE, rounds(*cleaners)], rules=rules)) == found


def test_coordination_waits_for_a_replica_that_is_down() -> None:
    rules = Rules.of(commit="isr", tombstone_removal="coordinated")
    events = [*BASE, ReplicaCrashed("r2", 3, 3), rounds("r1", "r2")]

    assert violations_of(NAME, events, rules=rules) == []


def test_what_is_fair_is_said_of_every_liveness_invariant() -> None:
    said = {row["invariant"]: row["says"] for row in invariants()}
    fair = {name: cls.fairness for name, cls in INVARIANTS.items() if cls.fairness}
    lively = {name for name, cls in INVARIANTS.items() if cls.kind is Kind.LIVENESS}

    # These two are bounded, in time or by the rest, so that sweeps judge them as safety.
    assert set(fair) == lively | {"lso-progress", "high-watermark-advances"}
    assert all(said[name].endswith(f"Fair when {text}.") for name, text in fair.items())
