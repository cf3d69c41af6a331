"""Messages of the controller, of voters, and of the coordinator of removals.

Source of the coordinator: Redpanda's compaction_coordinator, PR 28087 and 29043.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class PartitionState(Struct, frozen=True, gc=False):
    """The controller's state of the partition (PartitionRegistration).

    Attributes:
        partition_epoch: Number of the state, which grows with every change and every request for
            one. A broker ignores a state that is not newer than its own.
        leader_epoch: Leader epoch.
        leader: Name of the leader; None without one.
        isr: The in-sync set.
        eligible: Broker epoch of each replica that is not fenced: only these may join the set. A
            leader admits a replica in that epoch alone (KIP-903).
        elr: Eligible leader replicas (KIP-966).
        last_known_leader: Name of the leader at the time when `isr` became empty, until another one
            is elected; None at other times.
        replicas: All replicas that the partition is assigned to.
    """

    partition_epoch: int
    leader_epoch: int
    leader: str | None
    isr: tuple[str, ...]
    eligible: Mapping[str, int]
    elr: tuple[str, ...] = ()
    last_known_leader: str | None = None
    replicas: tuple[str, ...] = ()


class BrokerRegistrationRequest(Struct, frozen=True, gc=False):
    """The registration of a broker that has started.

    Attributes:
        broker: Name of the broker.
        incarnation: Number of its starts, from 1 (Kafka's broker epoch).
    """

    broker: str
    incarnation: int


class BrokerHeartbeatRequest(Struct, frozen=True, gc=False):
    """The heartbeat of a broker.

    Attributes:
        broker: Name of the broker.
        incarnation: Number of its starts, from 1 (Kafka's broker epoch).
    """

    broker: str
    incarnation: int


class LeaderAndIsrRequest(Struct, frozen=True, gc=False):
    """The controller sends a broker the state of the partition, also as an answer to a leader.

    In KRaft a broker learns it from the metadata log (PartitionChangeRecord).

    Attributes:
        incarnation: Incarnation of the receiving broker; any other one ignores the message.
        state: State of the partition.
    """

    incarnation: int
    state: PartitionState


class AlterPartitionRequest(Struct, frozen=True, gc=False):
    """A leader asks for another in-sync set (KIP-497).

    Attributes:
        leader: Name of the leader.
        leader_epoch: The epoch it leads.
        partition_epoch: Partition epoch of the state that the request changes.
        new_isr: Names of the replicas of the requested set.
    """

    leader: str
    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[str, ...]


class VoteRequest(Struct, frozen=True, gc=False):
    """A candidate asks a voter for its vote.

    Attributes:
        candidate: Name of the candidate.
        epoch: The epoch it campaigns in; with `pre_vote` the one it is in.
        last_epoch: Newest epoch of its log, or of the snapshot that an empty log continues; -1 =
            neither is known.
        last_offset: Its log end offset (exclusive).
        pre_vote: True = would the voter grant its vote? Nothing is promised (KIP-996).
    """

    candidate: str
    epoch: int
    last_epoch: int
    last_offset: int
    pre_vote: bool = False


class VoteResponse(Struct, frozen=True, gc=False):
    """The answer of a voter to a candidate.

    Attributes:
        voter: Name of the voter.
        epoch: Highest epoch it has seen.
        granted: True when it votes for the candidate, or would.
        pre_vote: True for the answer to a pre-vote.
    """

    voter: str
    epoch: int
    granted: bool
    pre_vote: bool = False


class BeginQuorumEpochRequest(Struct, frozen=True, gc=False):
    """A leader announces itself; the fetch that follows is the answer, or a refusal.

    Attributes:
        leader: Name of the leader.
        epoch: The epoch it leads.
    """

    leader: str
    epoch: int


class BeginQuorumEpochResponse(Struct, frozen=True, gc=False):
    """The refusal of a replica that knows a later epoch (FENCED_LEADER_EPOCH).

    Attributes:
        epoch: Highest epoch it has seen, on a disk that it lost, too.
    """

    epoch: int


class EndQuorumEpochRequest(Struct, frozen=True, gc=False):
    """A leader has resigned.

    Attributes:
        epoch: The epoch it led.
        preferred_successors: The voters that are to stand for election, the first one at once, each
            later one after a longer pause (see `sim.protocol.replication.elections`).
    """

    epoch: int
    preferred_successors: tuple[str, ...]


class RemovalBounds(Struct, frozen=True, gc=False):
    """Below these offsets (exclusive) tombstones (MTRO) and markers (MXRO) may go."""

    tombstones: int = 0
    markers: int = 0


class RemovalReport(Struct, frozen=True, gc=False):
    """The report of a replica for coordinated removal; offsets are exclusive.

    Attributes:
        disk: Number of the disk that the report is about (`Replica.disk`).
        cleanly_compacted_offset: Below it each key is there at most once (MCCO).
        transaction_free_offset: Below it no data of a transaction is left (MXFO).
    """

    disk: int
    cleanly_compacted_offset: int
    transaction_free_offset: int


class RemovalBoundsRequest(Struct, frozen=True, gc=False):
    """The coordinator hands out the bounds and asks for a report.

    Attributes:
        leader: Name of the coordinating leader.
        epoch: The epoch it leads.
        bounds: Bounds of removal.
    """

    leader: str
    epoch: int
    bounds: RemovalBounds


class RemovalBoundsResponse(Struct, frozen=True, gc=False):
    """The answer of a replica that has stored the bounds, with its next report.

    Attributes:
        replica: Name of the replica.
        epoch: Epoch of the request.
        report: Its report.
    """

    replica: str
    epoch: int
    report: RemovalReport
