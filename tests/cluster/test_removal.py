"""Coordinated removal over the network: who is listened to, and when."""

import pytest

from sim.protocol.replication.messages import (
    RemovalBounds,
    RemovalBoundsRequest,
    RemovalBoundsResponse,
    RemovalReport,
)
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.removal import RemovalCoordination
from sim.simulate.scenario.model import Scenario

RULES = Rules.of(commit="isr", tombstone_removal="coordinated")


def nodes() -> list[Node]:
    """Three replicas, of which the first leads epoch 3; the others have heard of it."""
    cluster = Cluster(Scenario("three", rules=RULES), lambda _at, _event: None)
    cluster.elections.start()
    found = list(cluster.nodes.values())
    for node in found:
        node.sees(3)
    lead(found[0], 3)
    return found


def lead(node: Node, epoch: int) -> None:
    node.lead(epoch, isr=("r1", "r2", "r3"), replicas=("r1", "r2", "r3"))


def bounds(epoch: int, offset: int) -> RemovalBoundsRequest:
    return RemovalBoundsRequest("r1", epoch, RemovalBounds(offset, offset))


def report(to: Node, epoch: int, *replicas: str) -> None:
    for name in replicas:
        to.receive(RemovalBoundsResponse(name, epoch, RemovalReport(1, 9, 9)))


def test_the_bounds_of_an_older_leader_are_ignored() -> None:
    _, follower, _ = nodes()
    RemovalCoordination(follower)

    follower.receive(bounds(2, 5))
    assert follower.replica.removal_bound == 0
    follower.receive(bounds(3, 4))
    assert follower.replica.removal_bound == 4


@pytest.mark.parametrize(("epoch", "bound"), [(2, 0), (3, 7)])
def test_a_report_to_an_older_leader_is_ignored(epoch: int, bound: int) -> None:
    leader, _, _ = nodes()
    coordination = RemovalCoordination(leader)
    coordination.hold_round()
    leader.replica.cleanly_compacted_offset = 7
    report(leader, epoch, "r2", "r3")
    coordination.hold_round()

    assert leader.replica.removal_bound == bound


def test_a_new_leader_starts_without_reports_and_from_its_own_bound() -> None:
    first, second, _ = nodes()
    earlier, later = RemovalCoordination(first), RemovalCoordination(second)
    earlier.hold_round()
    report(first, 3, "r2", "r3")
    first.replica.cleanly_compacted_offset = second.replica.cleanly_compacted_offset = 9
    second.replica.removal_bound = 2
    first.sees(4)
    lead(second, 4)
    later.hold_round()

    assert second.replica.removal_bound == 2
    report(second, 4, "r1", "r3")
    later.hold_round()
    assert second.replica.removal_bound == 9
