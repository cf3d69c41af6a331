"""Snapshots that are not as the events say are reported; all others are not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sim.protocol.events import SnapshotDeleted, SnapshotTaken
from sim.protocol.replication.messages import SnapshotId
from sim.protocol.replication.replica import Snapshot
from sim.protocol.replication.snapshots import install, take_snapshot
from sim.protocol.rules import Rules
from tests.audits.state_snapshots import SnapshotsFollowed
from tests.audits.worlds import World
from tests.log.producing import sent

RULES = Rules.of(commit="majority")
TAKEN = SnapshotId(2, 1)


class Followed(World):
    """Two replicas whose snapshots are followed."""

    def __init__(self) -> None:
        super().__init__(SnapshotsFollowed, "r2")
        self.replicas = [node.replica for node in self.nodes.values()]
        for offset in range(3):
            self.log.append(sent(offset, offset, timestamp_ms=10 + offset), now_ms=0)


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
    world = Followed()
    world.replicas[0].snapshots[id_] = Snapshot(id_, (), time_ms)
    assert world.happened(SnapshotTaken("r1", *id_, ())) == reports


@pytest.mark.parametrize(("last", "reports"), [(1, []), (0, ["older records in 2"])])
def test_a_snapshot_of_deltas_has_the_last_records(last: int, reports: list[str]) -> None:
    world = Followed()
    world.node.rules = RULES.with_values({"state_machine": "deltas"})
    record = next(iter(world.log.batches())).records[0]
    world.replicas[0].snapshots[TAKEN] = Snapshot(TAKEN, (), 11)
    taken = SnapshotTaken("r1", *TAKEN, (replace(record, offset=last),))
    assert world.happened(taken) == reports


def test_a_fetched_snapshot_has_a_time_that_it_had_elsewhere() -> None:
    world = Followed()
    world.happened(*take_snapshot(world.replicas[0], 2, rules=RULES))
    events = install(world.replicas[1], Snapshot(TAKEN, (), 12), rules=RULES)
    assert world.happened(*events) == ["time of SnapshotId(end_offset=2, epoch=1)"]


def test_a_deleted_snapshot_that_is_still_there_is_reported() -> None:
    world = Followed()
    world.happened(*take_snapshot(world.replicas[0], 2, rules=RULES))
    assert world.happened(SnapshotDeleted("r1", *TAKEN)) == ["snapshots"]
