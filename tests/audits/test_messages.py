"""What a message or a decision may not do is told when it does; what looks like it is not."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from sim.protocol.events import (
    Cleaned,
    Event,
    LeaderElected,
    RemovalBoundMoved,
    ReplicaCrashed,
    ReplicaRestarted,
)
from sim.protocol.log.epochs import EpochEnd
from sim.protocol.replication.messages import (
    AlterPartitionRequest,
    Answer,
    BeginQuorumEpochRequest,
    ConsumerFetchRequest,
    FetchRequest,
    FetchResponse,
    LeaderAndIsrRequest,
    PartitionState,
    ProduceRequest,
    SnapshotId,
    VoteRequest,
    VoteResponse,
)
from sim.protocol.replication.replica import Snapshot
from sim.protocol.replication.snapshots.fetch import install
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.elections import ControllerElections
from sim.simulate.cluster.network import CONTROLLER
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership
from tests.audits.messages import Audited
from tests.audits.observer import Observer
from tests.cluster.worlds import scenario

BY_CONTROLLER = Rules.of(commit="isr", min_isr=2)
BY_MAJORITY = Rules.of(commit="majority")

Effect = Callable[[Node], None]
"""What a handler does, right or wrong."""


class World:
    """A cluster of three that has run for a while, and what audits have told since."""

    def __init__(self, rules: Rules) -> None:
        self.told: list[str] = []
        self.cluster = Cluster(scenario(rules=rules), lambda *_: None, [self._observe])
        self.cluster.start()
        self.cluster.context.env.run(until=2_000)
        leader = self.cluster.elections.leading()
        assert leader is not None
        self.leader = leader
        self.follower = next(n for n in self.cluster.nodes.values() if n.leader is None)
        assert self.told == []

    def _observe(self, cluster: Cluster) -> Observer:
        """Its audits, which tell what they look at instead of what a run is judged by."""
        self.observer = Observer(cluster, lambda *_: None)
        self.observer.witness.failed = self._failed
        self.decisions = self.observer.decisions
        return self.observer

    def _failed(
        self, _replica: str, audit: Audited, what: str, found: object, expected: object
    ) -> None:
        assert str(found) != str(expected)
        self.told.append(f"{audit} {what}")

    def receive(self, node: Node, message: Any, effect: Effect) -> list[str]:
        """What is told when a message comes and has an effect."""
        take = self.observer.witness.over(node.name, lambda _message: effect(node))
        take(message)
        return self.told

    def happens(self, event: Event) -> list[str]:
        """What is told after an event."""
        self.decisions.handlers[type(event)](event)
        return self.told


def nothing(_node: Node) -> None:
    """What a right handler does with a message that is out of date."""


def appends(node: Node) -> None:
    node.replica.log.log_end_offset += 1


def stands_still(node: Node) -> None:
    """A leader believes another position than before."""
    assert node.replica.leadership is not None
    node.replica.leadership.positions["r2"] -= 1


def votes(node: Node) -> None:
    node.replica.vote = (9, "r9")


def counts(node: Node) -> None:
    assert isinstance(node.membership, QuorumMembership)
    node.membership.granted.append("r9")


def follows(node: Node) -> None:
    node.fetcher.leader = "r9"


def answer(node: Node, *, number: int = 0, epoch: int = 0, offset: int = 0) -> FetchResponse:
    """An answer to a follower's last fetch, or to one before it, of another epoch or offset."""
    fetcher, replica = node.fetcher, node.replica
    return FetchResponse(
        Answer.DIVERGING,
        "r1",
        replica.epoch + epoch,
        replica.log.log_end_offset + offset,
        diverging=EpochEnd(1, 0),
        correlation_id=fetcher.number + number,
    )


@pytest.mark.parametrize(
    ("late", "why"),
    [
        ({"epoch": -1}, "of an earlier epoch"),
        ({"offset": 1}, "to a fetch at another offset"),
        ({"number": -1}, "to an earlier request"),
    ],
)
def test_an_answer_that_is_out_of_date_changes_nothing(late: dict[str, int], why: str) -> None:
    world = World(BY_CONTROLLER)
    follower = world.follower

    assert world.receive(follower, answer(follower, **late), nothing) == []
    assert world.receive(follower, answer(follower), appends) == []
    assert world.receive(follower, answer(follower, **late), appends) == [
        f"message FetchResponse {why}"
    ]


