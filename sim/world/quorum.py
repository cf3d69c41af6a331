"""Majority mode: the voters elect their leader themselves (KIP-595, Raft 5.2).

Election timers run at the replicas and are drawn anew each time; votes are messages; a vote is on
disk before it is sent. There is no pre-vote, so a replica that was cut off disturbs the others when
it is back (KIP-996 is about that). Replicas that join later observe and do not vote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.replication.elections import grants_vote, is_free, last_entry, votes_for

if TYPE_CHECKING:
    from sim.world.context import World
    from sim.world.leading import Desk
    from sim.world.node import Node

CHECK_QUORUM_FACTOR = 1.5
"""A leader without fetches from a majority for so many fetch timeouts resigns (LeaderState)."""


class Member:
    """A voter's part in elections.

    Attributes:
        node: The replica.
        timeout_ms: No word from a leader for so long makes it a candidate.
        candidacy: The epoch it campaigns in; None while it is no candidate.
        granted: Who voted for it, itself included.
        barred_below: After the loss of its disk: it neither votes nor campaigns before its log has
            reached this offset again, since it forgot what it promised.
    """

    __slots__ = ("barred_below", "candidacy", "granted", "node", "ticking", "timeout_ms")

    def __init__(self, node: Node, timeout_ms: int) -> None:
        """A voter that has not voted yet."""
        self.node = node
        self.timeout_ms = timeout_ms
        self.candidacy: int | None = None
        self.granted: list[str] = []
        self.barred_below = 0
        self.ticking = False

    @property
    def barred(self) -> bool:
        """Whether it still has to catch up after the loss of its disk."""
        if self.barred_below and self.node.replica.log.log_end_offset >= self.barred_below:
            self.barred_below = 0
        return self.barred_below > 0


class Quorum:
    """Elections by majority. Followers wait `fetch_wait_ms` longer than the election timeout.

    No word from the leader is due before a waiting fetch ends, so the fetch timeout is the sum of
    both.
    """

    def __init__(self, world: World) -> None:
        """No voters yet."""
        self._world = world
        self._random = world.random("elections")
        self._members: dict[str, Member] = {}
        self._voters: tuple[str, ...] = ()
        timers = world.scenario.timers
        self._range_ms = timers.election_timeout_ms
        self._wait_ms = timers.fetch_wait_ms
        fetch_timeout_ms = self._wait_ms + self._range_ms[1]
        self._check_quorum_ms = int(CHECK_QUORUM_FACTOR * fetch_timeout_ms)
        self._half_timeout_ms = max(1, fetch_timeout_ms // 2)

    def start(self) -> None:
        """Every replica votes; the first one campaigns at once."""
        self._voters = tuple(self._world.nodes)
        for node in self._world.nodes.values():
            member = self._members[node.name] = Member(node, self._draw() + self._wait_ms)
            self._tick_again(member)
        self._campaign(self._members[self._voters[0]])

    def _draw(self) -> int:
        return max(1, self._random.randint(*self._range_ms))

    def _tick_again(self, member: Member) -> None:
        if not member.ticking:
            member.ticking = True
            clock = self._world.clock
            due_ms = member.node.heard_ms + member.timeout_ms
            clock.after(max(1, due_ms - clock.now_ms), self._tick, member)

    def _tick(self, member: Member) -> None:
        """Campaign when nobody was heard for too long; come back later otherwise."""
        member.ticking = False
        node = member.node
        if not node.replica.up:
            return
        now_ms = self._world.clock.now_ms
        if node.desk is not None or member.barred:
            node.heard_ms = now_ms
        elif now_ms >= node.heard_ms + member.timeout_ms:
            self._campaign(member)
        self._tick_again(member)

    def _campaign(self, member: Member) -> None:
        node = member.node
        node.fetcher.stop()
        epoch = node.replica.epoch + 1
        node.sees(epoch)
        node.heard_ms = self._world.clock.now_ms
        member.timeout_ms = self._draw()
        votes_for(node.replica, epoch, node.name)
        member.candidacy = epoch
        member.granted = [node.name]
        if self._has_won(member):
            self._lead(member)
            return
        entry = last_entry(node.replica)
        for voter in self._voters:
            if voter != node.name:
                self._world.network.send(
                    node.name, voter, self._vote, self._members[voter], member, epoch, entry
                )

    def _has_won(self, member: Member) -> bool:
        return len(member.granted) > len(self._voters) // 2

    def _vote(self, member: Member, candidate: Member, epoch: int, entry: tuple[int, int]) -> None:
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
            epoch == replica.epoch
            and not member.barred
            and node.desk is None
            and is_free(replica, epoch, name, rules=node.rules)
            and not leader_known
            and grants_vote(replica, entry)
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
            if self._has_won(member):
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
        self._world.clock.after(self._half_timeout_ms, self._check, node, desk)

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
            member.timeout_ms = self._draw() + self._wait_ms
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
            if name in self._voters and name != node.name and silent_ms <= self._check_quorum_ms:
                heard += 1
            if silent_ms > self._half_timeout_ms and name not in desk.parked:
                self._announce(node, desk.epoch, name)
        if heard <= len(self._voters) // 2:
            self._resign(node)
        else:
            world.clock.after(self._half_timeout_ms, self._check, node, desk)

    def _resign(self, node: Node) -> None:
        node.resign()
        node.heard_ms = self._world.clock.now_ms
        self._members[node.name].timeout_ms = self._draw() + self._wait_ms

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
        """A replica without a disk forgot its vote, so it may not vote before it caught up."""
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
            member.timeout_ms = self._draw() + self._wait_ms
            self._tick_again(member)
        node.fetcher.ask()

    def cut_off(self, node: Node) -> None:
        """Nobody is told; timers notice."""

    def reconnected(self, node: Node) -> None:
        """Nobody is told; the next message says it."""

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """The leader resigns and names `node`, which campaigns at once (EndQuorumEpoch).

        There is no unclean election in this mode: only an up-to-date log can win.
        """
        del unclean
        leader = self._world.leading()
        member = self._members.get(node.name)
        if leader is None or leader is node or member is None or not node.replica.up:
            return False
        self._resign(leader)
        self._world.network.send(leader.name, node.name, self._end_of_epoch, member)
        return True

    def _end_of_epoch(self, member: Member) -> None:
        if member.node.replica.up and not member.barred and member.node.desk is None:
            self._campaign(member)

    def may_wipe(self, node: Node) -> bool:
        """Not while another voter has yet to recover from the loss of its own disk."""
        others = [m for name, m in self._members.items() if name != node.name]
        return len(others) > 1 and not any(member.barred for member in others)

    def fetched(self, leader: Node, follower: str) -> None:
        """Positions are all that counts in this mode."""

    def heard_epoch(self, node: Node, epoch: int) -> None:
        """A leader that meets a higher epoch stops leading."""
        self._learn(node, epoch)
