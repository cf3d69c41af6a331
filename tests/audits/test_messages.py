"""What a message or a decision may not do is told when it does; what looks like it is not."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from sim.protocol import events as on
from sim.protocol.events.cluster import ADMINISTRATOR, ANY_REPLICA, LAST_KNOWN_LEADER
from sim.protocol.log.epochs import EpochEnd
from sim.protocol.replication import messages as of
from sim.protocol.replication.replica import Snapshot
from sim.protocol.replication.snapshots import install
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.controller import Controller
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership
from tests.audits.observer import Observer
from tests.audits.sending import Audited
from tests.audits.worlds import spoil
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
        witness = self.observer.witness
        witness.receives(node.name, message, overdue=False)
        effect(node)
        witness.handled(node.name, message)
        return self.told

    def happens(self, event: on.Event) -> list[str]:
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


def hears(node: Node) -> None:
    node.heard_ms += 1


def follows(node: Node) -> None:
    node.fetcher.leader = "r9"


def answer(node: Node, *, number: int = 0, epoch: int = 0, offset: int = 0) -> of.FetchResponse:
    """An answer to a follower's last fetch, or to one before it, of another epoch or offset."""
    fetcher, replica = node.fetcher, node.replica
    return of.FetchResponse(
        of.Answer.DIVERGING,
        "r1",
        replica.epoch + epoch,
        replica.log.log_end_offset + offset,
        diverging=EpochEnd(1, 0),
        correlation_id=fetcher.number + number,
    )


def fetch(node: Node, life: int) -> of.FetchRequest:
    """A fetch of r2, whose second life the leader knows."""
    assert node.leader is not None
    node.leader.progress["r2"].replica_epoch = 2
    return of.FetchRequest("r2", 1, 0, 1, correlation_id=10**6, replica_epoch=life)


def write(node: Node, isr: tuple[str, ...], acks: int = -1) -> of.ProduceRequest:
    """A write at a leader that knows this in-sync set."""
    node.membership.state = replace(node.membership.state, isr=isr)  # type: ignore[attr-defined]
    return of.ProduceRequest("p1", (), acks)


def state(node: Node, newer: int) -> of.LeaderAndIsrRequest:
    """The state of the partition that a broker knows, or a newer one."""
    known = node.membership.state  # type: ignore[attr-defined]
    return of.LeaderAndIsrRequest(1, replace(known, partition_epoch=known.partition_epoch + newer))


def asks(node: Node, *, epoch: int = 1, behind: int = 0, pre_vote: bool = False) -> of.VoteRequest:
    """The request of a candidate, in a later epoch, with the log of the voter or a shorter one."""
    replica = node.replica
    end = replica.log.log_end_offset - behind
    return of.VoteRequest("r9", replica.epoch + epoch, replica.last_fetched_epoch, end, pre_vote)


def grants(node: Node, epoch: int) -> of.VoteResponse:
    """A vote for a candidate of the present epoch."""
    node.replica.vote = (node.replica.epoch, node.name)
    return of.VoteResponse("r9", node.replica.epoch + epoch, granted=True)


def leads(node: Node, epoch: int) -> of.BeginQuorumEpochRequest:
    """The word of another leader."""
    return of.BeginQuorumEpochRequest("r9", node.replica.epoch + epoch)


def refuses(node: Node, epoch: int) -> of.BeginQuorumEpochResponse:
    """The refusal of a replica that follows no leader of this epoch."""
    return of.BeginQuorumEpochResponse(node.replica.epoch + epoch)


def resigns(node: Node) -> None:
    node.resign()


Make = Callable[..., Any]
NOW: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("rules", "who", "message", "in_time", "late", "effect", "why"),
    [
        (BY_CONTROLLER, "follower", answer, NOW, {"epoch": -1}, appends, "of an earlier epoch"),
        (BY_CONTROLLER, "follower", answer, NOW, {"offset": 1}, appends, "to a fetch at another "),
        (BY_CONTROLLER, "follower", answer, NOW, {"number": -1}, appends, "to an earlier request"),
        (BY_CONTROLLER, "leader", fetch, {"life": 2}, {"life": 1}, stands_still, "of an earlier "),
        (BY_CONTROLLER, "leader", write, {"isr": "12"}, {"isr": "1"}, appends, "with too few in-"),
        (BY_CONTROLLER, "leader", write, {"isr": "1", "acks": 1}, {"isr": ""}, appends, "too few"),
        (BY_CONTROLLER, "follower", state, {"newer": 1}, {"newer": 0}, follows, "that is older"),
        (BY_MAJORITY, "follower", asks, NOW, {"behind": 1}, votes, "of one whose log is behind"),
        (BY_MAJORITY, "follower", asks, NOW, {"epoch": 0}, votes, "in an epoch that has a leader"),
        (BY_MAJORITY, "follower", asks, NOW, {"pre_vote": True}, hears, "that asks for no vote"),
        (BY_MAJORITY, "follower", grants, {"epoch": 0}, {"epoch": -1}, counts, "of another cand"),
        (BY_MAJORITY, "leader", refuses, {"epoch": 1}, {"epoch": 0}, resigns, "of no later epoch"),
        (BY_MAJORITY, "follower", leads, {"epoch": 0}, {"epoch": -1}, follows, "of an earlier ep"),
    ],
)
def test_a_message_that_is_out_of_date_changes_nothing(
    rules: Rules,
    who: str,
    message: Make,
    in_time: dict[str, Any],
    late: dict[str, Any],
    effect: Effect,
    why: str,
) -> None:
    for given, does, told in ((in_time, effect, ""), (late, nothing, ""), (late, effect, why)):
        world = World(rules)
        node = getattr(world, who)
        if message is state:
            world.receive(node, state(node, 0), nothing)
        found = world.receive(node, message(node, **given), does)
        assert len(found) == bool(told)
        assert told in "".join(found)


