"""Laws of the controller, for any messages of brokers, silences and wishes of administrators."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sim.protocol.replication.elections import clean_choice, last_resort
from sim.protocol.replication.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    LeaderAndIsrRequest,
)
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.controller import Controller
from tests.cluster.worlds import scenario

NAMES = st.sampled_from(["r1", "r2", "r3"])
LATE = st.sampled_from([0, 0, 0, -1])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("register"), NAMES, st.sampled_from([-1, 0, 1])),
        st.tuples(st.just("heartbeat"), NAMES, LATE),
        st.tuples(st.just("alter"), st.tuples(LATE, LATE), st.sets(NAMES)),
        st.tuples(st.just("alter"), st.tuples(LATE, LATE), st.sets(NAMES)),
        st.tuples(st.just("silence"), NAMES, st.just(0)),
        st.tuples(st.just("elect"), NAMES, st.booleans()),
    ),
    max_size=15,
)


class Partition:
    """A controller of three replicas, whose messages are noted and not delivered."""

    def __init__(self, leaders: str) -> None:
        rules = Rules.of(commit="isr", min_isr=2, eligible_leaders=leaders)
        self.cluster = Cluster(scenario(rules=rules), lambda _at, _events: None)
        self.answers: list[tuple[str, Any]] = []
        network: Any = self.cluster.context.network
        network.send = lambda _source, target, message: self.answers.append((target, message))
        network.reaches = lambda _source, _target: False
        assert isinstance(self.cluster.elections, Controller)
        self.controller = self.cluster.elections
        self.controller.start()
        self.incarnations = dict.fromkeys(self.cluster.nodes, 1)

    def take(self, kind: str, who: Any, more: Any) -> str | None:
        """Takes a step; returns the broker that waits for an answer, if there is one."""
        controller, state = self.controller, self.controller.state
        if kind == "silence":
            controller.silenced(self.cluster.nodes[who])
            self.cluster.context.env.run(until=self.cluster.context.now_ms + 10_000)
        elif kind == "elect":
            controller.migrate(self.cluster.nodes[who], unclean=more)
        elif kind == "alter" and state.leader is not None:
            epochs = state.leader_epoch + who[0], state.partition_epoch + who[1]
            isr = tuple(sorted({state.leader} | more))
            controller.receive(AlterPartitionRequest(state.leader, *epochs, isr))
            return state.leader
        elif kind in ("register", "heartbeat"):
            asks = BrokerRegistrationRequest if kind == "register" else BrokerHeartbeatRequest
            incarnation = self.incarnations[who] + more
            controller.receive(asks(who, incarnation))
            if more >= 0:
                self.incarnations[who] = incarnation
                return str(who)
        return None


@given(st.sampled_from(["isr", "elr"]), STEPS)
def test_each_state_of_a_partition_is_newer_and_has_one_leader_that_may_lead_and_keeps_its_disk(
    eligible_leaders: str, steps: list[tuple[str, Any, Any]]
) -> None:
    partition = Partition(eligible_leaders)
    controller = partition.controller
    leaders = {1: "r1"}
    for step in steps:
        before = controller.state
        partition.answers.clear()
        waits = partition.take(*step)
        state = controller.state

        assert before.partition_epoch <= state.partition_epoch
        if waits is not None:
            known = before.partition_epoch if step[0] == "alter" else 0
            answer = LeaderAndIsrRequest(partition.incarnations[waits], state)
            assert (waits, answer) in partition.answers
            assert state.partition_epoch > known
        if state != before:
            assert state.partition_epoch > before.partition_epoch
        if state.leader is not None:
            assert leaders.setdefault(state.leader_epoch, state.leader) == state.leader
            assert state.leader in state.isr
        assert state.leader_epoch == max(leaders)
        assert state.isr or state.elr or state.last_known_leader or eligible_leaders == "elr"
        assert {*state.isr}.isdisjoint(state.elr)
        for name, node in partition.cluster.nodes.items():
            alone = replace(state, leader=None, eligible=(name,))
            if controller.may_wipe(node):
                assert name not in (*clean_choice(alone), last_resort(alone))
