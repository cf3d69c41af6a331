"""What the counters of a run mean, told on small cases."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sim import trace
from sim.check import Checker
from sim.check.counters import COSTS, COUNTER, COUNTERS, RunCounters
from sim.log.record import BATCH_HEADER_BYTES, size_of
from sim.rules import RULES as RULE_NAMES
from sim.scenario.file.load import load_scenario
from sim.timed_run import run_scenario
from sim.trace import REBUILT, Event
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
)

VALUE, DELETE, COMMIT = batch(0, "k"), batch(1, "k", None), marker(2, 7, commit=True)
V, D, M = VALUE.size_bytes, DELETE.size_bytes, size_of(COMMIT.records, base_offset=2)
START = [*cluster("r2", "r1"), *appended("r1", VALUE, DELETE, COMMIT), copied("r2", "r1", 0, VALUE)]
"""r2 leads; r1 has k=v, the tombstone of k and a COMMIT, and r2 the first of them."""


def counted(*steps: tuple[int, Event], **rules: str) -> Counter[str]:
    """After a start, and (ms, event); faults end after 10,000 ms."""
    checker = Checker(
        RULES.with_values({"strategy": "offset", "fix": "persisted_leo", **rules}), []
    )
    counters = RunCounters(checker, faults_end_ms=10_000)
    for at_ms, event in [*[(0, event) for event in START], *steps]:
        checker.on(at_ms, event)
    return Counter(counters.values({"messages": 5}))


def elected(name: str) -> Event:
    return trace.LeaderElected(name, 2, 0, ("r1", "r2"), ("r1", "r2"))


PASS = cleaned("r1", 3)
ALL_GONE = [superseded(0, "k", 1), removed(1, "k", "tombstone"), removed(2, None, "marker")]
ASKED = trace.CoordinatorAnswered("r1", 1, "c1", "k", (), 0, "COORDINATOR_LOAD_IN_PROGRESS")
REFUSED = trace.AppendRefused("r1", "k", "null_value")
CLEANED = {"cleanings": 1, "log_ends_persisted": 1}
WIPED = {"records_retained": -1, "bytes_retained": -V}
REFILL = [copied("r2", "r1", 0, VALUE), copied("r2", "r1", 1, DELETE)]
REFILLED = {"records_retained": 1, "tombstones_left": 1, "bytes_retained": D}
LOADED = [trace.CoordinatorLoaded("r1", 1, 0, 0, 0, took_ms) for took_ms in (20, 30, 10)]

HAPPENED: list[tuple[list[Event], dict[str, int]]] = [
    (
        appended("r1", batch(3, "z")),
        {"records": 1, "bytes_appended": V, "records_retained": 1, "bytes_retained": V},
    ),
    ([copied("r2", "r1", 1, DELETE)], {"bytes_replicated": D, **REFILLED}),
    ([trace.SnapshotChunkFetched("r2", "r1", 3, 1, 0, 1, 70)], {"bytes_replicated": 70}),
    (
        [trace.SnapshotInstalled("r2", 0, 0, (), 0, 0, leading=True)],
        WIPED | {"snapshots_fetched": 1},
    ),
    ([trace.Truncated("r2", 0, 0, 0, 0, leading=False)], WIPED | {"truncations": 1}),
    ([committed("r2", 1)], {"committed": 1, "keys": 1}),
    ([elected("r2")], {"elections": 1}),
    ([elected("r1")], {"elections": 1, "leader_changes": 1}),
    ([trace.IsrChanged("r2", ("r2",), None)], {"isr_changes": 1}),
    ([trace.FaultInjected("r1", "roll", "")], {"faults": 1}),
    ([trace.GapLearned("r2", "r1", 1, 3)], {"gaps_learned": 1}),
    (
        [cleaned("r1", 3, *ALL_GONE, emptied=(2,))],
        CLEANED
        | {"records_removed": 3, "tombstones_removed": 1, "markers_removed": 1}
        | {"log_ends_cleaned": 1, "records_retained": -3, "tombstones_left": -1}
        | {"empty_batches": 1, "bytes_retained": BATCH_HEADER_BYTES - V - D - M},
    ),
    (
        [cleaned("r1", 3, ALL_GONE[0])],
        CLEANED | {"records_removed": 1, "records_retained": -1, "bytes_retained": -V},
    ),
    ([PASS._replace(oversized=((0, 9), (1, 9)))], CLEANED | {"oversized_batches": 2}),
    # The latest pass of each replica says what it remembers, which goes with the disk.
    (
        [
            PASS._replace(replica=name, stubs=stubs)
            for name, stubs in (("r1", 9), ("r1", 2), ("r2", 3))
        ],
        {"cleanings": 3, "log_ends_persisted": 3, "stubs_kept": 5},
    ),
    ([cleaned("r2", 1)._replace(stubs=2), trace.ReplicaWiped("r2", "disk")], CLEANED | WIPED),
    (
        [cleaned("r1", 3)._replace(stubs=2), trace.ReplicaRemoved("r1")],
        CLEANED | {"records_retained": -3, "tombstones_left": -1, "bytes_retained": -V - D - M},
    ),
    # A log that was thrown away had one batch: it alone is fetched again.
    (
        [trace.ReplicaWiped("r2", REBUILT), *REFILL],
        {"rebuilds": 1, "bytes_rebuilt": V, "bytes_replicated": V + D, **REFILLED},
    ),
    ([trace.ReplicaWiped("r2", "disk"), *REFILL], {"bytes_replicated": V + D, **REFILLED}),
    (
        [REFUSED, REFUSED, REFUSED._replace(reason="not_enough_replicas")],
        {"sends_refused": 2},
    ),
    ([trace.Consumed("r1", "c1", 0, 1, VALUE.records, 0)], {"reads": 1}),
    ([trace.Converted("r1", "c1", 80, ())], {"bytes_down_converted": 80}),
    (LOADED, {"logs_loaded": 3, "coordinator_load_ms": 30}),
    ([ASKED, ASKED, ASKED._replace(error="NONE")], {"asks_refused": 2}),
]


@pytest.mark.parametrize(("events", "expected"), HAPPENED)
def test_an_event_changes_these_counters_alone(
    events: list[Event], expected: dict[str, int]
) -> None:
    found = counted(*[(0, event) for event in events])
    found.subtract(counted())

    assert {name: change for name, change in found.items() if change} == expected


WAITS: list[tuple[list[tuple[int, Event]], dict[str, int]]] = [
    # A tombstone is due 100 ms after the first pass that met it, and waits to the last one.
    ([(50, PASS), (149, PASS)], {}),
    ([(50, PASS), (400, PASS)], {"tombstone_wait_ms": 250, "tombstones_waiting": 1}),
    ([(50, PASS), (400, cleaned("r1", 3, ALL_GONE[1]))], {}),
    ([(50, PASS), (300, PASS), (400, cleaned("r1", 3, ALL_GONE[1]))], {"tombstone_wait_ms": 150}),
    # A marker is due after the pass that gave it a horizon.
    (
        [(0, PASS), (80, cleaned("r1", 3, horizons=((2, 180),))), (200, PASS)],
        {"tombstone_wait_ms": 100, "tombstones_waiting": 1}
        | {"marker_wait_ms": 20, "markers_waiting": 1},
    ),
    # What is above a pass is not met; what goes with the disk, or its replica, waits no more.
    ([(50, cleaned("r1", 1)), (400, cleaned("r1", 1))], {}),
    ([(50, PASS), (100, trace.ReplicaWiped("r1", "a new disk")), (400, cleaned("r1", 0))], {}),
    ([(50, PASS), (400, PASS), (500, trace.ReplicaRemoved("r1"))], {"tombstone_wait_ms": 250}),
    # Passes after the faults end do not count.
    ([(50, PASS), (10_000, PASS)], {}),
]


@pytest.mark.parametrize(("steps", "expected"), WAITS)
def test_what_waits_to_be_removed(steps: list[tuple[int, Event]], expected: dict[str, int]) -> None:
    found = counted(*steps)

    assert {name: n for name, n in found.items() if n and "_wait" in name} == expected


def test_what_others_report_is_among_all_counters_in_the_order_of_their_columns() -> None:
    found = counted()

    assert (*found,) == COUNTERS
    assert found["messages"] == 5


def test_what_is_compared_as_a_cost_is_counted() -> None:
    assert COSTS.keys() <= COUNTER.keys()


READ = [(0, event) for event in [copied("r2", "r1", 1, DELETE), committed("r2", 2)]]


@pytest.mark.parametrize("consumer_order", ["offset", "strategy"])
def test_a_reader_of_all_that_is_committed_ends_on_the_winner(consumer_order: str) -> None:
    assert counted(*READ, consumer_order=consumer_order)["stale_reads_last"] == 0


def test_nobody_reads_a_leader_that_has_left_for_good() -> None:
    found = counted(*READ, (0, trace.ReplicaRemoved("r2")))

    assert (found["committed"], found["stale_reads_last"], found["unmeant_keys"]) == (2, 0, 0)


def test_no_counter_is_called_like_a_rule() -> None:
    """A sweep that varies the rule has a column of either."""
    assert COUNTER.keys() & {*RULE_NAMES} == set()


LOST_TAIL = load_scenario(
    Path(__file__).resolve().parents[2] / "scenarios/kip280/timed_lost_tail.yaml"
)
RUNS: list[tuple[Mapping[str, str], bool, dict[str, int]]] = [
    # Offset 3 is committed twice, and given to two of the five records.
    ({}, True, {"records": 5, "committed": 4, "sends": 5, "messages_lost": 6}),
    ({"strategy": "offset"}, True, {"keys_won_earlier": 0}),
    # Nobody writes after the migration: A=d, which loses, came last. r2 has it in any case, in its
    # active segment. A loser that is retained is what a reader in offset order ends with.
    ({"fix": "none"}, False, {"stale_reads_last": 0, "records_retained": 10}),
    ({"fix": "leo_retention"}, False, {"stale_reads_last": 1, "records_retained": 12}),
    ({"fix": "leo_retention", "consumer_order": "strategy"}, False, {"stale_reads_last": 0}),
    ({"fix": "empty_batch"}, False, {"stale_reads_last": 0, "keys_won_earlier": 1, "keys": 3}),
]


@pytest.mark.parametrize(("rules", "last_write", "expected"), RUNS)
def test_each_fix_has_its_price(
    rules: Mapping[str, str], last_write: bool, expected: dict[str, int]
) -> None:
    sends = LOST_TAIL.workload.sends[: None if last_write else -1]
    scenario = replace(
        LOST_TAIL,
        workload=replace(LOST_TAIL.workload, sends=sends),
        faults=LOST_TAIL.faults[: None if last_write else 2],
    )
    found = run_scenario(scenario.with_rules(LOST_TAIL.rules.with_values(rules))).counters

    assert {name: found[name] for name in expected} == expected
    assert found["messages_lost"] < found["messages"] < found["simulator_events"]
