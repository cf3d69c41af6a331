"""Replicas, clients and the controller know each other by name, and talk by values."""

import gc
from collections import Counter
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest
import simpy
from msgspec.structs import replace

from sim.protocol.events import Consumed, Truncated
from sim.protocol.replication.follower import fetch_request, receive_fetch
from sim.protocol.replication.joining import is_caught_up
from sim.protocol.replication.messages import (
    ConsumerFetchRequest,
    FetchRequest,
    LeaderAndIsrRequest,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from sim.protocol.rules import Rules, rules_from
from sim.simulate.cluster.clients import Timetable
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.consumer import Consumer
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.controller import Controller, IsrMembership
from sim.simulate.cluster.network import Network
from sim.simulate.faults import FaultKind
from sim.simulate.scenario.generate import BUILT_IN_MIXES, generate
from sim.simulate.scenario.model import Consumer as ConsumerSpec
from sim.simulate.scenario.model import Network as NetworkSettings
from sim.simulate.scenario.model import Scenario, Timers, Workload
from tests.cluster.worlds import fault, scenario, sends, tell
from tests.replication.replicas import batch

PRESETS = ("kafka-4.0", "kraft", "redpanda-25.3")
SHARED = (Context, Network, FunctionType, simpy.Environment)
"""What all parties share, or the environment tells them."""


def sent(case: Scenario, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str, str, Any]]:
    """Every message of a run: when it was sent, by whom, to whom, and what it says."""
    found: list[tuple[int, str, str, Any]] = []
    send = Network.send

    def spy(network: Network, source: str, target: str, message: Any, delay_ms: int = 0) -> None:
        found.append((int(network._env.now) + delay_ms, source, target, message))
        send(network, source, target, message, delay_ms)

    monkeypatch.setattr(Network, "send", spy)
    tell(case)
    return found


def within(value: Any, *shared: type) -> Iterator[Any]:
    """A value and everything that it holds, not through types, modules or what is `shared`."""
    seen: set[int] = set()
    left = [value]
    while left:
        one = left.pop()
        if id(one) not in seen and not isinstance(one, shared):
            seen.add(id(one))
            yield one
            if not isinstance(one, (type, ModuleType)):
                left += gc.get_referents(one)


def storm(preset: str) -> Scenario:
    return generate(11, BUILT_IN_MIXES["storm"]).with_rules(rules_from({"preset": preset}))


