"""Cleaners run on their own: each on its clock, with its own checkpoint."""

from dataclasses import replace
from typing import Literal

import pytest

from sim.rules import Rules
from sim.scenario.model import FaultKind, ReplicaSpec, Send, Timers, Topic, Workload
from sim.trace import Cleaned, Quiesced, RemovalBoundMoved, RoundsEnded, SnapshotTaken
from tests.cluster.worlds import fault, scenario, sends, tell

SKEWED = (
    ReplicaSpec("r1", 0, 200),
    ReplicaSpec("r2", 50_000, 700),
    ReplicaSpec("r3", -20, None),
)
DELETES = tuple(
    send if index % 3 else type(send)(send.at_ms, 1, send.key, None, send.timestamp_ms)
    for index, send in enumerate(sends(60, every_ms=40))
)


def test_replicas_clean_independently_and_on_their_own_clocks() -> None:
    story = tell(scenario(replicas=SKEWED, workload=Workload(sends=DELETES)))
    during = [(at, e) for at, e in story.of(Cleaned) if at < 4_000]
    horizons = {
        name: [horizon - at for at, e in during if e.replica == name for _, horizon in e.horizons]
        for name in ("r1", "r2", "r3")
    }

    assert set(horizons["r1"]) == {86_400_000}
    assert set(horizons["r2"]) <= {86_450_000, 86_400_000}
    assert 86_450_000 in horizons["r2"]
    assert horizons["r3"] == []


@pytest.mark.parametrize(
    ("mark", "removes"), [(None, False), ("flag", False), ("null_value", True)]
)
def test_a_replica_cleans_by_what_its_own_software_takes_for_a_tombstone(
    mark: Literal["null_value", "flag"] | None, removes: bool
) -> None:
    """Unflagged nulls are data to the cluster's rules; an old cleaner takes them for deletes."""
    unflagged = tuple(send._replace(flag=False) for send in DELETES)
    rules = Rules.of(commit="isr", tombstone_mark="flag", tombstone_removal="immediate")
    replicas = (ReplicaSpec("r1"), ReplicaSpec("r2", tombstone_mark=mark))
    story = tell(scenario(replicas=replicas, rules=rules, workload=Workload(sends=unflagged)))
    removers = {
        e.replica for _, e in story.of(Cleaned) if any(r.reason == "tombstone" for r in e.removals)
    }

    assert removers == ({"r2"} if removes else set())


def test_in_the_end_every_replica_with_a_cleaner_has_cleaned_what_it_may() -> None:
    story = tell(scenario(replicas=SKEWED))
    at_rest_ms = story.of(Quiesced)[0][0]
    cleaned = story.of(Cleaned)

    assert {e.replica for at, e in cleaned if at == at_rest_ms} == {"r1", "r2"}
    assert "r3" not in {e.replica for _, e in cleaned}


def test_the_cleaner_never_passes_the_high_watermark() -> None:
    story = tell(scenario(fault(FaultKind.CRASH, 400, "r3", 2_000)))

    assert all(e.upper_bound <= e.high_watermark for _, e in story.of(Cleaned))


def test_an_unbounded_cleaner_does() -> None:
    rules = Rules.of(commit="isr", cleaner_bound="leo", min_isr=3)
    away = fault(FaultKind.CRASH, 400, "r3", 3_500)
    workload = Workload(sends=sends(producers=8), idempotent=False)
    story = tell(scenario(away, rules=rules, workload=workload))

    assert any(e.upper_bound > e.high_watermark for _, e in story.of(Cleaned))


@pytest.mark.parametrize(
    ("removal", "retention_ms", "removed"),
    [
        ("immediate", 86_400_000, True),
        ("horizon", 200, True),
        ("horizon", 86_400_000, False),
        ("last_modified", 0, True),
        ("last_modified", 86_400_000, False),
        ("never", 0, False),
    ],
)
def test_a_removal_rule_lets_tombstones_go_or_stay(
    removal: str, retention_ms: int, removed: bool
) -> None:
    rules = Rules.of(commit="isr", tombstone_removal=removal, delete_retention_ms=retention_ms)
    story = tell(scenario(rules=rules, workload=Workload(sends=DELETES)))
    reasons = {r.reason for _, e in story.of(Cleaned) for r in e.removals}

    assert ("tombstone" in reasons) is removed


def test_tombstones_wait_for_the_replica_that_is_away() -> None:
    rules = Rules.of(commit="isr", tombstone_removal="leo_gated", delete_retention_ms=100)
    away = fault(FaultKind.CRASH, 300, "r3", 3_000)
    story = tell(scenario(away, rules=rules, workload=Workload(sends=DELETES)))
    early = [
        r.offset
        for at, e in story.of(Cleaned)
        if at < 3_300
        for r in e.removals
        if r.reason == "tombstone"
    ]

    assert all(offset < 10 for offset in early)


def test_the_leader_hands_out_the_bound_that_all_have_compacted() -> None:
    rules = Rules.of(commit="isr", tombstone_removal="coordinated", delete_retention_ms=100)
    timers = Timers(coordination_interval_ms=150, fetch_wait_ms=200)
    story = tell(scenario(rules=rules, timers=timers, workload=Workload(sends=DELETES)))
    moved = story.of(RemovalBoundMoved)

    assert {e.replica for _, e in moved} == {"r1", "r2", "r3"}
    for at, bound in moved:
        compacted = {
            name: max(
                (e.upper_bound for t, e in story.of(Cleaned) if t <= at and e.replica == name),
                default=0,
            )
            for name in ("r1", "r2", "r3")
        }
        assert bound.offset <= min(compacted.values())


def test_a_young_record_is_not_cleaned() -> None:
    topic = Topic(segment_bytes=300, min_compaction_lag_ms=60_000)
    story = tell(scenario(topic=topic))

    assert story.of(Cleaned) == []


def test_snapshots_end_at_or_below_the_high_watermark_of_their_replica() -> None:
    rules = Rules.of(leader_change_record=True)
    timers = Timers(snapshot_interval_ms=300, fetch_wait_ms=200)
    story = tell(scenario(rules=rules, timers=timers))
    taken = story.of(SnapshotTaken)

    assert {e.replica for _, e in taken} == {"r1", "r2", "r3"}
    assert len({at for at, _ in taken}) > 3


def test_last_rounds_roll_and_clean_every_log_with_the_retention_in_between() -> None:
    rules = Rules.of(commit="isr", delete_retention_ms=300)
    deleted = (*sends(5), Send(500, 1, "k0", None, 500))
    plain = scenario(rules=rules, workload=Workload(sends=deleted), duration_ms=1_500)
    story = tell(replace(plain, last_rounds=2))
    [(ended_ms, event)] = story.of(RoundsEnded)
    late = [at for at, e in story.of(Cleaned) if any(r.reason == "tombstone" for r in e.removals)]

    assert (event.rounds, event.interval_ms, event.cleaners) == (2, 350, ("r1", "r2", "r3"))
    assert ended_ms >= 1_500 + 2 * 350
    assert late
    assert tell(plain).of(RoundsEnded) == []
