"""Majority mode: the voters elect their leader themselves (KIP-595, Raft 5.2).

Election timers run at the replicas and are drawn anew each time; votes are messages; a vote is on
disk before it is sent. Without `pre_vote` a replica that was cut off disturbs the others when it is
back (KIP-996). Replicas that join later observe and do not vote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sim.cluster.member import Entry, Member
from sim.cluster.timeouts import timeouts_of
from sim.replication.elections import is_free, last_entry, successors, votes_for, waits
from sim.replication.leader import can_do_without

if TYPE_CHECKING:
    from sim.cluster.context import World
    from sim.cluster.leading import Desk
    from sim.cluster.node import Node


class Quorum:
    """Elections by majority."""

    def __init__(self, world: World) -> None:
        """No voters yet."""
        self._world = world
        self._random = world.random("elections")
        self._members: dict[str, Member] = {}
        self._voters: tuple[str, ...] = ()
        self._times = timeouts_of(world.scenario.timers)

    def start(self) -> None:
        """Every replica votes; the first one campaigns at once."""
        self._voters = tuple(self._world.nodes)
        for node in self._world.nodes.values():
            member = self._members[node.name] = Member(node, self._draw() + self._times.wait_ms)
            self._tick_again(member)
        self._campaign(self._members[self._voters[0]])

    def _draw(self) -> int:
        return max(1, self._random.randint(*self._times.election_ms))

    def _tick_again(self, member: Member) -> None:
        if not member.ticking:
            member.ticking = True
            clock = self._world.clock
            clock.after(max(1, member.due_ms - clock.now_ms), self._tick, member)

    def _tick(self, member: Member) -> None:
        """Stand for election when no leader was heard for too long; come back later otherwise."""
        member.ticking = False
        node = member.node
        if not node.replica.up:
            return
        now_ms = self._world.clock.now_ms
        if node.desk is not None or member.barred:
            node.heard_ms = now_ms
        elif now_ms >= member.due_ms:
            self._stand(member)
        self._tick_again(member)

    def _stand(self, member: Member) -> None:
        """Campaign, or first ask whether that has a chance."""
        if self._world.rules.election.pre_vote:
            self._canvass(member)
        else:
            self._campaign(member)

    def _canvass(self, member: Member) -> None:
        """Ask in the present epoch who would vote: no epoch changes (KIP-996, Prospective)."""
        node = member.node
        epoch = node.replica.epoch
        member.canvassed_ms = self._world.clock.now_ms
        member.timeout_ms = self._draw()
        member.prospect = epoch
        member.granted = [node.name]
        if member.has_won(self._voters):
            self._campaign(member)
            return
        self._ask_for_votes(member, self._pre_vote, epoch)

    def _ask_for_votes(self, member: Member, ballot: Callable[..., None], epoch: int) -> None:
        entry, name = last_entry(member.node.replica), member.node.name
        for voter in self._voters:
            if voter != name:
                self._world.network.send(
                    name, voter, ballot, self._members[voter], member, epoch, entry
                )

    def _pre_vote(self, member: Member, candidate: Member, epoch: int, entry: Entry) -> None:
        """At a voter: refuse while a leader was heard lately. Nothing is promised."""
        node = member.node
        replica = node.replica
        if not replica.up:
            return
        if epoch > replica.epoch:
            self._learn(node, epoch)
        loyal_until_ms = node.heard_ms + self._times.loyal_ms
        loyal = node.fetcher.leader is not None and self._world.clock.now_ms < loyal_until_ms
        granted = not loyal and member.may_grant(epoch, entry)
        answer = self._seconded if granted else self._refused
        self._world.network.send(
            node.name, candidate.node.name, answer, candidate, node.name, replica.epoch
        )

    def _seconded(self, member: Member, voter: str, epoch: int) -> None:
        """At a prospective candidate: a voter would vote for it, if it still hears of no leader."""
        node = member.node
        if not node.replica.up or not member.prospect == epoch == node.replica.epoch:
            return
        if node.heard_ms > member.canvassed_ms:
            return
        if voter not in member.granted:
            member.granted.append(voter)
        if member.has_won(self._voters):
            self._campaign(member)

    def _campaign(self, member: Member) -> None:
        node = member.node
        node.fetcher.stop()
        epoch = node.replica.epoch + 1
        node.sees(epoch)
        node.heard_ms = self._world.clock.now_ms
        member.timeout_ms = self._draw()
        votes_for(node.replica, epoch, node.name)
        member.candidacy = epoch
        member.prospect = None
        member.granted = [node.name]
        if member.has_won(self._voters):
            self._lead(member)
            return
        self._ask_for_votes(member, self._vote, epoch)

    def _vote(self, member: Member, candidate: Member, epoch: int, entry: Entry) -> None:
        """At a voter: grant or refuse, and remember it (KafkaRaftClient.handleVoteRequest)."""
        node = member.node
        replica = node.replica
        if not replica.up:
            return
        if epoch > replica.epoch:
            self._learn(node, epoch)
        name = candidate.node.name
        leader_known = node.fetcher.leader is not None and node.fetcher.epoch == epoch
        granted = (
            not leader_known
            and member.may_grant(epoch, entry)
            and is_free(replica, epoch, name, rules=node.rules)
        )
        if granted:
            votes_for(replica, epoch, name)
            node.heard_ms = self._world.clock.now_ms
        answer = self._granted if granted else self._refused
        self._world.network.send(node.name, name, answer, candidate, node.name, replica.epoch)

    def _granted(self, member: Member, voter: str, epoch: int) -> None:
        """At a candidate: a voter grants its vote in `epoch`."""
        replica = member.node.replica
        if replica.up and member.candidacy == epoch == replica.epoch:
            if voter not in member.granted:
                member.granted.append(voter)
            if member.has_won(self._voters):
                self._lead(member)

    def _refused(self, member: Member, voter: str, epoch: int) -> None:
        """At a candidate: a voter that is in `epoch` refuses."""
        del voter
        if member.node.replica.up and epoch > member.node.replica.epoch:
            self._learn(member.node, epoch)

    def _learn(self, node: Node, epoch: int) -> None:
        """Move on to a higher epoch, whose leader is not known yet."""
        node.sees(epoch)
        node.fetcher.stop()
        member = self._members.get(node.name)
        if member is not None:
            member.candidacy = None
            self._tick_again(member)

    def _lead(self, member: Member) -> None:
        assert member.candidacy is not None
        node, epoch = member.node, member.candidacy
        member.candidacy = None
        self._begin(node, node.lead(epoch, isr=self._voters, voters=self._voters))

    def _begin(self, node: Node, desk: Desk) -> None:
        """Announce a leader, and begin to check whether a majority follows it."""
        for name in self._world.nodes:
            self._announce(node, desk.epoch, name)
        self._world.clock.after(self._times.half_ms, self._check, node, desk)

    def _announce(self, leader: Node, epoch: int, name: str) -> None:
        if name != leader.name:
            target = self._world.nodes[name]
            self._world.network.send(leader.name, name, self._follow, target, leader, epoch)

    def _follow(self, node: Node, leader: Node, epoch: int) -> None:
        """BeginQuorumEpoch arrived."""
        if not node.replica.up or epoch < node.replica.epoch:
            return
        if epoch > node.replica.epoch:
            self._learn(node, epoch)
        node.heard_ms = self._world.clock.now_ms
        member = self._members.get(node.name)
        if member is not None:
            member.candidacy = None
            member.timeout_ms = self._draw() + self._times.wait_ms
        if node.fetcher.leader != leader.name or node.fetcher.epoch != epoch:
            node.fetcher.follow(leader.name, epoch)

    def _check(self, node: Node, desk: Desk) -> None:
        """Check quorum, and announce the leader again to those who do not fetch."""
        if node.desk is not desk:
            return
        world = self._world
        now_ms = world.clock.now_ms
        heard = 1
        for name in list(world.nodes):
            progress = desk.progress.get(name)
            silent_ms = now_ms - progress.contact_ms if progress is not None else now_ms
            if (
                name in self._voters
                and name != node.name
                and silent_ms <= self._times.check_quorum_ms
            ):
                heard += 1
            if silent_ms > self._times.half_ms and name not in desk.parked:
                self._announce(node, desk.epoch, name)
        if heard <= len(self._voters) // 2 and world.rules.election.check_quorum:
            self._resign(node)
        else:
            world.clock.after(self._times.half_ms, self._check, node, desk)

    def _resign(self, node: Node) -> None:
        node.resign()
        node.heard_ms = self._world.clock.now_ms
        self._members[node.name].timeout_ms = self._draw() + self._times.wait_ms

    def added(self, node: Node) -> None:
        """An observer joined; the leader announces itself sooner or later."""
        leader = self._world.leading()
        if leader is not None and leader.desk is not None:
            self._announce(leader, leader.desk.epoch, node.name)

    def crashed(self, node: Node) -> None:
        """Nobody is told; the others notice."""
        member = self._members.get(node.name)
        if member is not None:
            member.candidacy = None

    def wiped(self, node: Node) -> None:
        """It forgot its vote, so it may not vote before it caught up, and what it acknowledged."""
        for other in self._world.nodes.values():
            other.forget_position(node.name)
        member = self._members.get(node.name)
        if member is not None:
            member.barred_below = max(1, self._world.committed)

    def restarted(self, node: Node) -> None:
        """A replica goes on with the leader it knew; it leads on only if the rules say so."""
        leadership = node.replica.leadership
        if leadership is not None:
            self._begin(node, node.sit_down(leadership.epoch))
        member = self._members.get(node.name)
        if member is not None:
            member.timeout_ms = self._draw() + self._times.wait_ms
            self._tick_again(member)
        node.fetcher.ask()

    def cut_off(self, node: Node) -> None:
        """Nobody is told; timers notice."""

    def reconnected(self, node: Node) -> None:
        """Nobody is told; the next message says it."""

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """The leader resigns and names `node`, which campaigns at once (EndQuorumEpoch).

        There is no unclean election in this mode: only an up-to-date log can win. With `successors:
        by_offset` the leader names all voters by how far they have fetched, `node` first among
        equals; it is enough that `node` leads.
        """
        del unclean
        leader = self._world.leading()
        member = self._members.get(node.name)
        if self._world.rules.election.successors == "by_offset":
            return leader is not None and self._retire(leader, node.name)
        if leader is None or leader is node or member is None or not node.replica.up:
            return False
        self._resign(leader)
        self._world.network.send(leader.name, node.name, self._end_of_epoch, member)
        return True

    def _retire(self, leader: Node, preferred: str) -> bool:
        leadership = leader.replica.leadership
        if leadership is None:
            return False
        heirs = [n for n in successors(leadership, leader.name, preferred) if n in self._members]
        self._resign(leader)
        for name, wait_ms in waits(heirs, self._times.election_ms[1]):
            self._world.network.send(
                leader.name, name, self._succession, self._members[name], leadership.epoch, wait_ms
            )
        return True

    def _succession(self, member: Member, epoch: int, wait_ms: int) -> None:
        """At a voter: the leader of `epoch` has resigned; stand after `wait_ms`."""
        node = member.node
        if node.replica.up and node.replica.epoch == epoch:
            node.fetcher.stop()
            self._world.clock.after(wait_ms, self._succeed, member, epoch)

    def _succeed(self, member: Member, epoch: int) -> None:
        node = member.node
        vacant = node.replica.epoch == epoch and node.fetcher.leader is None and node.desk is None
        if node.replica.up and vacant and not member.barred:
            self._stand(member)

    def _end_of_epoch(self, member: Member) -> None:
        if member.node.replica.up and not member.barred and member.node.desk is None:
            self._campaign(member)

    def may_wipe(self, node: Node) -> bool:
        """Not while another voter has yet to recover from the loss of its own disk."""
        others = [m for name, m in self._members.items() if name != node.name]
        return len(others) > 1 and not any(member.barred for member in others)

    def may_remove(self, node: Node) -> bool:
        """Once a majority of the other voters has all that is committed; observers always."""
        leader, world = self._world.leading(), self._world
        able = leader is not None and can_do_without(leader.replica, node.name, world.committed)
        return able or node.name not in self._voters

    def removed(self, node: Node) -> None:
        """Majorities are counted over the other voters from now on (KIP-853, RemoveVoter)."""
        self._voters = tuple(name for name in self._voters if name != node.name)
        self._members.pop(node.name, None)
        leader = self._world.leading()
        if leader is not None and leader.desk is not None:
            leader.desk.count_over(self._voters)

    def fetched(self, leader: Node, follower: str) -> None:
        """Positions are all that counts in this mode."""

    def heard_epoch(self, node: Node, epoch: int) -> None:
        """A leader that meets a higher epoch stops leading."""
        self._learn(node, epoch)