def test_an_answer_to_an_earlier_life_changes_nothing() -> None:
    world = World(BY_CONTROLLER)
    follower = world.follower
    world.happens(ReplicaCrashed(follower.name, 0, 0))
    follower.fetcher.number += 1

    assert world.receive(follower, answer(follower), appends) == []
    assert world.receive(follower, answer(follower, number=-1), nothing) == []
    assert world.receive(follower, answer(follower, number=-1), appends) == [
        "message FetchResponse to an earlier life"
    ]


def test_without_response_fencing_an_answer_may_be_of_an_earlier_epoch() -> None:
    world = World(BY_CONTROLLER.with_values({"response_fencing": False}))
    follower = world.follower

    assert world.receive(follower, answer(follower, epoch=-1), appends) == []


def test_a_fetch_of_an_earlier_life_is_not_believed() -> None:
    world = World(BY_CONTROLLER)
    leader, fetch = world.leader, FetchRequest("r2", 1, 0, 1, correlation_id=10**6)
    assert leader.leader is not None
    leader.leader.progress["r2"].replica_epoch = 2

    assert world.receive(leader, replace(fetch, replica_epoch=1), nothing) == []
    assert world.receive(leader, replace(fetch, replica_epoch=2), stands_still) == []
    assert world.receive(leader, replace(fetch, replica_epoch=1), stands_still)[1:] == []
    assert world.told == ["message FetchRequest of an earlier life"]


def test_a_write_for_all_needs_enough_replicas_in_sync() -> None:
    world = World(BY_CONTROLLER)
    leader = world.leader
    state = leader.membership.state  # type: ignore[attr-defined]
    request = ProduceRequest("p1", (), 0)

    assert len(state.isr) > 1
    assert world.receive(leader, replace(request, acks=-1), appends) == []
    leader.membership.state = replace(state, isr=("r1",))  # type: ignore[attr-defined]
    assert world.receive(leader, replace(request, acks=1), appends) == []
    assert world.receive(leader, replace(request, acks=-1), appends) == [
        "message ProduceRequest with too few in-sync replicas"
    ]


def test_a_state_of_the_partition_that_is_older_is_not_acted_on() -> None:
    world = World(BY_CONTROLLER)
    follower = world.follower
    state = follower.membership.state  # type: ignore[attr-defined]
    newer = replace(state, partition_epoch=state.partition_epoch + 1)

    assert world.receive(follower, LeaderAndIsrRequest(1, newer), follows) == []
    assert world.receive(follower, LeaderAndIsrRequest(1, newer), nothing) == []
    follower.fetcher.leader = "r1"
    assert world.receive(follower, LeaderAndIsrRequest(1, newer), follows) == [
        "message LeaderAndIsrRequest that is older"
    ]


def test_a_voter_votes_for_nobody_who_is_behind_or_in_an_epoch_that_has_a_leader() -> None:
    world = World(BY_MAJORITY)
    voter = world.follower
    end, epoch = voter.replica.log.log_end_offset, voter.replica.epoch
    request = VoteRequest("r9", epoch + 1, voter.replica.last_fetched_epoch, end)

    assert world.receive(voter, replace(request, last_offset=end - 1), nothing) == []
    assert world.receive(voter, request, votes) == []
    voter.replica.vote = None
    assert world.receive(voter, replace(request, last_offset=end - 1), votes) == [
        "message VoteRequest of one whose log is behind"
    ]
    voter.replica.vote = None
    assert world.receive(voter, replace(request, epoch=epoch), votes)[1:] == [
        "message VoteRequest in an epoch that has a leader"
    ]


def test_a_vote_counts_for_its_own_candidacy() -> None:
    world = World(BY_MAJORITY)
    voter = world.follower
    epoch = voter.replica.epoch
    voter.replica.vote = (epoch, voter.name)

    assert world.receive(voter, VoteResponse("r9", epoch, granted=True), counts) == []
    assert world.receive(voter, VoteResponse("r9", epoch - 1, granted=True), nothing) == []
    assert world.receive(voter, VoteResponse("r9", epoch - 1, granted=True), counts) == [
        "message VoteResponse of another candidacy"
    ]


