"""Invariants that no usual event can break are not asked about one: nothing is missed by that."""

from contextlib import suppress

import pytest

from sim import trace
from sim.check import Checker
from sim.check.checker import known_invariants
from sim.check.history import ClusterHistory
from sim.compaction.strategies import HEADER_FORMS
from sim.rules import Rules, rules_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.timed_run import run_scenario
from sim.trace import Event
from tests.check.defects import PLANTED
from tests.check.events import (
    RULES,
    appended,
    batch,
    cleaned,
    cluster,
    committed,
    copied,
    marker,
    removed,
    superseded,
    violations_of,
)
from tests.check.planted import BY_HEADER, LATE, ORDERS
from tests.check.unusual import asking_always

SOURCES = {
    "kip-280": {"preset": "kip-280", "fix": "none", "delete_retention_ms": 500},
    "a majority": {
        "preset": "kip-280",
        "commit": "majority",
        "tombstone_removal": "immediate",
        "cleaner_bound": "leo",
    },
    "no epochs": {"preset": "kafka-2.8", "truncation": "high_watermark", "isr_join": "hw_only"},
}


def found_either_way(rules: Rules, mix: Mix, seed: int) -> set[str]:
    """What is violated in a random run; asking always must find the very same violations."""
    events: list[tuple[int, Event]] = []
    with suppress(ValueError):  # what the core may raise with a defect in it
        run_scenario(generate(seed, mix).with_rules(rules), trace=events)
    some, every = Checker(rules, known_invariants()), Checker(rules, known_invariants())
    asking_always(every)
    for at, event in events:
        some.on(at, event)
        every.on(at, event)
    assert some.violations == every.violations
    return {violation.invariant for violation in some.violations}


@pytest.mark.parametrize("rules", SOURCES)
def test_nothing_is_missed_where_rules_are_dangerous(rules: str) -> None:
    values, mix = rules_from(SOURCES[rules]), Mix.model_validate("reference")

    assert set().union(*[found_either_way(values, mix, seed) for seed in range(8)])


