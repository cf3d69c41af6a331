"""Messages that come late or again: what arrives, and what nobody acts on any more."""

from random import Random

import pytest
from msgspec.structs import replace

from sim.protocol.events import Acknowledged, Appended
from sim.protocol.replication.leader import is_of_an_older_session
from sim.protocol.replication.messages import (
    RECORDS,
    BrokerHeartbeatRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
)
from sim.protocol.rules import Rules, rules_from
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.network import CONTROLLER, Overdue
from sim.simulate.cluster.network import Network as Links
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import BUILT_IN_MIXES, generate
from sim.simulate.scenario.model import LateMessages, Network
from tests.cluster.parties import Parties
from tests.cluster.worlds import scenario, sends, tell
from tests.replication.replicas import batch

VOTE = VoteRequest("r1", 1, 0, 0)


def _parties(late: LateMessages) -> Parties:
    return Parties(lambda env: Links(env, Network((2, 2)), Random, late))


def fetch(*, epoch: int = 1, number: int = 1, life: int = 1) -> FetchRequest:
    return FetchRequest("r2", epoch, 0, -1, correlation_id=number, replica_epoch=life)


def test_a_repeated_message_arrives_twice_and_a_broker_sees_that_it_is_overdue() -> None:
    parties = _parties(LateMessages(repeated=1.0, later_ms=(50, 50)))
    parties.network.send("r1", "r2", VOTE)
    parties.network.send("r1", "c1", VOTE)

    assert parties.after(20) == [("r2", VOTE, 2), ("c1", VOTE, 2)]
    assert parties.after(100) == [("r2", Overdue(VOTE), 52), ("c1", VOTE, 52)]


def test_what_the_controller_hears_is_neither_late_nor_repeated() -> None:
    parties = _parties(LateMessages(late=0.99, repeated=1.0))
    parties.network.send("r1", CONTROLLER, BrokerHeartbeatRequest("r1", 1))

    assert parties.after(5_000) == [(CONTROLLER, BrokerHeartbeatRequest("r1", 1), 2)]


@pytest.mark.parametrize("end", ["cut", "heal"])
def test_what_is_overdue_does_not_arrive_over_a_cut_nor_after_the_faults(end: str) -> None:
    parties = _parties(LateMessages(repeated=1.0, later_ms=(50, 50)))
    parties.network.send("r1", "r2", VOTE)
    parties.after(20)
    if end == "cut":
        parties.network.cut(parties.network.links_of("r1"))
    else:
        parties.network.heal()

    assert parties.after(5_000) == []
    parties.network.heal()
    parties.network.send("r1", "r2", VOTE)
    assert [message for _, message, _ in parties.after(5_000)] == [VOTE]


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize(
    ("fencing", "epoch", "noted"), [(True, 0, False), (True, 1, True), (False, 0, True)]
)
def test_a_fetch_of_an_older_leader_epoch_is_refused_late_or_not(
    fencing: bool, epoch: int, noted: bool, late: bool
) -> None:
    cluster = Cluster(scenario(rules=Rules.of(commit="isr", fencing=fencing)), lambda *_: None)
    cluster.start()
    cluster.context.env.run(until=50)
    leader = cluster.elections.leading()
    assert leader is not None
    assert leader.leader is not None
    progress = leader.leader.progress["r2"]
    progress.contact_ms = 0
    request = fetch(epoch=epoch)
    leader.receive(Overdue(request) if late else request)

    assert (progress.contact_ms > 0) == noted


def test_a_late_fetch_of_an_older_session_is_refused_and_voters_have_no_sessions() -> None:
    by_isr, by_majority = Rules.of(commit="isr"), Rules.of(commit="majority")

    def older(request: FetchRequest, rules: Rules) -> bool:
        return is_of_an_older_session(request, newest=7, replica_epoch=2, rules=rules)

    assert older(fetch(number=7, life=2), by_isr)
    assert not older(fetch(number=8, life=2), by_isr)
    assert not older(fetch(number=7, life=2), by_majority)


def test_a_follower_goes_on_when_every_message_comes_twice() -> None:
    told = tell(scenario(late_messages=LateMessages(repeated=1.0, later_ms=(20, 900))))

    assert told.outcome.inconclusive is None
    assert sum(len(e.batch.records) for _, e in told.of(Appended)) == len(sends())
    assert len(told.of(Acknowledged)) > len(told.of(Appended)) + 10


@pytest.mark.parametrize("preset", ["kafka-4.0", "redpanda-25.3", "kraft"])
def test_a_drawn_case_with_late_messages_comes_to_rest_and_is_another_run(preset: str) -> None:
    mix = BUILT_IN_MIXES["kraft" if preset == "kraft" else "reference"]
    late = mix.model_copy(update={"late_messages": 0.05, "repeated_messages": 0.05})
    settings = rules_from({"preset": preset})
    for seed in range(6):
        run = run_scenario(generate(seed, late).with_rules(settings))

        assert run.verdict in {"holds", "violated"}
        assert run.digest != run_scenario(generate(seed, mix).with_rules(settings)).digest


@pytest.mark.parametrize("fenced", [True, False])
def test_an_answer_to_a_fetch_of_before_a_crash_is_not_taken(*, fenced: bool) -> None:
    rules = Rules.of(commit="isr", response_fencing=fenced)
    cluster = Cluster(scenario(rules=rules), lambda _at, _event: None)
    node, env = cluster.nodes["r2"], cluster.context.env

    def asks() -> int:
        node.fetcher.follow("r1", 1)
        env.run(until=env.now + 1)
        return node.fetcher.number

    before = asks()
    node.fetcher.interrupt()  # as a crash does
    answer = FetchResponse(RECORDS, "r1", 1, 0, (batch(0, epoch=1),), correlation_id=before)
    assert asks() > before
    node.fetcher.receive(answer)
    env.run(until=env.now + 1)
    assert node.replica.log.log_end_offset == 0

    node.fetcher.receive(replace(answer, correlation_id=node.fetcher.number))
    env.run(until=env.now + 1)
    assert node.replica.log.log_end_offset == 1