def test_a_leader_of_an_older_epoch_is_not_followed() -> None:
    world = World(BY_MAJORITY)
    voter = world.follower
    epoch = voter.replica.epoch

    assert world.receive(voter, BeginQuorumEpochRequest("r9", epoch), follows) == []
    voter.fetcher.leader = "r1"
    assert world.receive(voter, BeginQuorumEpochRequest("r9", epoch - 1), follows) == [
        "message BeginQuorumEpochRequest of an earlier epoch"
    ]


def test_who_has_seen_a_newer_epoch_leads_no_older_one() -> None:
    world = World(BY_MAJORITY)
    leader = world.leader
    message = BeginQuorumEpochRequest("r9", leader.replica.epoch)

    assert world.receive(leader, message, lambda node: node.sees(node.replica.epoch + 1)) == []
    leader = world.follower
    leader.lead(leader.replica.epoch + 1, isr=(leader.name,), replicas=(leader.name,))
    world.told.clear()

    def learns(node: Node) -> None:
        node.replica.epoch += 1

    assert world.receive(leader, message, learns)[-1:] == ["decision leads"]


def test_a_majority_has_voted_for_who_is_elected() -> None:
    world = World(BY_MAJORITY)
    voters = [node.replica for node in world.cluster.nodes.values()]
    names = tuple(voter.name for voter in voters)
    elected = LeaderElected(names[0], 9, 0, names, names)
    for voter, vote in zip(voters, ((9, names[0]), (9, names[0]), (9, names[1])), strict=True):
        voter.vote = vote

    assert world.happens(elected) == []
    voters[1].vote = (10, names[1])
    assert world.happens(elected) == []
    voters[1].vote = (9, names[1])
    assert world.happens(elected) == ["decision elected in epoch 9"]


STATE = PartitionState(5, 2, "r1", ("r1", "r2"), ("r1", "r2", "r3"), (), None, (), (1, 1, 1))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"leader": "r2", "leader_epoch": 3}, None),
        ({"isr": ("r1", "r2", "r3")}, None),
        ({"isr": ("r1",), "elr": ("r2",)}, None),
        ({"leader": "r2"}, "two leaders of an epoch"),
        ({"leader": "r3", "leader_epoch": 3, "isr": ("r3",)}, "elected from outside"),
        ({"leader": "r1", "leader_epoch": 4}, "epoch"),
        ({"isr": ("r2",)}, "leader out of sync"),
        ({"eligible": ("r2", "r3"), "eligible_epochs": (1, 1)}, "fenced leader"),
        ({"isr": ("r1", "r2", "r9")}, "fenced replica joined"),
        ({"isr": ("r1",), "elr": ("r3",)}, "eligible from outside"),
        ({"isr": ("r1",), "elr": ("r1",)}, "eligible and in sync"),
        ({"isr": ("r1", "r3"), "elr": ("r2",)}, "eligible beside enough"),
        ({"isr": ("r1",), "elr": ("r2",), "eligible_epochs": (1, 2, 1)}, "eligible after a crash"),
    ],
)
def test_a_change_of_the_partition_follows_from_what_was(
    change: dict[str, Any], what: str | None
) -> None:
    world = World(BY_CONTROLLER)
    world.decisions.told(STATE)
    world.decisions.told(replace(STATE, partition_epoch=6, **change))

    assert world.told == ([] if what is None else [f"decision {what}"])


def forgets_its_vote(node: Node) -> None:
    node.replica.vote = None


def goes_on_with_a_failed_pass(node: Node) -> None:
    node.replica.uncleanable = True


@pytest.mark.parametrize(
    ("effect", "told"),
    [
        (nothing, []),
        (forgets_its_vote, ["disk vote"]),
        (goes_on_with_a_failed_pass, ["disk failed pass"]),
    ],
)
def test_a_restart_finds_what_is_on_disk_and_nothing_else(effect: Effect, told: list[str]) -> None:
    world = World(BY_MAJORITY)
    node = world.follower
    node.replica.vote = (1, "r1")
    node.crash()
    effect(node)

    assert world.happens(ReplicaRestarted(node.name, 0, 0)) == told


