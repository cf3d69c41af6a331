"""What a message may not do, judged by what is true of it, whatever its receiver asks of it.

A broker goes by guards: the number of its request, an epoch, which life a fetch was sent in. A
guard that is missing shows only where something comes of it, perhaps much later. So somebody who
sees everybody says of each message whether it is out of date for its receiver, and looks whether
what it speaks of is afterwards as it was before:

* An answer to a request of an earlier life, or to one that is not the last; of an epoch that the
  follower has left; for another offset than its log ends at
  (AbstractFetcherThread.processFetchRequest, KafkaRaftClient.maybeHandleCommonResponse). A chunk of
  another snapshot, of another leader or at another position
  (KafkaRaftClient.handleFetchSnapshotResponse).
* A fetch of an earlier life than one that the leader has given records, or of a lost disk (KIP-903,
  KIP-853); one that a later one of that life has overtaken, where fetches have sessions (KIP-227).
* A vote for a candidacy that is over, or whose candidate asks for pre-votes again
  (KafkaRaftClient.handleVoteResponse); a request for a vote that the voter may not grant (Raft 5.2,
  5.4.1); the word of a leader of an older epoch; a refusal that tells a leader of no later one.
* A state of the partition that is older than one the broker was told, or meant for an earlier life
  (KIP-841); a change of the in-sync set from another leader, or from another state (KIP-497);
  registrations and heartbeats of an earlier life (KIP-631).
* A client whom a replica refuses, ten times in a row and for a second, while the same other one
  leads: it would have to ask that (Metadata, after NOT_LEADER_OR_FOLLOWER). What comes late was
  sent before.
* A write that wants all acknowledgements while the controller has confirmed fewer replicas than
  `min.insync.replicas` (Partition.appendRecordsToLeader), or to somebody who does not lead.

What is legal by a rule (`fencing`, `response_fencing`, `vote_storage`) is not judged. Nor is a
leader that was told that nobody leads: it leads on until it hears of a successor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sim.protocol.replication import messages as of
from sim.protocol.replication.messages import PartitionState
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.controller import Controller, IsrMembership
from sim.simulate.cluster.network import CONTROLLER, Receive
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership
from tests.audits.sending import Answers, Failed

Judge = Callable[[Node, "Seen", Any], str]
"""Says why a message is out of date for a replica; empty = it is not."""

Look = Callable[[Node, Any], object]
"""What a message that is out of date leaves as it was."""


@dataclass(slots=True)
class Seen:
    """What is true of one replica, as messages and events have shown it.

    Attributes:
        last_number: The number of its last request before its last crash.
        told: The newest state of the partition that it was told.
        probes: Whether it asked for pre-votes when it last asked for votes.
        leads: The epoch in which it was heard from as a leader.
        heard_ms: Follower -> when something came of it last in that epoch.
    """

    last_number: int = 0
    told: int = 0
    probes: bool = False
    leads: int = -1
    heard_ms: dict[str, int] = field(default_factory=dict)

    def leads_in(self, epoch: int) -> None:
        """Forget what was heard as the leader of another epoch."""
        if self.leads != epoch:
            self.leads, self.heard_ms = epoch, {}


class Witness(Answers):
    """Looks at every replica, and at the controller, before and after messages.

    Attributes:
        seen: Name of a replica -> what is true of it.
        told: Called with each state of the partition that a broker is told; None = nobody asks.
    """

    def __init__(self, cluster: Cluster, failed: Failed) -> None:
        """Starts before any message has come."""
        super().__init__(cluster, failed)
        self._cluster = cluster
        self.seen = defaultdict[str, Seen](Seen)
        self.told: Callable[[PartitionState], None] | None = None
        self._refused: dict[str, tuple[str, str, int, int]] = {}
        self._out_of_date = ""
        self._before: object = None

    def sent(self, source: str, target: str, message: Any) -> None:
        """Notes what a candidate asks for."""
        if type(message) is of.VoteRequest:
            self.seen[source].probes = message.pre_vote

    def receives(self, name: str, message: Any, *, overdue: bool) -> None:
        """Judges whether a message is out of date, and notes what it speaks of."""
        node = self.nodes[name]
        judge, look = _AT_BROKERS.get(type(message), _NOBODY)
        if type(message) in _OF_CLIENTS and getattr(message, "leader_only", True) and not overdue:
            self._asked(node, message.client_id)
        why = "" if judge is None else judge(node, self.seen[name], message)
        if type(message) is of.LeaderAndIsrRequest and self.told is not None:
            self.told(message.state)
        # Links keep no order: in time, a fetch of before a new leader may come after the next.
        self._out_of_date = "" if why is _OVERTAKEN and not overdue else why
        self._before = look(node, message) if self._out_of_date else None

    def handled(self, name: str, message: Any) -> None:
        """Compares that with what it is now, and the work of a leader with its epoch."""
        node, kind = self.nodes[name], type(message)
        answer = node.fetcher._answer
        if kind in _OF_LEADERS and answer.callbacks and answer.triggered:
            if answer.value is message:
                self._watch(node, message)
        elif self._out_of_date:
            _, look = _AT_BROKERS.get(kind, _NOBODY)
            what = f"{kind.__name__} {self._out_of_date}"
            self._compare(node, what, self._before, look(node, message))
        leader, leadership = node.leader, node.replica.leadership
        follows = leader is None and leadership is None
        if not follows and (
            leader is None
            or leadership is None
            or not (leader.epoch == leadership.epoch >= node.replica.epoch)
        ):
            self._leads_otherwise(node)

    def _watch(self, node: Node, message: Any) -> None:
        """Compares around the step in which a follower acts on an answer that it has taken."""
        judge, look = _AT_BROKERS[type(message)]
        assert judge is not None
        assert node.fetcher._answer.callbacks is not None
        known: list[tuple[str, object]] = []

        def before(_: Any) -> None:
            why = judge(node, self.seen[node.name], message) if node.replica.up else ""
            known.append((why, look(node, message)))

        def after(_: Any) -> None:
            why, was = known[0]
            if why:
                self._compare(node, f"{type(message).__name__} {why}", was, look(node, message))

        node.fetcher._answer.callbacks[:] = [before, *node.fetcher._answer.callbacks, after]

    def _asked(self, node: Node, client: str) -> None:
        """A client asks a replica for what leaders alone do."""
        leader = self.context.leader
        if node.leader is not None or leader is None or leader[1] == node.name:
            self._refused.pop(client, None)
            return
        now_ms = self.context.now_ms
        name, leads, count, since_ms = self._refused.get(client, ("", "", 0, now_ms))
        if (name, leads) != (node.name, leader[1]):
            count, since_ms = 0, now_ms
        self._refused[client] = node.name, leader[1], count + 1, since_ms
        if count >= _REFUSALS and now_ms - since_ms >= _REFUSED_MS:
            self.failed(node.name, "decision", f"refuses {client}", "again", f"it asks {leader[1]}")

    def _compare(self, node: Node, what: str, before: object, after: object) -> None:
        """Nothing has come of a message that is out of date, but that something was given up."""
        is_less = isinstance(before, frozenset) and isinstance(after, frozenset) and after <= before
        if after != before and not is_less:
            self.failed(node.name, "message", what, after, before)

    def _leads_otherwise(self, node: Node) -> None:
        """It does the work of a leader of one epoch, and is one of another, or of none."""
        leader, leadership, epoch = node.leader, node.replica.leadership, node.replica.epoch
        if node.rules.replication.fencing:
            works = "nothing" if leader is None else f"epoch {leader.epoch}"
            leads = "nothing" if leadership is None else f"epoch {leadership.epoch}"
            told = f"it leads {leads} and has seen epoch {epoch}"
            self.failed(node.name, "decision", "leads", works, told)

    def to_controller(self, receive: Receive, message: Any) -> None:
        """Hands a message on to the controller, and judges what comes of it."""
        controller = self._cluster.elections
        assert isinstance(controller, Controller)
        before = controller.state
        why = _out_of_date_for_controller(before, message)
        receive(message)
        after = controller.state
        if after.partition_epoch <= before.partition_epoch and type(message) in _ASKING:
            what = f"is asked for the in-sync set {message.new_isr}"
            self.failed(CONTROLLER, "decision", what, "its state stays", "a newer one answers")
        if why and (after.isr, after.eligible, after.leader) != (
            before.isr,
            before.eligible,
            before.leader,
        ):
            what = f"{type(message).__name__} {why}"
            self.failed(CONTROLLER, "message", what, after, before)


_ASKING: Final = {of.AlterPartitionRequest}


def _out_of_date_for_controller(state: PartitionState, message: Any) -> str:
    if isinstance(message, of.AlterPartitionRequest):
        if (message.leader, message.leader_epoch) != (state.leader, state.leader_epoch):
            return "of another leader"
        if message.partition_epoch != state.partition_epoch:
            return "from another state"
        return "" if {*message.new_isr} <= {*state.eligible} else "with a fenced replica"
    known = state.eligible.get(message.broker, 0)
    return "of an earlier life" if message.incarnation < known else ""


def _earlier_life(node: Node, seen: Seen, response: Any) -> str:
    if response.correlation_id <= seen.last_number:
        return "to an earlier life"
    return "to an earlier request" if response.correlation_id != node.fetcher.number else ""


def _fetch_response(node: Node, seen: Seen, response: of.FetchResponse) -> str:
    replication, replica = node.rules.replication, node.replica
    if not replication.response_fencing:
        return "to an earlier life" if response.correlation_id <= seen.last_number else ""
    if response.epoch < replica.epoch and replication.fencing:
        return "of an earlier epoch"
    elsewhere = response.fetch_offset != replica.log.log_end_offset
    if elsewhere and response.epoch <= replica.epoch:
        return "to a fetch at another offset"
    return _earlier_life(node, seen, response)


def _all_of_it(node: Node, _message: Any) -> object:
    """What a message could change of a replica that does not lead."""
    replica, fetcher, log, member = node.replica, node.fetcher, node.replica.log, node.membership
    leadership, download = replica.leadership, replica.download
    return (
        (log.log_start_offset, log.log_end_offset, log.high_watermark, replica.disk),
        (replica.epoch, replica.vote, fetcher.leader, fetcher.epoch),
        None if leadership is None else (leadership.epoch, leadership.isr),
        None if download is None else (download.id, download.position),
        (replica.removal_bound, replica.marker_removal_bound),
        member.state if isinstance(member, IsrMembership) else None,
    )


def _chunk(node: Node, seen: Seen, response: of.FetchSnapshotResponse) -> str:
    why, download = _earlier_life(node, seen, response), node.replica.download
    if why:
        return why
    if download is None:
        return "that nobody has asked for"
    if (response.leader, response.epoch) != (download.leader, download.leader_epoch):
        return ""  # the download is given up, as it has to be
    asked = (download.id, download.position)
    return "of another place" if (response.id, response.position) != asked else ""


def _downloaded(node: Node, _response: of.FetchSnapshotResponse) -> object:
    """What has arrived; a download that is given up takes that with it."""
    replica, download = node.replica, node.replica.download
    held = {("end", replica.log.log_end_offset), ("snapshots", len(replica.snapshots))}
    return frozenset(held if download is None else held | {("arrived", download.position)})


def _fetch(node: Node, seen: Seen, request: of.FetchRequest) -> str:
    leader = node.leader
    if leader is None:
        return ""
    seen.leads_in(leader.epoch)
    if request.epoch < leader.epoch and node.rules.replication.fencing:
        return "of an earlier epoch"
    seen.heard_ms[request.follower] = node.context.now_ms
    known = leader.progress.get(request.follower)
    if known is None or request.replica_epoch > known.replica_epoch:
        return ""
    if request.replica_epoch < known.replica_epoch:
        return "of an earlier life"
    overtaken = request.correlation_id <= known.newest
    return _OVERTAKEN if overtaken and node.rules.replication.commit == "isr" else ""


def _believed(node: Node, request: of.FetchRequest) -> object:
    leadership, leader = node.replica.leadership, node.leader
    if leadership is None or leader is None:
        return None
    waits = leader.fetches.waiting.get(request.follower)
    number = None if waits is None else waits.correlation_id
    return leadership.positions.get(request.follower), request.follower in leadership.isr, number


def _contact(node: Node, seen: Seen, request: Any) -> str:
    """Another question of a follower, by which its leader hears of it."""
    if node.leader is not None:
        seen.leads_in(node.leader.epoch)
        seen.heard_ms[request.follower] = node.context.now_ms
    return ""


def _vote_request(node: Node, _seen: Seen, request: of.VoteRequest) -> str:
    replica, epoch = node.replica, request.epoch
    if request.pre_vote:
        return "that asks for no vote"
    if epoch < replica.epoch:
        return "of an earlier epoch"
    latest = replica.last_fetched_epoch, replica.log.log_end_offset
    if (request.last_epoch, request.last_offset) < latest:
        return "of one whose log is behind"
    if epoch > replica.epoch or node.rules.election.vote_storage == "none":
        return ""
    if node.leader is not None or (node.fetcher.leader and node.fetcher.epoch == epoch):
        return "in an epoch that has a leader"
    vote = replica.vote
    voted = vote is not None and vote[0] == epoch and vote[1] != request.candidate
    return "of another candidate than it has voted for" if voted else ""


def _vote_of(node: Node, _request: of.VoteRequest) -> object:
    return node.replica.vote, node.heard_ms


def _vote_response(node: Node, seen: Seen, response: of.VoteResponse) -> str:
    if response.pre_vote or not response.granted:
        return ""
    campaigns = node.replica.vote == (response.epoch, node.name) and not seen.probes
    return "" if campaigns and response.epoch == node.replica.epoch else "of another candidacy"


def _granted(node: Node, _response: of.VoteResponse) -> object:
    member = node.membership
    assert isinstance(member, QuorumMembership)
    return len(member.granted), node.leader is not None


def _word_of_a_leader(node: Node, _seen: Seen, request: Any) -> str:
    stale = request.epoch < node.replica.epoch and node.rules.replication.fencing
    return "of an earlier epoch" if stale else ""


def _refusal(node: Node, _seen: Seen, response: of.BeginQuorumEpochResponse) -> str:
    return "of no later epoch" if response.epoch <= node.replica.epoch else ""


def _state(node: Node, seen: Seen, request: of.LeaderAndIsrRequest) -> str:
    if request.incarnation != node.incarnation:
        return "to an earlier life"
    if request.state.partition_epoch <= seen.told:
        return "that is older"
    seen.told = request.state.partition_epoch
    return ""


def _write(node: Node, _seen: Seen, request: Any) -> str:
    if node.leader is None:
        return "to somebody who does not lead"
    member = node.membership
    state = member.state if isinstance(member, IsrMembership) else None
    if state is None or state.leader != node.name:
        return ""
    if isinstance(request, of.ProduceRequest) and request.acks != of.ACKS_ALL:
        return ""
    few = len(state.isr) < node.rules.topic.min_isr
    return "with too few in-sync replicas" if few else ""


def _log_end(node: Node, _request: Any) -> object:
    return node.replica.log.log_end_offset


_OVERTAKEN: Final = "that was overtaken"


def _consumer_fetch(node: Node, _seen: Seen, request: of.ConsumerFetchRequest) -> str:
    waits = node.consumers.waiting.get(request.client_id)
    overtaken = waits is not None and waits.correlation_id > request.correlation_id
    return "older than the one that waits" if overtaken else ""


def _waits(node: Node, request: of.ConsumerFetchRequest) -> object:
    waits = node.consumers.waiting.get(request.client_id)
    return None if waits is None else waits.correlation_id


_REFUSALS: Final = 10
_REFUSED_MS: Final = 1_000
_OF_CLIENTS: Final = {of.ProduceRequest, of.WriteTxnMarkersRequest, of.ConsumerFetchRequest}
_OF_LEADERS: Final = {
    of.FetchResponse,
    of.FetchSnapshotResponse,
    of.OffsetsForLeaderEpochResponse,
}
_NOBODY: tuple[Judge | None, Look] = (None, _log_end)

_AT_BROKERS: Mapping[type, tuple[Judge | None, Look]] = {
    of.FetchResponse: (_fetch_response, _all_of_it),
    of.FetchSnapshotResponse: (_chunk, _downloaded),
    of.OffsetsForLeaderEpochResponse: (_earlier_life, _all_of_it),
    of.FetchRequest: (_fetch, _believed),
    of.FetchSnapshotRequest: (_contact, _log_end),
    of.OffsetsForLeaderEpochRequest: (_contact, _log_end),
    of.VoteRequest: (_vote_request, _vote_of),
    of.VoteResponse: (_vote_response, _granted),
    of.BeginQuorumEpochRequest: (_word_of_a_leader, _all_of_it),
    of.BeginQuorumEpochResponse: (_refusal, _all_of_it),
    of.EndQuorumEpochRequest: (_word_of_a_leader, _all_of_it),
    of.RemovalBoundsRequest: (_word_of_a_leader, _all_of_it),
    of.LeaderAndIsrRequest: (_state, _all_of_it),
    of.ProduceRequest: (_write, _log_end),
    of.WriteTxnMarkersRequest: (_write, _log_end),
    of.ConsumerFetchRequest: (_consumer_fetch, _waits),
}