@pytest.mark.parametrize("mistake", ORDERS)
def test_nothing_is_missed_of_what_a_cleaner_does_by_mistake(
    monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.setitem(HEADER_FORMS, "last_long", ORDERS[mistake])
    values = BY_HEADER.with_values({"cleaner_bound": "leo", "delete_retention_ms": 300})

    assert all(found_either_way(values, LATE, seed) for seed in range(2))


@pytest.mark.parametrize("name", PLANTED)
def test_nothing_is_missed_of_a_planted_defect(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]
    rules = rules_from({"preset": planted.preset, "delete_retention_ms": 500, **planted.rules})
    planted.plant(monkeypatch)
    mix = Mix.model_validate(planted.mix)

    assert any(planted.found_by in found_either_way(rules, mix, seed) for seed in range(4))


FIRST, SECOND, DELETE = batch(0, "k"), batch(1, "k"), batch(1, "k", None)
ALONE = [*cluster("r1", "r2", isr=("r1",)), *appended("r1", FIRST)]
"""r1 alone is in sync, and has what nobody else has; nothing is committed."""
TWO = [
    *cluster("r1", "r2"),
    *appended("r1", FIRST, SECOND),
    copied("r2", "r1", 0, FIRST, SECOND),
    committed("r1", 2),
]
DELETED = [*cluster("r1"), *appended("r1", FIRST, DELETE, marker(2, 7, commit=True))]
LEADS = trace.LeaderElected("r2", 2, 0, ("r2",), ("r1", "r2"))
OTHER = appended("r2", batch(0, "k", "another", uid=9, epoch=2))
FORKED = [*ALONE, LEADS, *OTHER]
GONE = cleaned("r1", 2, superseded(0, "k", 1))
ANOTHER = batch(0, "k", "another")
FOUND = trace.Consumed("r1", "c", 0, 2, (FIRST.records[0],), 5)
ALTERED = FOUND._replace(records=ANOTHER.records)

USUAL: list[tuple[list[Event], Event]] = [
    (TWO, trace.Appended("r1", batch(2, "k"))),
    (ALONE, copied("r2", "r1", 0, FIRST)),
    (TWO, trace.PositionRecorded("r1", "r2", 2)),
    (ALONE, committed("r1", 1)),
    (TWO, trace.HighWatermarkMoved("r2", 2, leading=False)),
    (TWO, FOUND),
    (TWO, GONE),
    (
        [*DELETED, *appended("r1", batch(3, "k")), committed("r1", 4)],
        cleaned("r1", 4, superseded(1, "k", 3)),
    ),
]
UNUSUAL: list[tuple[list[Event], Event]] = [
    # Written in an older epoch, over another record, or not as it was appended.
    (TWO, trace.Appended("r1", batch(2, "k", epoch=0))),
    (TWO, trace.Appended("r1", batch(1, "k", uid=9))),
    ([*TWO, *appended("r1", batch(2, "k"))], trace.Appended("r1", batch(2, "k", uid=9, epoch=2))),
    (TWO, trace.Appended("r1", batch(2, "k")._replace(delete_horizon_ms=5))),
    (ALONE, copied("r2", "r1", 0, ANOTHER)),
    (ALONE, copied("r2", "r1", 0, ANOTHER, batch(1, "k"))),
    (TWO, trace.PositionRecorded("r1", "r2", 3)),
    # Committed above the log, again, as something else, by too few, or below a snapshot.
    (TWO, trace.HighWatermarkMoved("r2", 3, leading=False)),
    (TWO, committed("r1", 1)),
    ([*ALONE, committed("r1", 1), trace.ReplicaRemoved("r1"), LEADS, *OTHER], committed("r2", 1)),
    ([*cluster("r1", "r2"), *appended("r1", FIRST)], committed("r1", 1)),
    ([*ALONE, trace.SnapshotTaken("r1", 1, 1, ())], committed("r1", 1)),
    # Read before it was committed, or not as it was appended, or after somebody read such a thing.
    (ALONE, FOUND),
    (TWO, ALTERED),
    ([*TWO, ALTERED], FOUND),
    # Cleaned at or above the high watermark, with another log end, a horizon, or what decides.
    (TWO, GONE._replace(log_end_offset=1)),
    (TWO, GONE._replace(high_watermark=1)),
    (TWO, GONE._replace(horizons=((1, 50),))),
    (TWO, cleaned("r1", 2, superseded(0, "k", 2))),
    ([*TWO, *appended("r1", batch(2, "k"))], cleaned("r1", 3, hw=2)),
    ([*DELETED, committed("r1", 3)], cleaned("r1", 3, superseded(1, "k", 2))),
    ([*DELETED, committed("r1", 3)], cleaned("r1", 3, removed(2, None, "marker"))),
    ([*TWO, *appended("r1", batch(2, "k"))], cleaned("r1", 2, removed(0, "k", "tombstone"))),
    # While two logs disagree.
    (FORKED, trace.Appended("r2", batch(1, "k", epoch=2))),
    (FORKED, trace.HighWatermarkMoved("r1", 0, leading=False)),
    ([*TWO, LEADS, *OTHER], GONE),
]


@pytest.mark.parametrize(
    ("before", "event", "usual"),
    [(*case, True) for case in USUAL] + [(*case, False) for case in UNUSUAL],
)
def test_what_is_usual(before: list[Event], event: Event, usual: bool) -> None:
    keeper = ClusterHistory(RULES)
    for each in before:
        keeper.apply(each)

    assert keeper.apply(event) is usual


def test_nothing_copied_is_usual_while_two_logs_disagree() -> None:
    keeper, more = ClusterHistory(RULES), batch(1, "k", epoch=2)
    for each in [*FORKED, *appended("r2", more)]:
        keeper.apply(each)

    assert not keeper.apply(copied("r1", "r2", 1, more))


def test_an_equal_copy_that_was_written_to_a_disk_and_read_again_is_the_same() -> None:
    again = FIRST._replace(records=(FIRST.records[0]._replace(),))
    events = [*cluster("r1", "r2"), *appended("r1", FIRST), copied("r2", "r1", 0, again)]

    assert violations_of("record-immutable", events) == []
