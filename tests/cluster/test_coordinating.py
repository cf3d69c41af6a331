"""Coordinated removal over the network: who is listened to, and when."""

import pytest

from sim.cluster.context import World
from sim.cluster.controller import Controller
from sim.cluster.coordinating import Coordination
from sim.cluster.node import Node
from sim.replication.messages import RemovalBounds, RemovalReport
from sim.rules.rules import Rules
from sim.scenario.model import Scenario

RULES = Rules.of(commit="isr", tombstone_removal="coordinated")


def cluster(rules: Rules = RULES) -> tuple[World, list[Node]]:
    """Three replicas, of which the first leads epoch 3; the others have heard of it."""
    world = World(Scenario("three", rules=rules), lambda _at, _event: None)
    world.elections = Controller(world)
    nodes = [Node(world, spec) for spec in world.scenario.replicas]
    for node in nodes:
        world.add(node)
        node.sees(3)
    nodes[0].lead(3, isr=("r1", "r2", "r3"), voters=("r1", "r2", "r3"))
    return world, nodes


def test_the_bounds_of_an_older_leader_are_ignored() -> None:
    world, (leader, follower, _) = cluster()
    coordination = Coordination(world)

    coordination.asked(follower, leader, 2, RemovalBounds(5, 5))
    assert follower.replica.removal_bound == 0
    coordination.asked(follower, leader, 3, RemovalBounds(4, 4))
    assert follower.replica.removal_bound == 4


def test_without_fencing_an_older_leader_is_listened_to() -> None:
    world, (leader, follower, _) = cluster(RULES.with_values({"fencing": False}))

    Coordination(world).asked(follower, leader, 2, RemovalBounds(5, 5))

    assert follower.replica.removal_bound == 5


@pytest.mark.parametrize(("epoch", "bound"), [(2, 0), (3, 7)])
def test_a_report_to_an_older_leader_is_ignored(epoch: int, bound: int) -> None:
    world, (leader, _, _) = cluster()
    coordination = Coordination(world)
    coordination.hold_round()
    leader.replica.cleanly_compacted_offset = 7
    for name in ("r2", "r3"):
        coordination.reported(leader, epoch, name, RemovalReport(1, 9, 9))
    coordination.hold_round()

    assert leader.replica.removal_bound == bound


def test_a_new_leader_starts_without_reports_and_from_its_own_bound() -> None:
    world, (first, second, _) = cluster()
    coordination = Coordination(world)
    coordination.hold_round()
    for name in ("r2", "r3"):
        coordination.reported(first, 3, name, RemovalReport(1, 9, 9))
    first.replica.cleanly_compacted_offset = second.replica.cleanly_compacted_offset = 9
    second.replica.removal_bound = 2
    first.sees(4)
    second.lead(4, isr=("r1", "r2", "r3"), voters=("r1", "r2", "r3"))
    coordination.hold_round()

    assert second.replica.removal_bound == 2
    for name in ("r1", "r3"):
        coordination.reported(second, 4, name, RemovalReport(1, 9, 9))
    coordination.hold_round()
    assert second.replica.removal_bound == 9
