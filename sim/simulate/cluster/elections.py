"""Elections of both kinds, as faults and administrators use them.

Faults, administrators and the end of a run stand above the cluster: they see replicas as they are,
and what they do to one takes no message. Brokers do not see this module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

from sim.protocol.replication.leader import can_do_without
from sim.simulate.cluster.broker import Membership
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.controller import Controller
from sim.simulate.cluster.isr import IsrMembership
from sim.simulate.cluster.network import CONTROLLER
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership

M = TypeVar("M", bound=Membership)


class Elections(ABC, Generic[M]):
    """Elections by a controller (commit: isr) or by the voters themselves (majority).

    A kind of elections overrides what it needs.
    """

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """Starts without members; `nodes` are those of the cluster, by name."""
        self._context = context
        self._nodes = nodes
        self._members: dict[str, M] = {}

    def _join(self, node: Node, member: M) -> M:
        node.membership = self._members[node.name] = member
        return member

    def leading(self) -> Node | None:
        """The newest leader if it is up and still leads."""
        newest = self._context.leader
        node = None if newest is None else self._nodes[newest[1]]
        return node if node is not None and node.leader is not None else None

    @abstractmethod
    def start(self) -> None:
        """Elects the first leader."""

    @abstractmethod
    def added(self, node: Node) -> None:
        """Takes in a replica that has joined."""

    @abstractmethod
    def removed(self, node: Node) -> None:
        """Drops a replica that has left for good."""

    def crashed(self, node: Node) -> None:
        """Notes that a replica went down."""

    def wiped(self, node: Node) -> None:
        """Notes that a replica lost its disk."""

    def cut_off(self, node: Node) -> None:
        """Notes that some of what a replica sends does not arrive any more."""

    def reconnected(self, node: Node) -> None:
        """Notes that messages of a replica arrive again."""

    @abstractmethod
    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Makes `node` lead for an administrator; False when that is not possible now."""

    @abstractmethod
    def may_wipe(self, node: Node) -> bool:
        """Whether the disk of `node` may be lost, and all promises kept."""

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
        """Starts without replicas."""
        super().__init__(context, nodes)
        self.controller = Controller(context, self._hears)

    def _hears(self, name: str) -> bool:
        """Whether heartbeats of a replica arrive: it is up, and its link is not cut."""
        node = self._nodes.get(name)
        return (
            node is not None and node.replica.up and self._context.network.reaches(name, CONTROLLER)
        )

    def start(self) -> None:
        """Puts all replicas in sync, and makes the first one lead."""
        for node in self._nodes.values():
            self._join(node, IsrMembership(node))
        self.controller.start(tuple(self._nodes))

    def added(self, node: Node) -> None:
        """Lets a new replica register."""
        self._join(node, IsrMembership(node)).register()

    def crashed(self, node: Node) -> None:
        """Puts the session of a replica at risk."""
        self.controller.session_at_risk(node.name)

    def cut_off(self, node: Node) -> None:
        """Puts the session of a replica at risk that does not reach the controller."""
        if not self._context.network.reaches(node.name, CONTROLLER):
            self.controller.session_at_risk(node.name)

    def reconnected(self, node: Node) -> None:
        """Lets a replica send a heartbeat, to learn what was decided in the meantime."""
        if node.replica.up:
            self._members[node.name].send_heartbeat()

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Makes `node` lead; cleanly only from within the in-sync set."""
        return node.replica.up and self.controller.elect(node.name, unclean=unclean)

    def may_wipe(self, node: Node) -> bool:
        """Whether `node` is out of the in-sync set, as the controller and every leader know it.

        Nor while it may be asked to lead for what it has.
        """
        name, state = node.name, self.controller.state
        if name in state.isr or name in state.elr or name == state.last_known_leader:
            return False
        leaderships = [other.replica.leadership for other in self._nodes.values()]
        return not any(known is not None and name in known.isr for known in leaderships)

    def may_remove(self, node: Node) -> bool:
        """Whether there is another leader, and enough replicas are left to commit anything."""
        leader, left = self.controller.state.leader, len(self._nodes) - 1
        return leader not in (None, node.name) and left >= self._context.rules.topic.min_isr

    def removed(self, node: Node) -> None:
        """Unassigns a replica."""
        del self._members[node.name]
        self.controller.unassign(node.name)


class QuorumElections(Elections[QuorumMembership]):
    """Elections by the voters, who notice by themselves who can be reached."""

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """Starts without voters."""
        super().__init__(context, nodes)
        self._voters: tuple[str, ...] = ()

    def start(self) -> None:
        """Makes every replica a voter; the first one campaigns at once."""
        self._voters = tuple(self._nodes)
        for node in self._nodes.values():
            self._join(node, QuorumMembership(node, self._voters)).wait_for_leader()
        next(iter(self._members.values())).campaign()

    def added(self, node: Node) -> None:
        """Takes in an observer, to which the leader announces itself.

        That is what comes of the observer's first fetch, which goes to any voter.
        """
        self._join(node, QuorumMembership(node, self._voters))
        leader = self.leading()
        if leader is not None and leader.leader is not None:
            self._members[leader.name].announce(leader.leader, node.name)

    def crashed(self, node: Node) -> None:
        """Ends the candidacy of a replica; the other voters notice by themselves."""
        self._members[node.name].crashed()

    def wiped(self, node: Node) -> None:
        """Replaces the disk of a voter: the new one may not vote before it caught up.

        A voter is known by its disk, too (KIP-853, directory ids): nobody counts on what an earlier
        life has acknowledged.
        """
        for other in self._nodes.values():
            if other.leader is not None:
                other.leader.forget(node.name, node.incarnation)
        self._members[node.name].rebuilt(self._context.committed)

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Lets the leader resign for `node`, or for others, as the rule `successors` says."""
        del unclean
        leader = self.leading()
        if leader is None:
            return False
        if self._context.rules.election.successors == "named" and not node.replica.up:
            return False
        return self._members[leader.name].hand_over(node.name)

    def may_wipe(self, node: Node) -> bool:
        """Whether no other voter has yet to recover from the loss of its own disk."""
        others = [self._members[name] for name in self._voters if name != node.name]
        return len(others) > 1 and not any(member.barred for member in others)

    def may_remove(self, node: Node) -> bool:
        """Whether a majority of the other voters has all that is committed, or it is no voter."""
        leader = self.leading()
        able = leader is not None and can_do_without(
            leader.replica, node.name, self._context.committed
        )
        return able or node.name not in self._voters

    def removed(self, node: Node) -> None:
        """Counts majorities over the other voters from now on (KIP-853, RemoveVoter)."""
        del self._members[node.name]
        self._voters = tuple(name for name in self._voters if name != node.name)
        for member in self._members.values():
            member.voters = self._voters
        leader = self.leading()
        if leader is not None and leader.leader is not None:
            leader.leader.count_over(self._voters)