@pytest.mark.parametrize("rules", [{"commit": "isr"}, {"commit": "majority"}])
def test_where_nothing_is_lost_every_numbered_request_is_answered_once(
    rules: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the last one of a kind, which may be open when the run ends."""
    asked, answered = Counter[tuple[str, str, int]](), Counter[tuple[str, str, int]]()
    for _, source, target, message in sent(scenario(rules=Rules.of(**rules)), monkeypatch):
        kind = type(message).__name__
        if hasattr(message, "correlation_id") and kind.endswith("Request"):
            asked[source, kind.removesuffix("Request"), message.correlation_id] += 1
        elif hasattr(message, "correlation_id"):
            answered[target, kind.removesuffix("Response"), message.correlation_id] += 1
    left = Counter((who, kind) for who, kind, _ in asked - answered)

    assert len(asked) > 100
    assert answered - asked == Counter()
    assert {*left.values()} <= {1}


def test_a_new_leader_takes_those_in_sync_for_caught_up() -> None:
    """Until they have had `replica.lag.time.max.ms` to fetch from it (Partition.makeLeader)."""
    leader = Cluster(scenario(), lambda _at, _event: None).nodes["r1"]
    leader.membership = IsrMembership(leader)
    leader.lead(1, isr=("r1", "r2"), replicas=("r1", "r2", "r3"))
    leader.replica.log.append(batch(0), now_ms=0)
    caught_up = [
        is_caught_up(leader.replica, name, now_ms=400, lag_max_ms=400) for name in ("r2", "r3")
    ]

    assert caught_up == [True, False]


@pytest.mark.parametrize("preset", PRESETS)
def test_no_party_holds_another_after_a_run(preset: str) -> None:
    """What all share (`Context`: time, network, the oracle of some rules) is not looked into."""
    case = storm(preset)
    cluster = Cluster(case, lambda _at, _event: None)
    cluster.start()
    timetable = Timetable(cluster.context)
    timetable.start()
    consumer = Consumer(cluster.context, ConsumerSpec("c1"))
    consumer.start(0)
    cluster.context.env.run(until=3_000)
    parties: list[Any] = [*cluster.nodes.values(), *timetable._producers.values(), consumer]
    if isinstance(cluster.elections, Controller):
        parties.append(cluster.elections)
    cluster.nodes.clear()  # which the controller sees from above

    for party in parties:
        own = {id(one) for one in within(party, *SHARED)}
        assert not [other for other in parties if other is not party and id(other) in own], party


def test_a_new_follower_asks_for_the_end_of_its_epoch_and_cuts_when_the_answer_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut = fault(FaultKind.PARTITION, 480, "r1", 900)
    rules = Rules.of(commit="isr", truncation="epoch_kip279")
    case = scenario(cut, rules=rules, network=NetworkSettings((7, 7)))
    cuts = [at for at, event in tell(case).of(Truncated) if event.replica == "r1"]
    messages = sent(case, monkeypatch)
    exchanged = (OffsetsForLeaderEpochRequest, OffsetsForLeaderEpochResponse)
    asked, answered = (
        [at for at, *parties, one in messages if "r1" in parties and isinstance(one, kind)]
        for kind in exchanged
    )

    assert asked[-1] + 7 == answered[-1]
    assert cuts == [answered[-1] + 7]


def test_a_consumer_that_finds_nothing_waits_at_the_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One write in 4 s, fetches that wait for 2 s: three questions, not forty polls."""
    quiet = scenario(
        workload=Workload(sends=sends(1, start_ms=2_500)),
        timers=Timers(fetch_wait_ms=2_000, replica_lag_max_ms=5_000),
        network=NetworkSettings((3, 3)),
    )
    read = [at for at, event in tell(quiet).of(Consumed)]
    asked = [at for at, source, _, _ in sent(quiet, monkeypatch) if source == "c1" and at < 4_000]

    assert len(asked) == 3
    assert read == [2_500 + 3 + 3 + 3 + 3]


def test_a_leader_drops_a_fetch_of_an_earlier_life_of_a_follower() -> None:
    leader = started().nodes["r1"]
    state = leader.leader
    assert state is not None
    leader.receive(FetchRequest("r2", 1, 0, 1, replica_epoch=3))
    leader.receive(FetchRequest("r2", 1, 0, 1, replica_epoch=2))

    assert state.fetches.waiting["r2"].replica_epoch == 3


def started(rules: Rules | None = None) -> Cluster:
    """Three replicas that r1 leads."""
    cluster = Cluster(scenario(rules=rules), lambda _at, _event: None)
    cluster.start()
    cluster.context.env.run(until=300)
    return cluster


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_of_two_fetches_of_a_consumer_the_later_one_waits(order: tuple[int, int]) -> None:
    leader = started().nodes["r1"]
    for number in order:
        leader.receive(
            ConsumerFetchRequest(
                "c1", 0, read_committed=False, max_wait_ms=500, correlation_id=number
            )
        )

    assert leader.consumers.waiting["c1"].correlation_id == 2


def test_fetches_that_have_waited_are_answered_each_at_its_own_offset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = started()
    leader = cluster.nodes["r1"]
    replica, state = leader.replica, leader.leader
    assert state is not None
    for offset in range(2):
        replica.log.append(batch(offset), now_ms=0)
        state.fetches.waiting[f"r{offset + 2}"] = FetchRequest(f"r{offset + 2}", 1, offset, 1)
    answered: dict[str, int] = {}

    def spy(_network: Network, _source: str, target: str, message: Any, *_: int) -> None:
        answered[target] = message.batches[0].base_offset

    monkeypatch.setattr(Network, "send", spy)
    state.wake()

    assert answered == {"r2": 0, "r3": 1}


@pytest.mark.parametrize(("behind", "rebuilt"), [(0, False), (1, True), (2, True)])
def test_what_a_leader_counts_of_a_follower_is_in_its_log_also_when_it_has_to_rebuild_that(
    behind: int, rebuilt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = Rules.of(commit="isr", lag_guard="reset_local")
    cluster = started(rules)
    leader, follower = cluster.nodes["r1"], cluster.nodes["r2"].replica
    for replica, end in ((leader.replica, 3), (follower, 3 - behind)):
        for offset in range(end):
            replica.log.append(batch(offset), now_ms=0)
    assert leader.replica.leadership is not None
    leader.replica.leadership.positions["r2"] = leader.replica.removed_tombstone_end = 3
    answers: list[Any] = []
    monkeypatch.setattr(Network, "send", lambda *message: answers.append(message[3]))
    leader.receive(fetch_request(follower, correlation_id=99))
    for answer in answers:
        receive_fetch(follower, answer, rules=rules, now_ms=300)

    assert leader.replica.leadership.positions.get("r2", 0) <= follower.log.log_end_offset
    assert (follower.log.log_end_offset == 0) is rebuilt
    assert follower.epoch == 1


@pytest.mark.parametrize(("newer", "leader"), [(-1, "r1"), (0, "r1"), (1, "r3")])
def test_a_broker_follows_the_newest_state_that_the_controller_has_told_it(
    newer: int, leader: str
) -> None:
    broker = started().nodes["r2"]
    membership = broker.membership
    assert isinstance(membership, IsrMembership)
    known = membership.state
    assert known is not None
    state = replace(
        known,
        partition_epoch=known.partition_epoch + newer,
        leader_epoch=known.leader_epoch + 1,
        leader="r3",
    )
    broker.receive(LeaderAndIsrRequest(broker.incarnation, state))

    assert (broker.fetcher.leader, membership.state == state) == (leader, newer > 0)


@pytest.mark.parametrize("name", ["r1", "r2"])
def test_a_broker_that_hears_of_no_leader_neither_leads_nor_follows(name: str) -> None:
    """ReplicaManager.applyLocalFollowersDelta: a replica with no leader steps down."""
    broker = started().nodes[name]
    membership = broker.membership
    assert isinstance(membership, IsrMembership)
    known = membership.state
    later = known.partition_epoch + 1, known.leader_epoch + 1
    state = replace(known, partition_epoch=later[0], leader_epoch=later[1], leader=None)
    broker.receive(LeaderAndIsrRequest(broker.incarnation, state))

    assert (broker.leader, broker.replica.leadership, broker.fetcher.leader) == (None, None, None)
    assert broker.replica.epoch == later[1]


@pytest.mark.parametrize(("life", "joins"), [(1, False), (2, True), (3, False)])
def test_a_follower_joins_by_a_fetch_of_the_life_that_the_controller_knows(
    life: int, joins: bool
) -> None:
    """KIP-903: who has restarted since may have lost what it had."""
    leader = started().nodes["r1"]
    membership, leadership, state = leader.membership, leader.replica.leadership, leader.leader
    assert isinstance(membership, IsrMembership)
    assert leadership is not None
    assert state is not None
    leadership.isr = ("r1", "r3")
    membership.state = replace(membership.state, eligible=dict.fromkeys(("r1", "r2", "r3"), 2))
    state.progress["r2"].replica_epoch = life
    membership.fetched("r2")

    assert ("r2" in leadership.isr) is joins
