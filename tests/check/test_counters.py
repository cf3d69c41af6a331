"""What the counters of a run mean: recounted from its events, and told on small cases."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from sim.check.counters import COUNTERS, RunCounters
from sim.check.history import ClusterHistory
from sim.check.queries import HistoryQueries
from sim.compaction import TOMBSTONE_MARKS
from sim.log import Record
from sim.rules import RULES, Rules, rules_from
from sim.scenario.file.load import load_scenario
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.scenario.model import Scenario
from sim.timed_run import Run, run_scenario
from sim.trace import (
    Appended,
    Cleaned,
    Consumed,
    Copied,
    Event,
    FaultInjected,
    IsrChanged,
    LeaderElected,
    PrefixDeleted,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRemoved,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotInstalled,
    Truncated,
)

ROOT = Path(__file__).resolve().parents[2]
LOST_TAIL = load_scenario(ROOT / "scenarios/kip280/timed_lost_tail.yaml")
KAFKA = rules_from({"preset": "kip-280", "fix": "empty_batch", "delete_retention_ms": 500})
KRAFT = rules_from({"preset": "kraft", "tombstone_removal": "horizon", "delete_retention_ms": 500})
Disk = dict[int, Record | None]
"""Offset -> the record, or None for an empty batch that ends there."""


def with_events(scenario: Scenario) -> tuple[Run, list[Event]]:
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events)
    return run, [event for _, event in events]


def disks_after(events: Iterable[Event]) -> dict[str, Disk]:
    """What every replica holds in the end, from the events alone."""
    disks: dict[str, Disk] = {}
    for event in events:
        name = str(event.replica)
        disk = disks.setdefault(name, {})
        match event:
            case Appended() | Copied():
                batches = [event.batch] if isinstance(event, Appended) else event.batches
                for batch in batches:
                    disk |= {record.offset: record for record in batch.records}
                    if not batch.records:
                        disk[batch.last_offset] = None
            case Truncated(_, end, _, _, _, _) | ReplicaCrashed(_, end, _):
                disks[name] = {offset: slot for offset, slot in disk.items() if offset < end}
            case PrefixDeleted(_, start, _):
                disks[name] = {offset: slot for offset, slot in disk.items() if offset >= start}
            case ReplicaAdded() | ReplicaWiped() | SnapshotInstalled():
                disk.clear()
            case Cleaned():
                for offset in (*(removal.offset for removal in event.removals), *event.dropped):
                    del disk[offset]
                disk |= dict.fromkeys(event.emptied)
            case _:
                pass
    return disks


def of_kind(events: Iterable[Event], kind: type) -> int:
    return sum(1 for event in events if type(event) is kind)


CASES = [
    pytest.param(generate(seed, Mix.model_validate(mix)).with_rules(rules), id=f"{mix} {seed}")
    for mix, rules in (("reference", KAFKA), ("storm", KAFKA), ("kraft", KRAFT))
    for seed in range(6)
]


@pytest.mark.parametrize("scenario", CASES)
def test_what_happened_is_counted_event_by_event(scenario: Scenario) -> None:
    run, events = with_events(scenario)

    appended = [event.batch for event in events if isinstance(event, Appended)]
    copied = [batch for event in events if isinstance(event, Copied) for batch in event.batches]
    chunks = [event for event in events if isinstance(event, SnapshotChunkFetched)]
    removals = [r for event in events if isinstance(event, Cleaned) for r in event.removals]
    expected = {
        "events": len(events),
        "records": sum(len(batch.records) for batch in appended),
        "bytes_appended": sum(batch.size_bytes for batch in appended),
        "bytes_replicated": sum(batch.size_bytes for batch in copied)
        + sum(chunk.size_bytes for chunk in chunks),
        "elections": of_kind(events, LeaderElected),
        "isr_changes": of_kind(events, IsrChanged),
        "truncations": of_kind(events, Truncated),
        "cleanings": of_kind(events, Cleaned),
        "snapshots_fetched": of_kind(events, SnapshotInstalled),
        "faults": of_kind(events, FaultInjected),
        "reads": sum(len(event.records) for event in events if isinstance(event, Consumed)),
        "records_removed": len(removals),
        "tombstones_removed": sum(1 for r in removals if r.reason == "tombstone"),
        "markers_removed": sum(1 for r in removals if r.reason == "marker"),
        "log_ends_cleaned": sum(
            event.log_end_offset - 1 in {removal.offset for removal in event.removals}
            for event in events
            if isinstance(event, Cleaned)
        ),
        "leader_changes": sum(
            one != other
            for one, other in pairwise(e.replica for e in events if type(e) is LeaderElected)
        ),
    }
    assert {name: run.counters[name] for name in expected} == expected


@pytest.mark.parametrize("scenario", CASES)
def test_what_is_left_is_counted_on_all_disks_at_the_end(scenario: Scenario) -> None:
    run, events = with_events(scenario)

    is_tombstone = TOMBSTONE_MARKS[scenario.rules.cleaner.tombstone_mark]
    slots = [slot for disk in disks_after(events).values() for slot in disk.values()]
    records = [slot for slot in slots if slot is not None]
    expected = {
        "records_retained": len(records),
        "empty_batches": len(slots) - len(records),
        "tombstones_left": sum(1 for r in records if r.key is not None and is_tombstone(r)),
    }
    assert {name: run.counters[name] for name in expected} == expected


def test_a_runs_counters_are_exactly_those_and_all_integers() -> None:
    counters = run_scenario(generate(1, Mix())).counters

    assert tuple(counters) == COUNTERS
    assert {type(value) for value in counters.values()} == {int}


def without_the_last_write(fix: str) -> Run:
    """The lost tail, but nobody writes after the migration: A=d, which loses, came last."""
    workload = replace(LOST_TAIL.workload, sends=LOST_TAIL.workload.sends[:-1])
    quiet = replace(LOST_TAIL, faults=LOST_TAIL.faults[:2], workload=workload)
    return run_scenario(quiet.with_rules(LOST_TAIL.rules.with_values({"fix": fix})))


@pytest.mark.parametrize(
    ("fix", "stale", "retained", "empty"),
    [("none", 0, 10, 0), ("leo_retention", 1, 12, 0), ("empty_batch", 0, 10, 2)],
)
def test_each_fix_has_its_price(fix: str, stale: int, retained: int, empty: int) -> None:
    """A loser that is retained is what a reader in offset order ends with; an empty batch is not.

    r2 has A=d in any case: it lies in its active segment, which no cleaner touches.
    """
    counters = without_the_last_write(fix).counters

    assert counters["stale_reads_last"] == stale
    assert (counters["records_retained"], counters["empty_batches"]) == (retained, empty)


@pytest.mark.parametrize(("order", "stale"), [("offset", 1), ("strategy", 0)])
def test_a_consumer_that_applies_the_strategy_is_not_misled_by_a_retained_loser(
    order: str, stale: int
) -> None:
    sends = LOST_TAIL.workload.sends[:-1]
    scenario = replace(LOST_TAIL, workload=replace(LOST_TAIL.workload, sends=sends))
    rules = LOST_TAIL.rules.with_values({"fix": "leo_retention", "consumer_order": order})

    assert run_scenario(scenario.with_rules(rules)).counters["stale_reads_last"] == stale


def test_a_key_won_by_an_earlier_record_is_counted_until_the_strategy_is_the_offset() -> None:
    by_header = without_the_last_write("empty_batch")
    by_offset = run_scenario(LOST_TAIL.with_rules(Rules.of(commit="isr", strategy="offset")))

    assert by_header.counters["keys_won_earlier"] == 1
    assert by_offset.counters["keys_won_earlier"] == 0
    assert by_header.counters["keys"] == 3


def test_committed_counts_offsets_once() -> None:
    """Offset 3 is committed twice in the lost tail, and given to two of the five records."""
    counters = run_scenario(LOST_TAIL).counters

    assert (counters["records"], counters["committed"]) == (5, 4)


def test_messages_that_a_partition_swallows_are_counted() -> None:
    whole = run_scenario(replace(LOST_TAIL, faults=()))
    cut = run_scenario(LOST_TAIL)

    assert whole.counters["messages_lost"] == 0
    assert 0 < cut.counters["messages_lost"] < cut.counters["messages"]
    assert cut.counters["simulator_events"] > cut.counters["messages"]


@pytest.mark.parametrize("gone", [ReplicaWiped("r1", "disk"), ReplicaRemoved("r1")])
def test_stubs_go_with_the_disk_of_who_leaves(gone: Event) -> None:
    def kept(*events: Event) -> int:
        counters = RunCounters()
        for event in events:
            counters.handlers[type(event)](event)
        return counters.values(HistoryQueries(ClusterHistory(KAFKA)), {})["stubs_kept"]

    cleaned = Cleaned("r1", 0, 9, (), (), (), (), None, 9, 9, (90, 90), stubs=2)
    other = cleaned._replace(replica="r2", stubs=3)

    assert (kept(cleaned, other), kept(cleaned, other, gone)) == (5, 3)


def test_no_counter_is_called_like_a_rule() -> None:
    """A sweep that varies the rule has a column of either."""
    assert {*COUNTERS} & {*RULES} == set()