def test_an_answer_to_an_earlier_life_changes_nothing() -> None:
    world = World(BY_CONTROLLER)
    follower = world.follower
    world.happens(on.ReplicaCrashed(follower.name, 0, 0))
    follower.fetcher.number += 1

    assert world.receive(follower, answer(follower), appends) == []
    assert world.receive(follower, answer(follower, number=-1), nothing) == []
    assert world.receive(follower, answer(follower, number=-1), appends) == [
        "message FetchResponse to an earlier life"
    ]


def test_who_has_seen_a_newer_epoch_leads_no_older_one() -> None:
    world = World(BY_MAJORITY)
    leader = world.leader
    message = of.BeginQuorumEpochRequest("r9", leader.replica.epoch)

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
    elected = on.LeaderElected(names[0], 9, 0, names, names)
    for voter, vote in zip(voters, ((9, names[0]), (9, names[0]), (9, names[1])), strict=True):
        voter.vote = vote

    assert world.happens(elected) == []
    voters[1].vote = (10, names[1])
    assert world.happens(elected) == []
    voters[1].vote = (9, names[1])
    assert world.happens(elected) == ["decision elected in epoch 9"]


NAMES = ("r1", "r2", "r3")
STATE = of.PartitionState(5, 2, "r1", NAMES[:2], dict.fromkeys(NAMES, 1), replicas=NAMES)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"leader": "r2", "leader_epoch": 3}, None),
        ({"isr": ("r1", "r2", "r3")}, None),
        ({"isr": ("r1",), "elr": ("r2",)}, None),
        ({"leader": "r2"}, "two leaders of an epoch"),
        ({"leader": "r3", "leader_epoch": 3, "isr": ("r2", "r3")}, "elected from outside"),
        ({"leader": "r1", "leader_epoch": 4}, "epoch"),
        ({"isr": ("r2", "r3")}, "leader out of sync"),
        ({"eligible": {"r2": 1, "r3": 1}}, "fenced leader"),
        ({"isr": ("r1", "r2", "r9")}, "fenced replica joined"),
        ({"isr": ("r1",), "elr": ("r2", "r3")}, "eligible from outside"),
        ({"isr": ("r1",)}, "eligible no more"),
        ({"isr": ("r1",), "elr": ("r2",), "replicas": ("r1", "r3")}, "eligible from outside"),
        ({"replicas": NAMES[:2]}, "eligible from outside"),
        ({"isr": ("r1",), "elr": ("r1", "r2")}, "eligible and in sync"),
        ({"isr": ("r1", "r3"), "elr": ("r2",)}, "eligible beside enough"),
        ({"last_known_leader": "r2"}, "last known beside a leader"),
        (
            {"isr": ("r1",), "elr": ("r2",), "eligible": {"r1": 1, "r2": 2, "r3": 1}},
            "eligible after a crash",
        ),
    ],
)
def test_a_change_of_the_partition_follows_from_what_was(
    change: dict[str, Any], what: str | None
) -> None:
    world = World(BY_CONTROLLER.with_values({"eligible_leaders": "elr"}))
    world.decisions.told(STATE)
    world.decisions.told(replace(STATE, partition_epoch=6, **change))

    assert world.told == ([] if what is None else [f"decision {what}"])


@pytest.mark.parametrize("because", [ANY_REPLICA, LAST_KNOWN_LEADER, ADMINISTRATOR])
@pytest.mark.parametrize("heirs", [(), ("r1",), ("r2",)])
def test_an_unclean_election_leaves_out_nobody_who_may_lead_cleanly(
    because: str, heirs: tuple[str, ...]
) -> None:
    """r1 is fenced at the moment, r2 is not; r3 is elected."""
    world = World(BY_CONTROLLER.with_values({"eligible_leaders": "elr"}))
    lives = {"r2": 1, "r3": 1}
    before = replace(STATE, leader=None, isr=(), elr=heirs, eligible=lives)
    world.decisions.told(before)
    world.happens(on.UncleanElection("r3", 3, because))
    elected = {"leader": "r3", "leader_epoch": 3, "isr": ("r3",), "elr": (), "partition_epoch": 6}
    world.decisions.told(replace(before, **elected))

    is_wrong = heirs and because != ADMINISTRATOR and (because, heirs) != (ANY_REPLICA, ("r1",))
    assert world.told == ["decision elected instead of a clean one"] * bool(is_wrong)


