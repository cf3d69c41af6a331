"""What the environment may do to a cluster, and what it asks before: elections of both kinds.

Faults, administrators and the end of a run stand above the cluster: they see replicas as they are,
and what they do to one takes no message. Brokers do not see this module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

from sim.protocol.replication.leader import can_do_without
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.controller import Controller
from sim.simulate.cluster.isr import IsrMembership
from sim.simulate.cluster.network import CONTROLLER
from sim.simulate.cluster.node import Membership, Node
from sim.simulate.cluster.quorum import QuorumMembership


def leading(context: Context, nodes: Mapping[str, Node]) -> Node | None:
    """The newest leader if it is up and still leads."""
    leader = context.leader
    node = None if leader is None else nodes[leader[1]]
    return node if node is not None and node.leader is not None else None


M = TypeVar("M", bound=Membership)


class Elections(ABC, Generic[M]):
    """Who makes leaders: a controller (commit: isr) or the voters themselves (majority).

    What a kind of elections does not have to be told of, it leaves to this class.
    """

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """Starts without members; `nodes` are those of the cluster, by name."""
        self._context = context
        self._nodes = nodes
        self._members: dict[str, M] = {}

    def _join(self, node: Node, member: M) -> M:
        node.membership = self._members[node.name] = member
        return member

    @abstractmethod
    def start(self) -> None:
        """Bring about the first leader."""

    @abstractmethod
    def added(self, node: Node) -> None:
        """A replica joined."""

    @abstractmethod
    def removed(self, node: Node) -> None:
        """A replica has left for good."""

    def crashed(self, node: Node) -> None:
        """A replica went down."""

    def wiped(self, node: Node) -> None:
        """A replica lost its disk."""

    def cut_off(self, node: Node) -> None:
        """Some of what a replica sends does not get through any more."""

    def reconnected(self, node: Node) -> None:
        """A replica can talk again."""

    @abstractmethod
    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """An administrator asks for `node` to lead; False when that is not possible now."""

    @abstractmethod
    def may_wipe(self, node: Node) -> bool:
        """Whether the disk of `node` may be lost without losing what is promised."""

    @abstractmethod
    def may_remove(self, node: Node) -> bool:
        """Whether the others can do without `node` and its disk, for good."""


class ControllerElections(Elections[IsrMembership]):
    """Elections by a controller.

    What a disk holds makes no difference to it: a restarted replica is out of the set anyway.

    Attributes:
        controller: It.
    """

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """No replica is known yet."""
        super().__init__(context, nodes)
        self.controller = Controller(context, self._hears)

    def _hears(self, name: str) -> bool:
        """Whether heartbeats of a replica arrive: it is up, and its link is not cut."""
        node = self._nodes.get(name)
        return (
            node is not None and node.replica.up and self._context.network.reaches(name, CONTROLLER)
        )

    def start(self) -> None:
        """All replicas are in sync, and the first one leads."""
        for node in self._nodes.values():
            self._join(node, IsrMembership(node))
        self.controller.start(tuple(self._nodes))

    def added(self, node: Node) -> None:
        """A new replica registers."""
        self._join(node, IsrMembership(node)).register()

    def crashed(self, node: Node) -> None:
        """Nothing is heard from a replica any more."""
        self.controller.session_at_risk(node.name)

    def cut_off(self, node: Node) -> None:
        """What a replica sends may not reach the controller any more."""
        if not self._context.network.reaches(node.name, CONTROLLER):
            self.controller.session_at_risk(node.name)

    def reconnected(self, node: Node) -> None:
        """Heartbeats may arrive again; what was decided in the meantime is told again."""
        if node.replica.up:
            self._members[node.name].send_heartbeat()

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Make `node` lead; cleanly only from within the in-sync set."""
        return node.replica.up and self.controller.elect(node.name, unclean=unclean)

    def may_wipe(self, node: Node) -> bool:
        """Only out of the in-sync set, as the controller and every leader know it.

        Nor while it may be asked to lead for what it has.
        """
        name, state = node.name, self.controller.state
        if name in state.isr or name in state.elr or name == state.last_known_leader:
            return False
        leaderships = [other.replica.leadership for other in self._nodes.values()]
        return not any(known is not None and name in known.isr for known in leaderships)

    def may_remove(self, node: Node) -> bool:
        """Not the leader, nor while there is none, nor if too few are left to commit anything."""
        leader, left = self.controller.state.leader, len(self._nodes) - 1
        return leader not in (None, node.name) and left >= self._context.rules.topic.min_isr

    def removed(self, node: Node) -> None:
        """A replica is unassigned."""
        del self._members[node.name]
        self.controller.unassign(node.name)


class QuorumElections(Elections[QuorumMembership]):
    """Elections by the voters, who notice by themselves who can be reached."""

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """No voters yet."""
        super().__init__(context, nodes)
        self._voters: tuple[str, ...] = ()

    def start(self) -> None:
        """Every replica votes; the first one campaigns at once."""
        self._voters = tuple(self._nodes)
        for node in self._nodes.values():
            self._join(node, QuorumMembership(node, self._voters)).wait_for_leader()
        next(iter(self._members.values())).campaign()

    def added(self, node: Node) -> None:
        """An observer joined, and the leader announces itself to it.

        That is what comes of the observer's first fetch, which goes to any voter.
        """
        self._join(node, QuorumMembership(node, self._voters))
        leader = leading(self._context, self._nodes)
        if leader is not None and leader.leader is not None:
            self._members[leader.name].announce(leader.leader, node.name)

    def crashed(self, node: Node) -> None:
        """Nobody is told; the others notice."""
        self._members[node.name].crashed()

    def wiped(self, node: Node) -> None:
        """Its old disk is no voter any more, and the new one may not vote before it caught up.

        A voter is known by its disk, too (KIP-853, directory ids): nobody counts on what an earlier
        life has acknowledged.
        """
        for other in self._nodes.values():
            if other.leader is not None:
                other.leader.forget(node.name, node.incarnation)
        self._members[node.name].rebuilt(self._context.committed)

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """The leader resigns in favour of `node`, or of others, as the rule `successors` says."""
        del unclean
        leader = leading(self._context, self._nodes)
        if leader is None:
            return False
        if self._context.rules.election.successors == "named" and not node.replica.up:
            return False
        return self._members[leader.name].hand_over(node.name)

    def may_wipe(self, node: Node) -> bool:
        """Not while another voter has yet to recover from the loss of its own disk."""
        others = [self._members[name] for name in self._voters if name != node.name]
        return len(others) > 1 and not any(member.barred for member in others)

    def may_remove(self, node: Node) -> bool:
        """Once a majority of the other voters has all that is committed; observers always."""
        leader = leading(self._context, self._nodes)
        able = leader is not None and can_do_without(
            leader.replica, node.name, self._context.committed
        )
        return able or node.name not in self._voters

    def removed(self, node: Node) -> None:
        """Majorities are counted over the other voters from now on (KIP-853, RemoveVoter)."""
        del self._members[node.name]
        self._voters = tuple(name for name in self._voters if name != node.name)
        for member in self._members.values():
            member.voters = self._voters
        leader = leading(self._context, self._nodes)
        if leader is not None and leader.leader is not None:
            leader.leader.count_over(self._voters)
