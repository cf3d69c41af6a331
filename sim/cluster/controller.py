"""ISR mode: a controller keeps the in-sync set and makes leaders; leaders ask it for changes.

The controller itself never fails, and its links lose nothing; but a partition cuts a replica off
from it, too. Sources: ReplicationControlManager, PartitionChangeBuilder, Partition.maybeShrinkIsr
and .maybeExpandIsr, KIP-497 (AlterPartition), KIP-966 (a restarted replica is out of the set).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sim.cluster.network import CONTROLLER
from sim.replication.elections import Candidates, changed, clean_choice, led_by
from sim.replication.leader import advance_high_watermark, expand_isr, may_join_isr, set_isr

if TYPE_CHECKING:
    from sim.cluster.context import World
    from sim.cluster.leading import Desk
    from sim.cluster.node import Node


class State(NamedTuple):
    """What the controller says about the partition.

    Attributes:
        version: Grows with every change; an older state than one seen before is ignored.
        epoch: Leader epoch.
        leader: Who leads it; None = nobody can.
        isr: The in-sync set.
        eligible: Replicas that may be in the set, since the controller hears from them.
        elr: Eligible leader replicas (KIP-966).
        last_leader: Who led when there was neither an in-sync nor an eligible replica left.
    """

    version: int
    epoch: int
    leader: str | None
    isr: tuple[str, ...]
    eligible: tuple[str, ...]
    elr: tuple[str, ...] = ()
    last_leader: str | None = None

    @property
    def candidates(self) -> Candidates:
        """Who may lead cleanly."""
        return Candidates(self.isr, self.elr, self.last_leader)


class Controller:
    """Decides who leads and who is in sync; replicas learn of it after a latency.

    A replica it has not heard from for `election_timeout_ms` is fenced: out of the in-sync set,
    unless nobody else is in it, and no leader any more. A leader that is cut off goes on as a
    zombie until it hears of its successor. With `eligible_leaders: elr` the set may become empty,
    and a replica that crashed counts as one that may have lost something.
    """

    def __init__(self, world: World) -> None:
        """A controller that knows no replica yet."""
        self._world = world
        self._random = world.random("controller")
        self.state = State(0, 0, None, (), ())
        self._incarnations: dict[str, int] = {}
        self._contacts: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._half_lag_ms = max(1, world.scenario.timers.replica_lag_max_ms // 2)

    def start(self) -> None:
        """All replicas are in sync, and the first one leads."""
        world = self._world
        world.network.add(CONTROLLER)
        names = tuple(world.nodes)
        self._incarnations = dict.fromkeys(names, 1)
        self._contacts = dict.fromkeys(names, 0)
        self.state = State(1, 1, names[0], names, names)
        self._inform_all()

    def added(self, node: Node) -> None:
        """A new replica registers."""
        self._register(node)

    def crashed(self, node: Node) -> None:
        """Nothing is heard from a replica any more."""
        self._suspect(node)

    def restarted(self, node: Node) -> None:
        """A replica registers again."""
        node.fetcher.stop()
        self._register(node)

    def wiped(self, node: Node) -> None:
        """What a disk holds makes no difference: a restarted replica is out of the set anyway."""

    def cut_off(self, node: Node) -> None:
        """What a replica sends may not reach the controller any more."""
        if not self._world.network.reaches(node.name, CONTROLLER):
            self._suspect(node)

    def reconnected(self, node: Node) -> None:
        """Heartbeats may arrive again; what was decided in the meantime is told again."""
        if node.replica.up:
            self._register(node)
            self._inform(node.name)

    def _suspect(self, node: Node) -> None:
        lowest_ms, highest_ms = self._world.scenario.timers.election_timeout_ms
        timeout_ms = max(1, self._random.randint(lowest_ms, highest_ms))
        contact = self._contacts.get(node.name, 0)
        self._world.clock.after(timeout_ms, self._fence_if_silent, node, contact)

    def _fence_if_silent(self, node: Node, contact: int) -> None:
        if self._contacts.get(node.name, 0) != contact:
            return
        name, state = node.name, self.state
        if node.replica.up and self._world.network.reaches(name, CONTROLLER):
            return
        eligible = tuple(n for n in state.eligible if n != name)
        self._change(state._replace(eligible=eligible), suspects=(name,))

    def _register(self, node: Node) -> None:
        """Send a heartbeat: a registration if it is the first of this life of the replica."""
        name, incarnation = node.name, node.incarnation
        self._world.network.send(name, CONTROLLER, self._registered, node, incarnation)

    def _registered(self, node: Node, incarnation: int) -> None:
        name, state = node.name, self.state
        if incarnation < self._incarnations.get(name, 0):
            return
        again = self._incarnations.get(name) not in (None, incarnation)
        self._incarnations[name] = incarnation
        self._contacts[name] = self._contacts.get(name, 0) + 1
        eligible = state.eligible if name in state.eligible else (*state.eligible, name)
        gone = (name,) if again else ()
        self._change(state._replace(eligible=eligible), suspects=gone, unclean=gone)

    def _change(
        self, state: State, *, suspects: tuple[str, ...] = (), unclean: tuple[str, ...] = ()
    ) -> None:
        """Take `suspects` out of the set and of the lead if possible, and tell everybody.

        Of those `unclean` came back from a crash.
        """
        isr = tuple(n for n in state.isr if n not in suspects and n in state.eligible)
        state = self._with_isr(state, isr, unclean)
        leader = state.leader
        if leader is None or leader in suspects or leader not in state.eligible:
            state = self._elect(state)
        self.state = state._replace(version=state.version + 1)
        self._inform_all()

    def _with_isr(self, state: State, isr: tuple[str, ...], unclean: tuple[str, ...] = ()) -> State:
        before = state.candidates
        if state.leader is not None and not isr and state.isr:
            before = before._replace(last_leader=state.leader)
        after = changed(before, isr, unclean=unclean, rules=self._world.rules)
        return state._replace(isr=after.isr, elr=after.elr, last_leader=after.last_leader)

    def _elect(self, state: State) -> State:
        """Any replica that may lead cleanly leads the next epoch; None if there is none.

        With `unclean_election` any replica that the controller hears from will do then.
        """
        able = clean_choice(state.candidates, state.eligible)
        if able:
            return self._led_by(state, self._random.choice(able))
        if self._world.rules.election.unclean_election and state.eligible:
            name = self._random.choice(state.eligible)
            return self._led_by(state._replace(isr=(name,), elr=(), last_leader=None), name)
        return state._replace(leader=None)

    def _led_by(self, state: State, name: str) -> State:
        after = led_by(state.candidates, name, rules=self._world.rules)
        return state._replace(
            epoch=state.epoch + 1,
            leader=name,
            isr=after.isr,
            elr=after.elr,
            last_leader=after.last_leader,
        )

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Make `node` lead; cleanly only from within the in-sync set."""
        state, name = self.state, node.name
        if name not in state.eligible or not node.replica.up or name == state.leader:
            return False
        if unclean:
            state = state._replace(isr=(name,), elr=(), last_leader=None)
        elif name not in state.isr:
            return False
        self.state = self._led_by(state, name)._replace(version=state.version + 1)
        self._inform_all()
        return True

    def may_wipe(self, node: Node) -> bool:
        """Only out of the in-sync set, as the controller and every leader know it.

        Nor while it may be asked to lead for what it has.
        """
        if node.name in self.state.isr or node.name in self.state.elr:
            return False
        if node.name == self.state.last_leader:
            return False
        leaderships = [other.replica.leadership for other in self._world.nodes.values()]
        return not any(known is not None and node.name in known.isr for known in leaderships)

    def may_remove(self, node: Node) -> bool:
        """Not the leader, nor while there is none, nor if too few are left to commit anything."""
        state, left = self.state, len(self._world.nodes) - 1
        return state.leader not in (None, node.name) and left >= self._world.rules.topic.min_isr

    def removed(self, node: Node) -> None:
        """A replica is unassigned: it is in no set any more, and nothing is told to it."""
        for known in (self._incarnations, self._contacts, self._seen):
            known.pop(node.name, None)
        gone = (node.name,)
        eligible = tuple(name for name in self.state.eligible if name not in gone)
        self._change(self.state._replace(eligible=eligible), suspects=gone, unclean=gone)

    def heard_epoch(self, node: Node, epoch: int) -> None:
        """Brokers do not step down for a follower's sake; the controller tells them."""

    def _inform_all(self) -> None:
        for name in self._world.nodes:
            self._inform(name)

    def _inform(self, name: str) -> None:
        if name in self._incarnations:
            self._world.network.send(
                CONTROLLER, name, self._receive, name, self._incarnations[name], self.state
            )

    def _receive(self, name: str, incarnation: int, state: State) -> None:
        """At the replica: act on the controller's state."""
        node = self._world.nodes.get(name)
        if node is None or not node.replica.up or incarnation != node.incarnation:
            return
        if state.version <= self._seen.get(name, 0):
            return
        self._seen[name] = state.version
        if state.leader == name:
            self._lead(node, state)
        elif state.leader is not None:
            fetcher = node.fetcher
            node.sees(state.epoch)
            if fetcher.leader != state.leader or fetcher.epoch != state.epoch:
                node.resign()
                fetcher.follow(state.leader, state.epoch)

    def _lead(self, node: Node, state: State) -> None:
        desk = node.desk
        if desk is None or desk.epoch != state.epoch:
            desk = node.lead(state.epoch, isr=state.isr, voters=tuple(self._world.nodes))
            self._world.clock.after(self._half_lag_ms, self._look_for_laggards, node, desk)
        desk.state_version = state.version
        desk.eligible = state.eligible
        desk.asked_ms = None
        leadership = node.replica.leadership
        if leadership is None:
            return
        leadership.confirmed = None
        if set(leadership.isr) == set(state.isr):
            leadership.isr = state.isr
            desk.react(advance_high_watermark(node.replica, rules=self._world.rules))
        else:
            desk.react(set_isr(node.replica, state.isr, rules=self._world.rules))

    def fetched(self, leader: Node, follower: str) -> None:
        """At the leader: admit a follower that has caught up, and ask for it to be confirmed."""
        desk, leadership = leader.desk, leader.replica.leadership
        if desk is None or leadership is None or follower in leadership.isr:
            return
        if desk.asked_ms is not None or follower not in desk.eligible:
            return
        rules = self._world.rules
        if may_join_isr(leader.replica, follower, rules=rules):
            leadership.confirmed = len(leadership.isr)
            desk.react(expand_isr(leader.replica, follower, rules=rules))
            self._ask(leader, desk, leadership.isr)

    def _look_for_laggards(self, node: Node, desk: Desk) -> None:
        """At the leader: ask for a set without those that have not caught up for too long."""
        leadership = node.replica.leadership
        if node.desk is not desk or leadership is None:
            return
        clock = self._world.clock
        clock.after(self._half_lag_ms, self._look_for_laggards, node, desk)
        limit_ms = self._world.scenario.timers.replica_lag_max_ms
        if desk.asked_ms is not None and clock.now_ms - desk.asked_ms <= limit_ms:
            return
        end = node.replica.log.log_end_offset
        in_sync = tuple(
            name
            for name in leadership.isr
            if name == node.name
            or leadership.positions.get(name) == end
            or clock.now_ms - desk.caught_up_ms(name) <= limit_ms
        )
        if len(in_sync) < len(leadership.isr) or desk.asked_ms is not None:
            self._ask(node, desk, in_sync)

    def _ask(self, node: Node, desk: Desk, isr: tuple[str, ...]) -> None:
        desk.asked_ms = self._world.clock.now_ms
        self._world.network.send(
            node.name, CONTROLLER, self._alter, node.name, desk.epoch, desk.state_version, isr
        )

    def _alter(self, leader: str, epoch: int, version: int, isr: tuple[str, ...]) -> None:
        """At the controller: accept another in-sync set from the leader, or say what is true."""
        state = self.state
        if (leader, epoch, version) == (state.leader, state.epoch, state.version) and all(
            name in state.eligible for name in isr
        ):
            self.state = self._with_isr(state, isr)._replace(version=version + 1)
        else:
            self.state = state._replace(version=state.version + 1)
        self._inform(leader)
