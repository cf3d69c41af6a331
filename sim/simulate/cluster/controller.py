"""The controller (commit: isr): keeps the in-sync set, on the request of leaders, and elects them.

The controller itself never fails, and its links lose nothing; but a partition cuts a replica off
from it, too. Sources: ReplicationControlManager, PartitionChangeBuilder, KIP-497 (AlterPartition),
KIP-966 (a restarted replica is out of the set). A broker's side of it is
`sim.simulate.cluster.isr`.

Heartbeats that would say nothing new are not sent: they would arrive as long as the broker is up
and its link is not cut. So a session is at risk only when a fault ends one of the two, and
`Controller.hears` says at the end of the session timeout whether heartbeats would arrive again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from simpy.events import ProcessGenerator

from sim.protocol.events import UncleanElection
from sim.protocol.events.cluster import ADMINISTRATOR, ANY_REPLICA, LAST_KNOWN_LEADER
from sim.protocol.replication import messages as of
from sim.protocol.replication.elections import (
    alone_in_sync,
    alter_partition,
    clean_choice,
    last_resort,
    led_by,
    with_isr,
)
from sim.protocol.replication.messages import PartitionState
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.network import CONTROLLER
from sim.simulate.cluster.waiting import ProcessGroup


class Controller:
    """The controller of the partition: decides which replica leads, and which are in sync.

    Replicas learn of it after a latency. A replica that has sent nothing for `election_timeout_ms`
    is fenced: it leads no more, and leaves the in-sync set unless no other replica is in it. A
    leader that is cut off goes on as a zombie until it hears of its successor. With
    `eligible_leaders: elr` the set may become empty, and a replica that crashed counts as one that
    may have lost something.

    Attributes:
        state: Newest state of the partition.
        hears: Returns by the name of a broker whether its heartbeats arrive at present.
    """

    def __init__(self, context: Context, hears: Callable[[str], bool]) -> None:
        """Starts without registered replicas."""
        self._context = context
        self._network = context.network
        self._rules = context.rules
        self._random = context.random("controller")
        self.hears = hears
        self.state = PartitionState(0, 0, None, (), {})
        self._incarnations: dict[str, int] = {}
        self._sessions = defaultdict[str, ProcessGroup](lambda: ProcessGroup(context.env))
        self._handlers: dict[type, Callable[[Any], None]] = {
            of.BrokerRegistrationRequest: self._register,
            of.BrokerHeartbeatRequest: self._heartbeat,
            of.AlterPartitionRequest: self._alter,
        }

    def start(self, names: tuple[str, ...]) -> None:
        """Registers the replicas, all in sync, and makes the first one lead."""
        self._network.add(CONTROLLER, self.receive)
        self._incarnations = dict.fromkeys(names, 1)
        self.state = PartitionState(1, 1, names[0], names, dict(self._incarnations), replicas=names)
        self._inform_all()

    def receive(self, message: Any) -> None:
        """Takes a message of a broker."""
        self._handlers[type(message)](message)

    def session_at_risk(self, name: str) -> None:
        """Starts the session timeout of a broker whose heartbeats do not arrive any more."""
        lowest_ms, highest_ms = self._context.scenario.timers.election_timeout_ms
        timeout_ms = max(1, self._random.randint(lowest_ms, highest_ms))
        self._sessions[name].start(self._session(name, timeout_ms))

    def _session(self, name: str, timeout_ms: int) -> ProcessGenerator:
        """The session timeout of a broker, which is fenced at its end; a message interrupts it."""
        yield self._context.env.timeout(timeout_ms)
        if not self.hears(name):
            self._change(self._without(name), fenced=(name,))

    def _without(self, name: str) -> PartitionState:
        """The state in which a replica is not eligible."""
        left = {other: epoch for other, epoch in self.state.eligible.items() if other != name}
        return replace(self.state, eligible=left)

    def _register(self, request: of.BrokerRegistrationRequest) -> None:
        """Registers a broker that has started; one that restarted leaves the in-sync set."""
        name, incarnation = request.broker, request.incarnation
        known = self._incarnations.get(name)
        if known is not None and incarnation < known:
            return
        self._incarnations[name] = incarnation
        self._contact(name, fenced=(name,) if known not in (None, incarnation) else ())

    def _heartbeat(self, request: of.BrokerHeartbeatRequest) -> None:
        """Takes the heartbeat of a broker that can be heard again: unfences or informs it."""
        name = request.broker
        if request.incarnation != self._incarnations.get(name):
            return
        if name in self.state.eligible:
            self._sessions[name].interrupt()
            self._inform(name)
        else:
            self._contact(name)

    def _contact(self, name: str, fenced: tuple[str, ...] = ()) -> None:
        self._sessions[name].interrupt()
        eligible = {**self.state.eligible, name: self._incarnations[name]}
        self._change(replace(self.state, eligible=eligible), fenced=fenced, unclean=fenced)

    def _change(
        self,
        state: PartitionState,
        *,
        fenced: tuple[str, ...] = (),
        unclean: tuple[str, ...] = (),
    ) -> None:
        """Changes the partition, elects a leader if there is none, and informs all brokers.

        Args:
            state: The state with its eligible replicas.
            fenced: Replicas that leave the in-sync set, and lead no more, if possible.
            unclean: Those of them that may have lost records: they crashed, or were removed.
        """
        isr = tuple(n for n in state.isr if n not in fenced and n in state.eligible)
        state = with_isr(state, isr, unclean=unclean, rules=self._rules)
        leader = state.leader
        if leader is None or leader in fenced or leader not in state.eligible:
            state = self._elect(state)
        self._set(state)
        self._inform_all()

    def _set(self, state: PartitionState) -> None:
        self.state = replace(
            state, partition_epoch=state.partition_epoch + 1, replicas=tuple(self._incarnations)
        )

    def _elect(self, state: PartitionState) -> PartitionState:
        """Makes one of the replicas that may lead cleanly the leader of the next epoch.

        Without one the last leader leads, if the rules remember it; with `unclean_election` any
        replica that the controller hears from; otherwise the partition has no leader.
        """
        able = clean_choice(state)
        if able:
            return led_by(state, self._random.choice(able), rules=self._rules)
        last = last_resort(state)
        if last is not None:
            return self._elect_uncleanly(state, last, LAST_KNOWN_LEADER)
        if self._rules.election.unclean_election and state.eligible:
            chosen = self._random.choice(tuple(state.eligible))
            return self._elect_uncleanly(state, chosen, ANY_REPLICA)
        return replace(state, leader=None)

    def _elect_uncleanly(self, state: PartitionState, name: str, because: str) -> PartitionState:
        """Makes a replica the leader, alone in sync, whether it has all records or not."""
        self._context.emit(UncleanElection(name, state.leader_epoch + 1, because))
        return led_by(alone_in_sync(state, name), name, rules=self._rules)

    def elect(self, name: str, *, unclean: bool) -> bool:
        """Makes a replica lead for an administrator (ElectLeaders); False where it may not.

        Without `unclean` only a replica of the in-sync set may; with it, it is alone in the set.
        """
        state = self.state
        if name not in state.eligible or name == state.leader:
            return False
        if name in state.isr:
            state = alone_in_sync(state, name) if unclean else state
            self._set(led_by(state, name, rules=self._rules))
        elif unclean:
            self._set(self._elect_uncleanly(state, name, ADMINISTRATOR))
        else:
            return False
        self._inform_all()
        return True

    def unassign(self, name: str) -> None:
        """Removes a replica for an administrator; it is in no set, and not informed any more."""
        self._incarnations.pop(name, None)
        self._sessions[name].interrupt()
        self._change(self._without(name), fenced=(name,), unclean=(name,))

    def _inform_all(self) -> None:
        for name in self._incarnations:
            self._inform(name)

    def _inform(self, name: str) -> None:
        message = of.LeaderAndIsrRequest(self._incarnations[name], self.state)
        self._network.send(CONTROLLER, name, message)

    def _alter(self, request: of.AlterPartitionRequest) -> None:
        """Accepts another in-sync set from the leader, or not, and answers with the state.

        The partition epoch grows either way, so that the leader takes the answer.
        """
        self._set(alter_partition(self.state, request, rules=self._rules))
        if request.leader in self._incarnations:
            self._inform(request.leader)
