"""Elections by majority: the voters elect their leader themselves (KIP-595, Raft 5.2).

Each election timer of a replica has another random length; a vote is on disk before it is sent.
Without `pre_vote` a replica that was cut off disturbs the others when it is back (KIP-996).
Replicas that join later are observers, without a vote.
"""

from __future__ import annotations

from typing import Final

from simpy.events import ProcessGenerator, Timeout

from sim.protocol.replication import messages as of
from sim.protocol.replication.elections import answer_vote, last_entry, successors, votes_for, waits
from sim.simulate.cluster.broker import Membership
from sim.simulate.cluster.leader import LeaderState
from sim.simulate.cluster.node import Node

BACKOFF_MS: Final = 100
"""Unit in ms of the pauses of candidates (KafkaRaftClient.RETRY_BACKOFF_BASE_MS)."""

CHECK_QUORUM_FACTOR: Final = 1.5
"""Fetch timeouts after which a leader resigns that no majority fetches from (LeaderState)."""


class QuorumMembership(Membership):
    """A replica's part in elections by majority: a voter, or an observer without a vote.

    Attributes:
        voters: Names of the replicas that a majority is counted over.
        timeout_ms: Time in ms without a message from a leader after which a voter stands.
        candidacy: Epoch in which it campaigns; None while it is no candidate.
        prospect: Epoch in which it last asked for pre-votes; None before, and after a campaign.
        asked_ms: Time in ms at which it asked for pre-votes, or began a pause after a lost vote.
        granted: Names of the voters that grant their votes or pre-votes, its own included.
        refused: Names of the voters that refuse, in the epoch in which it campaigns.
        attempts: Number of campaigns in a row.
        loyal_until_ms: Time in ms (exclusive) until which it refuses pre-votes, since its turn to
            succeed the leader comes then; 0 without such a turn.
        barred_below: Offset that its log has to reach, after the loss of its disk, before it votes
            or campaigns, since its votes are forgotten; 0 without such a loss.
        promised: Highest epoch that a lost disk knew: the replica may have voted in it, and follows
            no earlier leader; 0 without such a loss.
        disks: Replica that got an empty disk -> its incarnation from then on, in place of the
            directory ids of voters (KIP-853).
    """

    def __init__(self, node: Node, voters: tuple[str, ...]) -> None:
        """Starts without a vote cast; the replica may vote if its name is in `voters`."""
        self._node = node
        self._random = node.context.random(f"elections {node.name}")
        timers = node.context.scenario.timers
        _, longest_ms = self._election_ms = timers.election_timeout_ms
        fetch_timeout_ms = timers.fetch_wait_ms + longest_ms
        self._wait_ms = timers.fetch_wait_ms
        self._check_quorum_ms = int(CHECK_QUORUM_FACTOR * fetch_timeout_ms)
        self._half_ms = max(1, fetch_timeout_ms // 2)
        self.voters = voters
        self.timeout_ms = 0
        self.candidacy: int | None = None
        self.prospect: int | None = None
        self.asked_ms = 0
        self.granted: list[str] = []
        self.refused: list[str] = []
        self.attempts = 0
        self.loyal_until_ms = 0
        self.barred_below = 0
        self.promised = 0
        self.disks: dict[str, int] = {}
        node.handlers[of.VoteRequest] = self._vote
        node.handlers[of.VoteResponse] = self._receive_vote
        node.handlers[of.BeginQuorumEpochRequest] = self._begin_epoch
        node.handlers[of.BeginQuorumEpochResponse] = self._hear_refusal
        node.handlers[of.EndQuorumEpochRequest] = self._end_epoch

    @property
    def barred(self) -> bool:
        """True while the replica has to catch up after the loss of its disk."""
        if self.barred_below and self._node.replica.log.log_end_offset >= self.barred_below:
            self.barred_below = 0
        return self.barred_below > 0

    @property
    def _due_ms(self) -> int:
        """Time in ms at which the replica stands for election, if it hears of no leader before."""
        return max(self._node.heard_ms, self.asked_ms) + self.timeout_ms

    def restarted(self) -> None:
        """Goes on leading if the rules say so, else follows the leader from before the restart."""
        node = self._node
        leadership = node.replica.leadership
        if leadership is not None:
            leader = node.resume_leading(leadership.epoch)
            for name, incarnation in self.disks.items():
                leader.forget(name, incarnation)
            leader.commit_what_is_known()
            self._announce_all(leader)
        self.wait_for_leader()
        if node.rules.election.epoch_storage == "memory":
            node.fetcher.stop()  # the leader is in the same file as its epoch (QuorumState)
        else:
            node.fetcher.resume()

    def crashed(self) -> None:
        """Forgets the candidacy and the turn to succeed a leader, which only memory held."""
        self.candidacy = None
        self.loyal_until_ms = 0

    def disk_lost(self, epoch: int) -> None:
        """Keeps the promise to follow no leader of an epoch before `epoch`, which the disk knew.

        In Kafka a replica with a new disk is no voter before the newest leader has added it: its
        directory id is another one (KIP-853).
        """
        self.promised = max(self.promised, epoch)

    def rebuilt(self, log_end_offset: int) -> None:
        """Bars the replica from voting until its log reaches `log_end_offset`, at least 1.

        One that is barred already, since it lost its disk, stays so up to that offset.
        """
        self.barred_below = max(1, log_end_offset, self.barred_below)

    def _draw(self) -> int:
        return max(1, self._random.randint(*self._election_ms))

    def wait_for_leader(self) -> None:
        """Starts the election timer of a voter."""
        self.timeout_ms = self._draw() + self._wait_ms
        if self._node.name in self.voters:
            self._node.processes.start(self._stand_without_a_leader(self._until_due()))

    def _until_due(self) -> Timeout:
        return self._node.env.timeout(max(1, self._due_ms - self._node.context.now_ms))

    def _stand_without_a_leader(self, due: Timeout) -> ProcessGenerator:
        """The process of a voter's election timer: stands when no leader was heard for too long."""
        node = self._node
        while True:
            yield due
            now_ms = node.context.now_ms
            if node.leader is not None or self.barred:
                node.heard_ms = now_ms
            elif now_ms >= self._due_ms:
                if self.candidacy is None or node.rules.election.election_backoff == "none":
                    self._stand()
                else:
                    self._back_off(self.candidacy)
            due = self._until_due()

    def _back_off(self, epoch: int) -> None:
        """Campaigns again after a random pause, whose bound doubles with each failed campaign.

        Source: KafkaRaftClient.binaryExponentialElectionBackoffMs, CandidateState.startBackingOff.
        """
        self.asked_ms = self._node.context.now_ms
        longest_ms = self._election_ms[1]
        pause_ms = BACKOFF_MS * self._random.randrange(1 << min(self.attempts, 21))
        again = self._campaign_again(epoch, max(1, min(pause_ms, longest_ms)))
        self._node.processes.start(again)
        self.timeout_ms = longest_ms + 1

    def _campaign_again(self, epoch: int, pause_ms: int) -> ProcessGenerator:
        yield self._node.env.timeout(pause_ms)
        if self.candidacy == epoch == self._node.replica.epoch and not self.barred:
            self.campaign()

    def _stand(self) -> None:
        """Campaigns; with `pre_vote` first asks which voters would vote for it (KIP-996).

        A candidate is none any more while it asks: late votes for it do not count.
        """
        node = self._node
        if not node.rules.election.pre_vote:
            self.campaign()
            return
        self.asked_ms = node.context.now_ms
        self.timeout_ms = self._draw()
        self.candidacy = None
        self.prospect = epoch = node.replica.epoch
        self._ask_for_votes(epoch, pre_vote=True)

    def campaign(self) -> None:
        """Votes for itself in the next epoch, and asks the other voters for their votes."""
        node = self._node
        node.fetcher.stop()
        epoch = node.replica.epoch + 1
        node.sees(epoch)
        node.heard_ms = node.context.now_ms
        self.timeout_ms = self._draw()
        votes_for(node.replica, epoch, node.name)
        self.attempts = 1 if self.candidacy is None else self.attempts + 1
        self.candidacy = epoch
        self.prospect = None
        self.refused = []
        self._ask_for_votes(epoch, pre_vote=False)

    def _ask_for_votes(self, epoch: int, *, pre_vote: bool) -> None:
        """Counts its own vote or pre-vote, and asks the other voters for theirs."""
        node = self._node
        self.granted = []
        self._count(node.name, epoch, pre_vote=pre_vote)
        last_epoch, last_offset = last_entry(node.replica)
        request = of.VoteRequest(node.name, epoch, last_epoch, last_offset, pre_vote)
        for voter in self.voters:
            if voter != node.name:
                node.send(voter, request)

    def _vote(self, request: of.VoteRequest) -> None:
        """Answers a request for a vote, unless the replica is an observer; stores a granted vote.

        Source: KafkaRaftClient.handleVoteRequest.
        """
        node, replica = self._node, self._node.replica
        if node.name not in self.voters:
            return
        epoch, fetcher = request.epoch, node.fetcher
        if epoch > replica.epoch:
            self.heard_epoch(epoch)
        now_ms = node.context.now_ms
        # A lost disk may have held a vote in the epoch; a pre-vote was never on it, and binds none.
        may_have_voted = epoch <= self.promised and not request.pre_vote
        response = answer_vote(
            replica,
            request,
            leader_known=fetcher.leader is not None and fetcher.epoch == epoch,
            heard_lately=self._is_loyal(now_ms),
            barred=self.barred or may_have_voted,
            rules=node.rules,
        )
        if response.granted and not request.pre_vote:
            node.heard_ms = now_ms
        node.send(request.candidate, response)

    def _is_loyal(self, now_ms: int) -> bool:
        """True while the replica refuses pre-votes: it waits for its leader, or for its own turn.

        Source: FollowerState.canGrantVote.
        """
        if now_ms < self.loyal_until_ms:
            return True
        fetcher, heard_ms = self._node.fetcher, self._node.heard_ms
        following = fetcher.leader is not None and fetcher.fetched
        return following and now_ms < heard_ms + self._wait_ms + self._election_ms[0]

    def _receive_vote(self, response: of.VoteResponse) -> None:
        """Counts the answer of another voter; a refusal in a later epoch ends the campaign."""
        node, epoch = self._node, response.epoch
        own = node.replica.epoch
        if epoch > own and not response.granted:
            self.heard_epoch(epoch)
        if response.pre_vote:
            counts = self.prospect == epoch == own and node.heard_ms <= self.asked_ms
        else:
            counts = self.candidacy == epoch == own
        if counts and response.granted:
            self._count(response.voter, epoch, pre_vote=response.pre_vote)
        elif counts and not response.pre_vote:
            self._refuse(response.voter, epoch)

    def _count(self, voter: str, epoch: int, *, pre_vote: bool) -> None:
        """Counts a vote; with a majority the replica leads, or after pre-votes campaigns."""
        if voter not in self.granted:
            self.granted.append(voter)
        if sum(name in self.voters for name in self.granted) <= len(self.voters) // 2:
            return
        if pre_vote:
            self.campaign()
        else:
            self.candidacy = None
            self._announce_all(self._node.lead(epoch, isr=self.voters, replicas=self.voters))

    def _refuse(self, voter: str, epoch: int) -> None:
        """Counts a refusal; a candidate that cannot win any more starts its pause."""
        if voter in self.refused or voter not in self.voters:
            return
        self.refused.append(voter)
        lost_now = len(self.voters) - len(self.refused) == len(self.voters) // 2
        if lost_now and self._node.rules.election.election_backoff == "exponential":
            self._back_off(epoch)

    def heard_epoch(self, epoch: int) -> None:
        """Moves to a higher epoch, whose leader is not known yet."""
        self.loyal_until_ms = 0
        self._node.sees(epoch)
        self._node.fetcher.stop()
        self.candidacy = None

    def _announce_all(self, leader: LeaderState) -> None:
        """Announces the new leader, and begins to check whether a majority follows it."""
        for name in self._others():
            self.announce(name)
        leader.processes.start(self._check_quorum(leader))

    def announce(self, name: str) -> None:
        """Announces to a replica that this one leads."""
        node = self._node
        node.send(name, of.BeginQuorumEpochRequest(node.name, node.replica.epoch))

    def _begin_epoch(self, request: of.BeginQuorumEpochRequest) -> None:
        """Follows the leader of an epoch, or tells it a later one, known even if by a lost disk.

        Source: KafkaRaftClient.handleBeginQuorumEpochRequest.
        """
        node, epoch = self._node, request.epoch
        newest = max(node.replica.epoch, self.promised)
        if epoch < newest:
            node.send(request.leader, of.BeginQuorumEpochResponse(newest))
            return
        if epoch > node.replica.epoch:
            self.heard_epoch(epoch)
        node.heard_ms = node.context.now_ms
        self.candidacy = None
        self.loyal_until_ms = 0
        self.timeout_ms = self._draw() + self._wait_ms
        fetcher = node.fetcher
        if fetcher.leader != request.leader or fetcher.epoch != epoch:
            node.resign()  # where votes do not bind, an epoch may have two leaders
            fetcher.follow(request.leader, epoch)

    def _hear_refusal(self, response: of.BeginQuorumEpochResponse) -> None:
        """Leads no more when a replica knows a later epoch.

        Source: KafkaRaftClient.handleBeginQuorumEpochResponse.
        """
        if response.epoch > self._node.replica.epoch:
            self.heard_epoch(response.epoch)

    def _check_quorum(self, leader: LeaderState) -> ProcessGenerator:
        """The process of a leader that checks whether a majority still fetches from it."""
        while True:
            yield self._node.env.timeout(self._half_ms)
            heard = 1 + sum(self._is_heard(leader, name) for name in self._others())
            if heard <= len(self.voters) // 2 and self._node.rules.election.check_quorum:
                self._resign()
                return

    def _others(self) -> list[str]:
        return [name for name in self._node.network.replicas() if name != self._node.name]

    def _is_heard(self, leader: LeaderState, name: str) -> bool:
        """True when a replica counts for the quorum; announces the leader to one that is silent."""
        now_ms = self._node.context.now_ms
        progress = leader.progress.get(name)
        silent_ms = now_ms - progress.contact_ms if progress is not None else now_ms
        if silent_ms > self._half_ms and name not in leader.fetches.waiting:
            self.announce(name)
        return name in self.voters and silent_ms <= self._check_quorum_ms

    def _resign(self) -> None:
        node = self._node
        node.resign()
        node.heard_ms = node.context.now_ms
        self.timeout_ms = self._draw() + self._wait_ms

    def hand_over(self, preferred: str) -> bool:
        """Resigns on the request of an administrator, and names successors; False if it may not.

        With `successors: named` that is `preferred` alone; with `by_offset` all voters by how far
        they have fetched, `preferred` first among equals. It may not if it does not lead, or if
        `preferred`, under `named`, is no other voter. There is no unclean election in this mode:
        only an up-to-date log can win.
        """
        node, leadership = self._node, self._node.replica.leadership
        if node.leader is None or leadership is None:
            return False
        named = node.rules.election.successors == "named"
        ordered = [preferred] if named else successors(leadership, node.name, preferred)
        heirs = tuple(name for name in ordered if name in self.voters and name != node.name)
        if named and not heirs:
            return False
        self._resign()
        request = of.EndQuorumEpochRequest(leadership.epoch, heirs)
        for name in heirs:
            node.send(name, request)
        return True

    def _end_epoch(self, request: of.EndQuorumEpochRequest) -> None:
        """Stands for election after the leader resigned, when it is this replica's turn."""
        node = self._node
        if node.name not in self.voters or self.barred or request.epoch < node.replica.epoch:
            return
        if request.epoch > node.replica.epoch:
            self.heard_epoch(request.epoch)
        if node.rules.election.successors == "named":
            if node.leader is None:
                self.campaign()
            return
        turns = dict(waits(request.preferred_successors, self._election_ms[1]))
        if node.fetcher.leader is not None and node.fetcher.fetched:
            self.loyal_until_ms = node.context.now_ms + turns[node.name]
        node.fetcher.stop()
        node.processes.start(self._succeed(request.epoch, turns[node.name]))

    def _succeed(self, epoch: int, turn_ms: int) -> ProcessGenerator:
        """Stands when it is this replica's turn, unless another one leads by then."""
        node = self._node
        yield node.env.timeout(turn_ms)
        vacant = node.replica.epoch == epoch and node.fetcher.leader is None
        if vacant and node.leader is None and not self.barred:
            self._stand()
