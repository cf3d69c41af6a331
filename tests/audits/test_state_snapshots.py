"""Snapshots that are not as the events say are reported; all others are not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from sim.protocol.events import Event, ReplicaWiped, SnapshotDeleted, SnapshotTaken
from sim.protocol.replication import Replica
from sim.protocol.replication.messages import SnapshotId
from sim.protocol.replication.replica import Snapshot
from sim.protocol.replication.snapshots.fetch import install
from sim.protocol.replication.snapshots.take import take_snapshot
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from tests.audits.state_snapshots import SnapshotsFollowed
from tests.log.producing import sent

RULES = Rules.of(commit="majority")
TAKEN = SnapshotId(2, 1)


class World:
    """Two replicas whose snapshots are followed, with all reports."""

    def __init__(self) -> None:
        self.replicas = [Replica("r1"), Replica("r2")]
        nodes = {one.name: SimpleNamespace(replica=one) for one in self.replicas}
        self.reports: list[str] = []
        self.audit = SnapshotsFollowed(cast(Cluster, SimpleNamespace(nodes=nodes)), self._report)
        for offset in range(3):
            self.replicas[0].log.append(sent(offset, offset, timestamp_ms=10 + offset), now_ms=0)

    def _report(self, _name: str, said: str, _replica: str | None, _offset: int | None) -> None:
        self.reports.append(said.split(": ")[1])

    def happened(self, *events: Event) -> list[str]:
        self.audit.after(0, events)
        return self.reports


def test_snapshots_that_are_taken_installed_and_lost_agree() -> None:
    world = World()
    leader, follower = world.replicas
    world.happened(*take_snapshot(leader, 2, rules=RULES))
    world.happened(*install(follower, leader.snapshots[TAKEN], rules=RULES))
    follower.snapshots.clear()
    assert world.happened(ReplicaWiped("r2", "a new disk")) == []


def test_a_log_without_batches_has_the_time_of_its_snapshot() -> None:
    world = World()
    leader, follower = world.replicas
    world.happened(*take_snapshot(leader, 2, rules=RULES))
    world.happened(*install(follower, leader.snapshots[TAKEN], rules=RULES))
    follower.log.advance_to(4)
    assert len(world.happened(*take_snapshot(follower, 4, rules=RULES))) == 0
    assert [one.timestamp_ms for one in follower.snapshots.values()] == [11, 11]


@pytest.mark.parametrize(
    ("id_", "time_ms", "reports"),
    [
        (TAKEN, 11, []),
        (TAKEN, 12, ["snapshots"]),
        (SnapshotId(2, 2), 11, ["epoch of SnapshotId(end_offset=2, epoch=2)"]),
    ],
)
def test_epoch_and_time_of_a_snapshot_are_those_below_its_end(
    id_: SnapshotId, time_ms: int, reports: list[str]
) -> None:
    world = World()
    world.replicas[0].snapshots[id_] = Snapshot(id_, (), time_ms)
    assert world.happened(SnapshotTaken("r1", *id_, ())) == reports


def test_a_fetched_snapshot_has_a_time_that_it_had_elsewhere() -> None:
    world = World()
    world.happened(*take_snapshot(world.replicas[0], 2, rules=RULES))
    events = install(world.replicas[1], Snapshot(TAKEN, (), 12), rules=RULES)
    assert world.happened(*events) == ["time of SnapshotId(end_offset=2, epoch=1)"]


def test_a_deleted_snapshot_that_is_still_there_is_reported() -> None:
    world = World()
    world.happened(*take_snapshot(world.replicas[0], 2, rules=RULES))
    assert world.happened(SnapshotDeleted("r1", *TAKEN)) == ["snapshots"]
