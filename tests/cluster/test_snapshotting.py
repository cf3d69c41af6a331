"""When replicas take snapshots, what they keep of them, and how long loading takes."""

from itertools import pairwise
from typing import Any

import pytest

from sim.protocol.events import (
    Appended,
    HighWatermarkMoved,
    LeaderResigned,
    PrefixDeleted,
    SnapshotChunkFetched,
    SnapshotInstalled,
    SnapshotTaken,
    StateLoaded,
)
from sim.protocol.replication.messages import ErrorCode, FetchSnapshotResponse, SnapshotId
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.faults import FaultKind
from sim.simulate.scenario.model import ReplicaSpec, SnapshotSettings, Timers, Workload
from tests.cluster.worlds import THREE, Story, fault, scenario, sends, tell

MAJORITY = Rules.of(commit="majority", leader_change_record=True, cleanup="snapshot")


def run(
    *faults: Any,
    rules: Rules = MAJORITY,
    timers: Timers | None = None,
    replicas: tuple[ReplicaSpec, ...] = THREE,
    **given: Any,
) -> Story:
    settings = SnapshotSettings(**given)
    workload = Workload(sends=sends(60, every_ms=50))
    return tell(
        scenario(
            *faults,
            rules=rules,
            replicas=replicas,
            workload=workload,
            snapshots=settings,
            timers=timers or Timers(fetch_wait_ms=200),
        )
    )


def ends(story: Story, replica: str) -> list[int]:
    return [event.end_offset for _, event in story.of(SnapshotTaken) if event.replica == replica]


def test_a_snapshot_is_taken_once_so_many_bytes_are_committed_since_the_last() -> None:
    story = run(record_bytes=500, retention_bytes=10**6)
    sizes = [event.batch.size_bytes for _, event in story.of(Appended)]

    for replica in ("r1", "r2", "r3"):
        found = ends(story, replica)
        assert len(found) > 3
        for start, end in pairwise([0, *found]):
            assert sum(sizes[start:end]) >= 500
            assert sum(sizes[start : end - 1]) < 500


@pytest.mark.parametrize("record_bytes", [None, 700])
def test_a_snapshot_is_taken_when_something_newer_is_committed_for_so_long(
    record_bytes: int | None,
) -> None:
    """One by time begins the count of bytes anew (SnapshotGenerator.resetSnapshotCounters)."""
    story = run(interval_ms=300, record_bytes=record_bytes, retention_bytes=10**6)
    first = next(at for at, e in story.of(HighWatermarkMoved) if e.replica == "r1")
    taken = [at for at, event in story.of(SnapshotTaken) if event.replica == "r1"]

    assert taken[0] == first + 300
    assert all(later - at >= 300 for at, later in pairwise(taken))


def test_old_snapshots_stay_until_they_are_too_much_or_too_old() -> None:
    timers = Timers(fetch_wait_ms=200, snapshot_cleaning_ms=100)

    def deleted(**retention: int) -> int:
        return len(run(record_bytes=400, timers=timers, **retention).of(PrefixDeleted))

    assert deleted(retention_bytes=10**6) == deleted(retention_ms=10**6) == 0
    assert 0 < deleted(retention_bytes=4_000) < deleted(retention_bytes=1_000)
    assert 0 < deleted(retention_ms=2_000) < deleted(retention_ms=200)


@pytest.mark.parametrize(("us", "count"), [(0, 0), (2_000, 2), (50_000, 1)])
def test_a_state_machine_is_loaded_after_a_restart_and_an_install_and_no_snapshot_is_taken_then(
    us: int, count: int
) -> None:
    """An install ends the loading that the restart began, if that is not over."""
    away = fault(FaultKind.CRASH, 300, "r3", 2_000)
    timers = Timers(fetch_wait_ms=200, snapshot_cleaning_ms=100, load_us_per_record=us)
    story = run(away, timers=timers, record_bytes=400, retention_bytes=500)
    [(installed_ms, installed)] = story.of(SnapshotInstalled)
    loads = [(at, event) for at, event in story.of(StateLoaded) if event.replica == "r3"]

    assert len(loads) == count
    if us:
        at_ms, loaded = loads[-1]
        assert (loaded.snapshot_records, loaded.log_records) == (len(installed.records), 0)
        assert loaded.took_ms == us * len(installed.records) // 1_000 == at_ms - installed_ms
    for at_ms, loaded in loads:
        taken = [at for at, event in story.of(SnapshotTaken) if event.replica == "r3"]
        assert not [at for at in taken if at_ms - loaded.took_ms <= at < at_ms]


def test_a_leader_goes_on_while_the_only_follower_left_fetches_nothing_but_chunks() -> None:
    """A request for a chunk counts for the quorum (KafkaRaftClient.handleFetchSnapshotRequest)."""
    away = fault(FaultKind.CRASH, 300, "r3", 1_200)
    alone = fault(FaultKind.CRASH, 1_600, "r2", 2_300)
    story = run(away, alone, record_bytes=400, retention_bytes=0, chunk_bytes=1)
    chunks = [at for at, _ in story.of(SnapshotChunkFetched)]

    assert chunks[-1] - chunks[0] > 2_000
    assert story.of(LeaderResigned) == []


def test_a_log_start_stays_at_or_below_a_high_watermark_that_an_old_checkpoint_gives() -> None:
    """The newest snapshot may end above it; then the log does not start there yet."""
    timers = Timers(fetch_wait_ms=200, snapshot_interval_ms=300)
    undisturbed = run(timers=timers).of(SnapshotTaken)
    newest = [e.end_offset for at, e in undisturbed if e.replica == "r3" and at <= 1_500][-1]
    cut_off = fault(FaultKind.PARTITION, 1_500, "r3", 1_000)
    crash = fault(FaultKind.CRASH, 1_510, "r3", 20, high_watermark=newest - 1)
    story = run(cut_off, crash, timers=timers)

    assert newest - 1 in ends(story, "r3")
    assert all(e.log_start_offset <= e.high_watermark for _, e in story.of(PrefixDeleted))


def test_a_snapshot_is_too_old_by_the_clock_of_its_replica() -> None:
    ahead = ReplicaSpec("r2", clock_skew_ms=100_000)
    story = run(
        record_bytes=400,
        retention_ms=50_000,
        timers=Timers(fetch_wait_ms=200, snapshot_cleaning_ms=100),
        replicas=(ReplicaSpec("r1"), ahead, ReplicaSpec("r3")),
    )

    assert {event.replica for _, event in story.of(PrefixDeleted)} == {"r2"}


def test_a_voter_that_hears_of_a_later_epoch_from_a_chunk_follows_nobody() -> None:
    cluster = Cluster(scenario(rules=MAJORITY), lambda *_: None)
    cluster.start()
    cluster.context.env.run(until=200)
    voter = next(node for node in cluster.nodes.values() if node.fetcher.leader is not None)
    fetcher, later = voter.fetcher, voter.replica.epoch + 1
    old = str(fetcher.leader)
    fenced = FetchSnapshotResponse(
        old,
        later,
        SnapshotId(1, 1),
        0,
        0,
        (),
        ErrorCode.FENCED_LEADER_EPOCH,
        correlation_id=fetcher.number,
    )
    fetcher.receive(fenced)

    assert (fetcher.leader, voter.replica.epoch) == (None, later)
