"""Votes and pre-votes, judged by what a voter has had on its disks and heard of leaders.

* A voter that lost its disk grants nothing, and does not campaign, before its log has reached what
  was committed when the disk went, or what it had acknowledged when it was rebuilt (KIP-853).
* A pre-vote is granted by a log that is not ahead, and not by a follower that has lately heard of
  its leader (KIP-996, FollowerState.hasFetchedFromLeader).
* A vote or pre-vote that nothing speaks against is granted (Raft 5.2, 5.4.1).
* A replica that has restarted waits for an election timeout before it asks for votes, unless a
  leader that resigned told it to stand (Raft 5.2, QuorumState.initialize).
* Nobody campaigns against a leader of whom it has just heard (Raft 5.2). An answer names the newest
  epoch that the voter knows, and in that one it fetches from who was elected in it (Raft 5.1); an
  observer may ask who leads (KafkaRaftClient.maybeSendFetchToAnyBootstrap).
"""

from __future__ import annotations

from typing import Any

from sim.protocol.events import (
    Event,
    LeaderElected,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
)
from sim.protocol.events.cluster import REBUILT
from sim.protocol.replication import messages as of
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership
from tests.audits.sending import WITHOUT_ERROR, Answers, Failed


class Votes(Answers):
    """The answers of voters, and the campaigns of candidates."""

    def __init__(self, cluster: Cluster, failed: Failed) -> None:
        """Starts with voters that have heard of no leader and have lost no disk."""
        super().__init__(cluster, failed)
        timers = cluster.context.scenario.timers
        self._shortest_ms, self._turn_ms = timers.election_timeout_ms
        self._loyal_ms = timers.fetch_wait_ms + self._shortest_ms
        self._acknowledged: dict[str, int] = {}
        self._owed: dict[str, int] = {}
        self._crashed_in: dict[str, int] = {}
        self._promised: dict[str, int] = {}
        self._asked: dict[str, of.VoteRequest] = {}
        self._heard: dict[str, tuple[str, int, int]] = {}
        self._told_to_stand_ms: dict[str, int] = {}
        self._restarted_ms: dict[str, int] = {}
        self._elected: set[tuple[str, int]] = set()
        self._ran_out_ms: dict[str, int] = {}

    def after(self, event: Event) -> None:
        """Notes what was on a disk that is gone."""
        super().after(event)
        if isinstance(event, ReplicaWiped):
            name, had = event.replica, self.committed
            if event.reason == REBUILT:
                had = self._acknowledged.get(event.replica, 0)
            else:
                knew = self._crashed_in.get(name, 0)
                self._promised[name] = max(knew, self._promised.get(name, 0))
            self._owed[name] = max(1, had, self._owed.get(name, 0))
            self._heard.pop(name, None)
        elif isinstance(event, ReplicaCrashed):
            self._crashed_in[event.replica] = event.epoch
            self._heard.pop(event.replica, None)
            self._told_to_stand_ms.pop(event.replica, None)
        elif isinstance(event, ReplicaRestarted):
            self._restarted_ms[event.replica] = self.context.now_ms
        elif isinstance(event, LeaderElected):
            self._elected.add((event.replica, event.epoch))

    def receives(self, name: str, message: Any, *, overdue: bool) -> None:
        """Notes who is asked for a vote, and who hears of a leader."""
        node, now_ms = self.nodes[name], self.context.now_ms
        if isinstance(message, of.VoteRequest):
            self._asked[name] = message
        elif isinstance(message, of.EndQuorumEpochRequest):
            self._told_to_stand_ms[name] = now_ms
            if message.epoch >= node.replica.epoch:  # its leader is none any more
                self._heard.pop(name, None)
        elif (
            isinstance(message, of.FetchResponse)
            and not overdue  # on a connection that is closed
            and message.answer in WITHOUT_ERROR
            and message.correlation_id == node.fetcher.number
            and not node.fetcher._answer.triggered  # else time ran out in this millisecond
        ):
            self._heard[name] = (message.leader, message.epoch, now_ms)

    def sent(self, source: str, target: str, message: Any) -> None:
        """Judges a vote, a refusal, or a campaign."""
        if self.rules.replication.commit == "isr":
            return
        if isinstance(message, of.FetchRequest):
            self._acknowledged[source] = message.offset
            self._owes(source)
            member = self.nodes[source].membership
            votes = isinstance(member, QuorumMembership) and source in member.voters
            if votes and (target, message.epoch) not in self._elected:
                self.wrong(source, f"fetches in epoch {message.epoch} from", target, "its leader")
            promised = self._promised.get(source, 0)
            if message.epoch < promised:
                what = "fetches, though its lost disk knew a later epoch, in epoch"
                self.wrong(source, what, message.epoch, promised)
        elif isinstance(message, of.VoteRequest):
            self.wrong(source, "asks for votes and lacks records below", self._owes(source), 0)
            self._waited(source)
            if message.pre_vote or not self.rules.election.pre_vote:
                self._ran_out_ms[source] = self.context.now_ms
            leader, epoch, at_ms = self._heard.get(source, ("", -1, 0))
            if epoch + (not message.pre_vote) == message.epoch:
                ago_ms = self.context.now_ms - at_ms
                lately = f"{ago_ms} ms after an answer of {leader}"
                # What came first in the millisecond in which its time ran out, or the last vote
                # arrived, is not known.
                ran_out_ms = self._ran_out_ms.get(source)
                heard = 0 < ago_ms < self._shortest_ms and at_ms != ran_out_ms
                self.wrong(source, "asks for votes", heard and lately, False)
        elif isinstance(message, of.VoteResponse):
            self.wrong(source, "votes in epoch", message.epoch, self.nodes[source].replica.epoch)
            if source in self._asked:
                self._judge(self.nodes[source], self._asked.pop(source), message)

    def _waited(self, name: str) -> None:
        up_ms = self.context.now_ms - self._restarted_ms.get(name, -self._loyal_ms)
        if up_ms < self._loyal_ms and name not in self._told_to_stand_ms:
            self.wrong(name, "asks for votes", f"{up_ms} ms after a restart", "it waits")

    def _owes(self, name: str) -> int:
        """Up to where a replica lacks what its lost disk had (exclusive); 0 = it lacks nothing."""
        owed = self._owed.get(name, 0)
        if owed and self.nodes[name].replica.log.log_end_offset >= owed:
            owed = self._owed[name] = 0
        return owed

    def _judge(self, node: Node, asked: of.VoteRequest, vote: of.VoteResponse) -> None:
        name, owed = node.name, self._owes(node.name)
        what = f"{'pre-vote' if vote.pre_vote else 'vote'} for {asked.candidate}"
        if vote.granted:
            self.wrong(name, f"{what} while it lacks records below", owed, 0)
            self.wrong(name, f"{what}, whose log is behind", _is_behind(node, asked), False)
            if vote.pre_vote:
                self.wrong(name, f"{what} while it follows", self._follows(node), None)
        elif not owed and self._nothing_speaks_against(node, asked):
            self.wrong(name, what, "refused", "granted")

    def _follows(self, node: Node) -> str | None:
        """The leader of which a follower has heard so lately that it waits for it."""
        heard, fetcher = self._heard.get(node.name), node.fetcher
        if heard is None or fetcher.leader is None:
            return None
        leader, epoch, at_ms = heard
        still = (fetcher.leader, fetcher.epoch) == (leader, epoch)
        lately = at_ms < self.context.now_ms < at_ms + self._loyal_ms
        return leader if still and lately else None

    def _nothing_speaks_against(self, node: Node, asked: of.VoteRequest) -> bool:
        replica, fetcher, vote = node.replica, node.fetcher, node.replica.vote
        log = (replica.last_fetched_epoch, replica.log.log_end_offset)
        if asked.epoch != replica.epoch or replica.leadership is not None or node.leader:
            return False
        if (asked.last_epoch, asked.last_offset) < log or fetcher.leader is not None:
            return False
        if asked.pre_vote:
            told_ms = self._told_to_stand_ms.get(node.name)
            return told_ms is None or self.context.now_ms - told_ms > self._turn_ms
        if asked.epoch <= self._promised.get(node.name, 0):  # a lost disk may have held a vote
            return False
        return vote is None or vote[0] < asked.epoch or vote[1] == asked.candidate


def _is_behind(node: Node, asked: of.VoteRequest) -> bool:
    """Decides whether a candidate's log is behind the batches of a voter."""
    log = node.replica.log
    last = log.last_batch()
    epoch = -1 if last is None else last.epoch
    return asked.last_epoch < epoch or (
        asked.last_epoch == epoch and asked.last_offset < log.log_end_offset
    )
