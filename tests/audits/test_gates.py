"""What goes for good, and who leaves or joins, is reported where the replicas of then forbid it."""

import pytest

from sim.protocol import events as on
from sim.protocol.replication import messages as of
from sim.protocol.replication.replica import Snapshot
from sim.protocol.replication.snapshots import file_bytes
from sim.protocol.rules import Rules
from sim.simulate.scenario.model import SnapshotSettings
from tests.audits.gates import Gates
from tests.audits.test_answers import World
from tests.audits.test_messages import BY_CONTROLLER, BY_MAJORITY


def with_snapshots(rules: Rules, *ends: int) -> World:
    world = World(rules)
    for end in ends:
        id_ = of.SnapshotId(end, 1)
        world.follower.replica.snapshots[id_] = Snapshot(id_, (), 0)
    return world


@pytest.mark.parametrize(
    ("ends", "gate", "other_end", "told"),
    [
        ((5,), "all_live", 5, []),
        ((4,), "all_live", 5, ["deletes its prefix below 5"]),
        ((5,), "all_live", 4, ["deletes its prefix below 5"]),
        ((5,), "local", 4, []),
    ],
)
def test_a_prefix_goes_when_all_that_are_up_have_it_and_a_snapshot_covers_it(
    ends: tuple[int, ...], gate: str, other_end: int, told: list[str]
) -> None:
    world = with_snapshots(BY_MAJORITY.with_values({"prefix_gate": gate}), *ends)
    world.leader.replica.log.log_end_offset = other_end

    assert world.sees(on.PrefixDeleted(world.follower.name, 5, 5)) == told


@pytest.mark.parametrize(("less", "told"), [(1, []), (0, ["deletes its prefix below 5"])])
def test_retention_deletes_what_is_too_much_and_no_more(less: int, told: list[str]) -> None:
    world = with_snapshots(BY_MAJORITY, 2, 5)
    replica = world.follower.replica
    size = replica.log.size_bytes + sum(
        file_bytes(one.records) for one in replica.snapshots.values()
    )
    gates = next(audit for audit in world.observer.answers if isinstance(audit, Gates))
    gates._kept = SnapshotSettings(retention_bytes=size - less)
    world.sees(on.SnapshotTaken(replica.name, 5, 1, ()))

    assert world.sees(on.PrefixDeleted(replica.name, 5, 7)) == told


@pytest.mark.parametrize(("start", "told"), [(6, []), (5, ["deletes the snapshot at 5"])])
def test_a_snapshot_goes_below_the_log_start_alone(start: int, told: list[str]) -> None:
    world = with_snapshots(BY_MAJORITY, 8)
    world.follower.replica.log.log_start_offset = start

    assert world.sees(on.SnapshotDeleted(world.follower.name, 5, 1)) == told


@pytest.mark.parametrize(("behind", "told"), [(0, 0), (1, 1)])
def test_a_voter_leaves_a_majority_that_has_what_is_committed(behind: int, told: int) -> None:
    world = World(BY_MAJORITY)
    for node in world.cluster.nodes.values():
        if node is not world.leader:
            node.replica.log.log_end_offset = world.cluster.context.committed - behind

    assert len(world.sees(on.ReplicaRemoved(world.follower.name))) == told


@pytest.mark.parametrize(
    ("name", "disk", "told"),
    [
        ("r9", 2, []),
        ("r9", 1, ["number of a new disk"]),
        ("r2", 2, ["loses its disk"]),
    ],
)
def test_a_disk_goes_of_a_replica_that_may_not_lead(name: str, disk: int, told: list[str]) -> None:
    world = World(BY_CONTROLLER)
    world.cluster.nodes["r9"] = world.follower
    world.cluster.nodes[name].replica.disk = disk

    assert world.sees(on.ReplicaWiped(name, "a new disk")) == told


@pytest.mark.parametrize(("name", "told"), [("r3", []), ("r1", ["joins with other settings"])])
def test_a_replica_joins_with_the_settings_of_the_first(name: str, told: list[str]) -> None:
    world = World(BY_CONTROLLER)
    world.sees(on.ConfigChanged(name, (("delete_retention_ms", "7"),)))

    assert [one[:25] for one in world.sees(on.ReplicaAdded("r2"))] == told