def test_an_unclean_election_leaves_no_eligible_replica() -> None:
    world = World(BY_CONTROLLER.with_values({"eligible_leaders": "elr"}))
    before = replace(STATE, leader=None, isr=(), elr=("r1",), eligible={"r2": 1})
    world.decisions.told(before)
    world.happens(on.UncleanElection("r2", 3, ANY_REPLICA))
    elected = {"leader": "r2", "leader_epoch": 3, "isr": ("r2",), "partition_epoch": 6}
    world.decisions.told(replace(before, **elected))

    assert world.told == ["decision eligible after an unclean election"]


@pytest.mark.parametrize(("loading", "mark"), [(False, 0), (True, 0), (False, 10**6), (False, -1)])
def test_a_loaded_state_is_taken_and_a_high_watermark_is_within_the_log(
    loading: bool, mark: int
) -> None:
    world = World(BY_MAJORITY)
    node = world.follower
    node.loader.loading = loading
    world.happens(on.SnapshotTaken(node.name, 0, 1, ()))
    world.happens(on.HighWatermarkMoved(node.name, mark, leading=False))

    told = ["decision takes a snapshot below 0"] * loading
    assert world.told == told + ["decision high watermark"] * (mark != 0)


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        ("vote", (1, "r1"), []),
        ("vote", None, ["disk vote"]),
        ("uncleanable", True, ["disk failed pass"]),
        ("log.active.index.restarts", [5], ["disk index of segment 0"]),
    ],
)
def test_a_restart_finds_what_is_on_disk_and_nothing_else(
    place: str, value: object, told: list[str]
) -> None:
    world = World(BY_MAJORITY)
    node = world.follower
    node.replica.vote = (1, "r1")
    node.crash()
    spoil(node.replica, place, value)

    assert world.happens(on.ReplicaRestarted(node.name, 0, 0)) == told


def test_the_controller_takes_an_in_sync_set_from_its_own_leader_alone() -> None:
    world = World(BY_CONTROLLER)
    controller = world.cluster.elections
    assert isinstance(controller, Controller)
    state = controller.state
    request = of.AlterPartitionRequest("r1", state.leader_epoch, state.partition_epoch, ("r1",))

    newer = replace(state, partition_epoch=state.partition_epoch + 1)

    def accepts(_message: Any) -> None:
        controller.state = replace(newer, isr=("r1",))

    take = world.observer.witness.to_controller
    take(accepts, request)
    assert world.told == []
    take(lambda _: None, request)
    assert world.told == ["decision is asked for the in-sync set ('r1',)"]
    world.told.clear()
    for late in (
        replace(request, leader="r2"),
        replace(request, partition_epoch=state.partition_epoch - 1),
        replace(request, new_isr=("r1", "r9")),
    ):
        controller.state = state
        take(accepts, late)
    assert world.told == [
        "message AlterPartitionRequest of another leader",
        "message AlterPartitionRequest from another state",
        "message AlterPartitionRequest with a fenced replica",
    ]


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        ("disk", 1, []),
        ("log.epochs.entries", [], ["decision epoch after an install"]),
        ("snapshots", {}, ["decision snapshots after an install"]),
        ("log.high_watermark", 0, ["decision high watermark after an install"]),
    ],
)
def test_an_installed_snapshot_is_all_there_is(place: str, value: object, told: list[str]) -> None:
    world = World(BY_MAJORITY)
    replica = world.follower.replica
    id_ = of.SnapshotId(replica.log.log_end_offset + 3, replica.epoch)
    (installed,) = install(replica, Snapshot(id_, ()), rules=BY_MAJORITY)

    spoil(replica, place, value)

    assert world.happens(installed) == told


@pytest.mark.parametrize(("asks", "told"), [(11, ["decision refuses c9"]), (10, [])])
def test_who_is_refused_again_and_again_has_to_ask_the_leader(asks: int, told: list[str]) -> None:
    world = World(BY_CONTROLLER)
    request = of.ConsumerFetchRequest("c9", 0)
    for number in range(asks):
        world.cluster.context.env.run(until=2_000 + 100 * (number + 1))
        world.receive(world.follower, request, nothing)

    assert world.told == told


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
        world.happens(on.Cleaned(node.name, 0, 9, (), (), (), (), None, 9, 9, (0, 0)))
    world.follower.replica.cleanly_compacted_offset = 0
    world.follower.replica.disk = disk

    assert world.happens(on.RemovalBoundMoved(world.leader.name, 9, 0)) == told