def test_the_controller_takes_an_in_sync_set_from_its_own_leader_alone() -> None:
    world = World(BY_CONTROLLER)
    elections = world.cluster.elections
    assert isinstance(elections, ControllerElections)
    controller, state = elections.controller, elections.controller.state
    request = AlterPartitionRequest("r1", state.leader_epoch, state.partition_epoch, ("r1",))

    newer = replace(state, partition_epoch=state.partition_epoch + 1)

    def accepts(_message: Any) -> None:
        controller.state = replace(newer, isr=("r1",))

    take = world.observer.witness.over(CONTROLLER, accepts)
    take(request)
    assert world.told == []
    world.observer.witness.over(CONTROLLER, lambda _: None)(request)
    assert world.told == ["decision is asked for the in-sync set ('r1',)"]
    world.told.clear()
    for late in (
        replace(request, leader="r2"),
        replace(request, partition_epoch=state.partition_epoch - 1),
        replace(request, new_isr=("r1", "r9")),
    ):
        controller.state = state
        take(late)
    assert world.told == [
        "message AlterPartitionRequest of another leader",
        "message AlterPartitionRequest from another state",
        "message AlterPartitionRequest with a fenced replica",
    ]


def without_its_epoch(node: Node) -> None:
    node.replica.log.reset_to(node.replica.log.log_end_offset)


def beside_an_older_one(node: Node) -> None:
    replica, newest = node.replica, node.replica.latest_snapshot()
    assert newest is not None
    replica.snapshots = {SnapshotId(1, 0): newest, **replica.snapshots}


def with_the_old_high_watermark(node: Node) -> None:
    node.replica.log.high_watermark -= 1


@pytest.mark.parametrize(
    ("effect", "told"),
    [
        (nothing, []),
        (without_its_epoch, ["decision epoch after an install"]),
        (beside_an_older_one, ["decision snapshots after an install"]),
        (with_the_old_high_watermark, ["decision high watermark after an install"]),
    ],
)
def test_an_installed_snapshot_is_all_there_is(effect: Effect, told: list[str]) -> None:
    world = World(BY_MAJORITY)
    replica = world.follower.replica
    id_ = SnapshotId(replica.log.log_end_offset + 3, replica.epoch)
    (installed,) = install(replica, Snapshot(id_, ()), rules=BY_MAJORITY)

    effect(world.follower)

    assert world.happens(installed) == told


@pytest.mark.parametrize(("asks", "told"), [(11, ["decision refuses c9"]), (10, [])])
def test_who_is_refused_again_and_again_has_to_ask_the_leader(asks: int, told: list[str]) -> None:
    world = World(BY_CONTROLLER)
    request = ConsumerFetchRequest("c9", 0)
    for number in range(asks):
        world.cluster.context.env.run(until=2_000 + 100 * (number + 1))
        world.receive(world.follower, request, nothing)

    assert world.told == told


def test_who_is_refused_at_once_or_asks_the_leader_between_may_ask_again() -> None:
    world = World(BY_CONTROLLER)
    request = ConsumerFetchRequest("c9", 0)
    for number in range(30):
        if number % 5 == 0:
            world.cluster.context.env.run(until=2_000 + 300 * (number + 1))
        world.receive(world.follower if number % 9 else world.leader, request, nothing)
    assert world.told == []

    asks_a_follower = replace(request, client_id="c8", leader_only=False)
    for number in range(30):
        world.cluster.context.env.run(until=20_000 + 100 * number)
        world.receive(world.follower, asks_a_follower, nothing)
    assert world.told == []


@pytest.mark.parametrize(
    ("rules", "disk", "told"),
    [
        ({}, 1, []),
        ({}, 2, ["decision tombstones go below 9"]),
        ({"lost_disk_report": "kept"}, 2, []),
    ],
)
def test_what_was_compacted_on_a_lost_disk_says_nothing_of_the_new_one(
    rules: dict[str, str], disk: int, told: list[str]
) -> None:
    dropped = {"tombstone_removal": "coordinated", "lost_disk_report": "dropped"}
    world = World(BY_CONTROLLER.with_values({**dropped, **rules}))
    for node in world.cluster.nodes.values():
        node.replica.cleanly_compacted_offset = 9
        world.happens(Cleaned(node.name, 0, 9, (), (), (), (), None, 9, 9, (0, 0)))
    world.follower.replica.cleanly_compacted_offset = 0
    world.follower.replica.disk = disk

    assert world.happens(RemovalBoundMoved(world.leader.name, 9, 0)) == told
