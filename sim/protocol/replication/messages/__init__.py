"""The messages between replicas, clients and the controller, by Kafka's own names.

A message is an immutable value: it holds no replica, no log and no function. A receiver knows of
its sender only what the message says. The messages of clients and of followers are here; those of
the controller, of voters and of the coordinator of removals are in `control`.

Sources: KIP-101, KIP-279, KIP-595, KIP-630.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from sim.protocol.log import AbortedTransaction, Batch, Record
from sim.protocol.log.epochs import EpochEnd, EpochEntry
from sim.protocol.replication.messages.control import *


class ErrorCode(StrEnum):
    """The error of a response; `NONE` = the request was done."""

    NONE = "NONE"
    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    """The request's leader epoch is below that of the replica asked."""
    INVALID_PRODUCER_EPOCH = "INVALID_PRODUCER_EPOCH"
    """The producer has a newer epoch (KIP-98), or a marker needs a newer one (KIP-1228)."""
    INVALID_RECORD = "INVALID_RECORD"
    """A record is not allowed in its format, or its version is too low or unreadable."""
    INVALID_TIMESTAMP = "INVALID_TIMESTAMP"
    """A timestamp is too far from the leader's clock."""
    INVALID_TXN_STATE = "INVALID_TXN_STATE"
    """The coordinator has no transaction under way to which the batch belongs (KIP-890)."""
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    """Fewer than `min.insync.replicas` are in sync; nothing was written."""
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    """The replica asked does not lead."""
    OUT_OF_ORDER_SEQUENCE_NUMBER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    """A later batch of the producer was written; this one is not among those remembered."""
    POSITION_OUT_OF_RANGE = "POSITION_OUT_OF_RANGE"
    """The position is below 0, or above 0 and at or beyond the end of the snapshot."""
    SNAPSHOT_NOT_FOUND = "SNAPSHOT_NOT_FOUND"
    """The snapshot was deleted, or never was."""
    UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH"
    """The request's leader epoch is above that of the replica asked, which has yet to learn it."""
    UNSUPPORTED_VERSION = "UNSUPPORTED_VERSION"
    """The broker does not know the version of the request."""


NO_ERROR: Final = ErrorCode.NONE
"""The most frequent code as a global: looking up the member of an enum takes ten times as long."""


class ConsumerFetchRequest(Struct, frozen=True, gc=False):
    """A consumer asks for what follows its position.

    Attributes:
        client_id: Name of the consumer, to which the answer goes.
        offset: Its position: the offset it reads next (inclusive).
        read_committed: True with `isolation.level: read_committed`.
        max_batches: Most batches to return; None = all.
        max_wait_ms: How long the broker may let the request wait while there is nothing to read, in
            ms (`fetch.max.wait.ms`); 0 = it answers at once.
        version: Version of the request (KIP-87); None = the scenario is not about versions.
        leader_only: True = only a leader may answer; False = any replica may (KIP-392).
        last_epoch: Leader epoch of the last batch it passed; -1 = none yet, or it does not check
            its position at another leader. Kafka's consumers ask with OffsetsForLeaderEpoch
            (KIP-320); here it goes with the fetch.
        checked_with: Name and leader epoch of the replica that it read last, where its position
            needs no check; None before the first read.
        correlation_id: The consumer's number of this request; the response repeats it.
    """

    client_id: str
    offset: int
    read_committed: bool = False
    max_batches: int | None = None
    max_wait_ms: int = 0
    version: int | None = None
    leader_only: bool = True
    last_epoch: int = -1
    checked_with: tuple[str, int] | None = None
    correlation_id: int = 0


class ConsumerFetchResponse(Struct, frozen=True, gc=False):
    """The answer of a replica to a consumer.

    Attributes:
        error: Reason why the replica did not read; `NONE` = it did.
        replica: Name of the replica that answers.
        epoch: Highest leader epoch it has seen.
        start: Offset from which it read (inclusive): the request's, moved into the log where that
            was outside of it (`auto.offset.reset`), or back to where the logs part.
        diverging_epoch: The epoch at whose end `start` is, if it was moved back to where the
            consumer's last epoch ends in this log; -1 = it was not.
        batches: Batches between `start` and the end that the isolation level allows, control
            batches and aborted data included.
        end: Offset after the last batch, even if that has no records (exclusive); `start` without
            batches.
        aborted: With `read_committed`: the aborted transactions that touch what was read.
        readable_end: Up to where a consumer may read (exclusive): the high watermark, or the last
            stable offset with `read_committed`.
        log_start_offset: First offset of the replica's log (inclusive).
        correlation_id: Number of the request.
        read_ms: Simulated time of the read in ms, for events; 0 without batches. No client acts on
            it.
    """

    error: ErrorCode
    replica: str
    epoch: int
    start: int = 0
    diverging_epoch: int = -1
    batches: tuple[Batch, ...] = ()
    end: int = 0
    aborted: tuple[AbortedTransaction, ...] = ()
    readable_end: int = 0
    log_start_offset: int = 0
    correlation_id: int = 0
    read_ms: int = 0


ACKS_ALL: Final = -1
"""`acks=all`: the answer comes when the batch is committed."""
ACKS_LEADER: Final = 1
"""`acks=1`: the answer comes when the leader has appended the batch."""


class ProduceRequest(Struct, frozen=True, gc=False):
    """A producer sends one batch.

    Attributes:
        client_id: Name of the sender, to which the answer goes.
        records: Records of the batch. The leader gives them offsets and uids, and ignores those
            that they have.
        acks: `ACKS_ALL` or `ACKS_LEADER`.
        producer_id: Id of an idempotent or transactional producer; -1 for any other.
        producer_epoch: Epoch of that producer; -1 for any other.
        base_sequence: Sequence number of the first record; -1 for any other producer.
        transactional: Whether the batch belongs to a transaction.
        version: Version of the request (KIP-87); None = the scenario is not about versions.
        correlation_id: The client's number of this attempt; the response repeats it.
    """

    client_id: str
    records: tuple[Record, ...]
    acks: int = ACKS_ALL
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    version: int | None = None
    correlation_id: int = 0


class ProduceResponse(Struct, frozen=True, gc=False):
    """A broker's answer to a produce request, or to the end of a transaction.

    Attributes:
        error: Reason why nothing was written; `NONE` = this request wrote it, or an earlier one.
        correlation_id: Number of the request.
    """

    error: ErrorCode
    correlation_id: int


class WriteTxnMarkersRequest(Struct, frozen=True, gc=False):
    """The coordinator ends a transaction at the leader of a partition (KIP-98).

    The coordinator is part of its producer here, so EndTxn, by which a producer tells it to end the
    transaction, does not travel.

    Attributes:
        client_id: Name of the sender, to which the answer goes.
        producer_id: Id of the producer of the transaction.
        producer_epoch: Epoch of that producer; the one after that of the transaction where a new
            instance ends it, and always under `producer_epochs: per_transaction`.
        committed: True = COMMIT, False = ABORT.
        version: Version of the request (KIP-87); None = the scenario is not about versions.
        correlation_id: The coordinator's number of this attempt; the response repeats it.
        fences: True = the coordinator has the transaction under way, and the marker a newer epoch.
            It is written even if nothing is open here, since data of the transaction may be on its
            way, which it fences (ProducerAppendInfo.appendEndTxnMarker).
    """

    client_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    version: int | None = None
    correlation_id: int = 0
    fences: bool = False


class SnapshotId(NamedTuple):
    """Name of a snapshot: end offset (exclusive), epoch of the last included record (KIP-630)."""

    end_offset: int
    epoch: int


class OffsetsForLeaderEpochRequest(Struct, frozen=True, gc=False):
    """A new follower asks where an epoch ends in the leader's log.

    Attributes:
        follower: Name of the follower.
        current_leader_epoch: The epoch in which it follows (KIP-320).
        leader_epoch: The epoch it asks about: the newest of its log.
        correlation_id: The follower's number of this request; the response repeats it.
    """

    follower: str
    current_leader_epoch: int
    leader_epoch: int
    correlation_id: int = 0


class OffsetsForLeaderEpochResponse(Struct, frozen=True, gc=False):
    """The answer of a leader to OffsetsForLeaderEpoch.

    Attributes:
        error: Reason why the replica refuses; `NONE` = it answers.
        leader_epoch: The largest epoch at or below the one asked for (KIP-279); with
            `truncation: epoch_kip101` always the one asked for, as that answer names no epoch; -1 =
            undefined.
        end_offset: Where that epoch ends in the leader's log (exclusive); -1 = undefined.
        correlation_id: Number of the request.
    """

    error: ErrorCode
    leader_epoch: int = -1
    end_offset: int = -1
    correlation_id: int = 0


class FetchRequest(Struct, frozen=True, gc=False):
    """A follower asks for what follows its log end.

    Attributes:
        follower: Name of the follower.
        epoch: Highest leader epoch it has seen.
        offset: Its log end offset; acknowledges everything below.
        last_epoch: Newest epoch in its epoch cache; without one, the epoch of the snapshot that its
            empty log continues; -1 = neither is known.
        max_batches: Most batches to return; None = all.
        max_bytes: Most bytes to return, the first batch at any size
            (`replica.fetch.max.bytes`); None = all.
        high_watermark: The follower's. A leader with a higher one may answer at once, without
            records (KIP-1166).
        replica_epoch: Broker epoch of the follower, from 1; a leader that knows a later one drops
            the request (KIP-903).
        version: Version of the request (KIP-87); None = the scenario is not about versions.
        correlation_id: The follower's number of this request; the response repeats it.
    """

    follower: str
    epoch: int
    offset: int
    last_epoch: int
    max_batches: int | None = None
    max_bytes: int | None = None
    high_watermark: int = 0
    replica_epoch: int = 1
    version: int | None = None
    correlation_id: int = 0

    def asks_the_same_as(self, other: FetchRequest) -> bool:
        """Decides whether two requests get the same answer, once their positions are recorded."""
        return (
            self.offset == other.offset
            and self.epoch == other.epoch
            and self.last_epoch == other.last_epoch
            and self.max_batches == other.max_batches
            and self.max_bytes == other.max_bytes
        )


class Answer(StrEnum):
    """The kinds of answers to a fetch."""

    RECORDS = "records"
    NOT_LEADER = "not leader"
    STALE_LEADER = "the leader's epoch is below the follower's"
    DIVERGING = "diverging epoch"
    SNAPSHOT = "snapshot id"
    REBUILD = "rebuild"
    OUT_OF_RANGE = (
        "below the log start without snapshots, above the log end,"
        " or in an epoch that nothing is known of"
    )


RECORDS: Final = Answer.RECORDS
"""The most frequent answer under a name of its own, for the same reason as `NO_ERROR`."""

SUCCESSFUL: Final = (RECORDS, Answer.DIVERGING, Answer.SNAPSHOT)
"""Answers without an error: each resets the fetch timer (KafkaRaftClient.handleFetchResponse)."""


class FetchResponse(Struct, frozen=True, gc=False):
    """The answer of a leader to a fetch.

    Attributes:
        answer: Kind of the answer, which decides which other fields count.
        leader: Name of the leader.
        epoch: The leader's epoch.
        fetch_offset: The request's offset.
        batches: With `RECORDS`: batches that end at or above the request's offset, as they are
            stored; KIP-87 converts them for an older follower.
        high_watermark: With `RECORDS`: the leader's.
        diverging: With `DIVERGING`: the leader's largest epoch at or below the request's, and where
            it ends.
        snapshot: With `SNAPSHOT`: name of the snapshot to fetch; None when the leader has none.
        removed_tombstone_end: The leader's, for `lag_guard: reset_propagated`.
        version_floor: The leader's, for `late_versions: floor`.
        gap_end: With `RECORDS` and no batches: end of a gap (exclusive) that begins at the
            request's offset; 0 = no gap is announced.
        gap_epochs: The leader's epochs that start in the gap or at its end.
        epochs: The leader's epochs, for `epoch_cache: copied`.
        log_start_offset: The leader's; it counts with `RECORDS` and `OUT_OF_RANGE`.
        log_end_offset: With `OUT_OF_RANGE`: the leader's, which a broker of Kafka asks for then;
            -1 in other answers.
        correlation_id: Number of the request.
    """

    answer: Answer
    leader: str
    epoch: int
    fetch_offset: int
    batches: tuple[Batch, ...] = ()
    high_watermark: int = 0
    diverging: EpochEnd | None = None
    snapshot: SnapshotId | None = None
    removed_tombstone_end: int = 0
    log_start_offset: int = 0
    gap_end: int = 0
    gap_epochs: tuple[EpochEntry, ...] = ()
    version_floor: tuple[int, ...] | None = None
    epochs: tuple[EpochEntry, ...] = ()
    correlation_id: int = 0
    log_end_offset: int = -1


class FetchSnapshotRequest(Struct, frozen=True, gc=False):
    """A follower asks for what follows `position` in a snapshot.

    Attributes:
        follower: Name of the follower.
        epoch: Highest leader epoch it has seen.
        id: Name of the snapshot.
        position: How much of it has arrived: bytes with `max_bytes`, else entries.
        max_entries: Most entries to return; None = all.
        max_bytes: Most bytes to return; None = the position counts entries.
        correlation_id: The follower's number of this request; the response repeats it.
    """

    follower: str
    epoch: int
    id: SnapshotId
    position: int
    max_entries: int | None = None
    max_bytes: int | None = None
    correlation_id: int = 0


class FetchSnapshotResponse(Struct, frozen=True, gc=False):
    """A chunk of a snapshot, or the reason why there is none.

    Attributes:
        leader: Name of the replica that answers.
        epoch: The epoch it leads; if it does not lead, the highest leader epoch it has seen.
        id: The snapshot asked for.
        position: The position asked for.
        size: Size of the whole snapshot, in the unit of the position.
        records: The records that are complete with this chunk.
        error: Reason why there is no chunk; `NONE` = there is one.
        end: Position behind the chunk (exclusive).
        in_bytes: Whether positions count bytes; else they count entries.
        timestamp_ms: Timestamp in ms of the last batch that the snapshot stands for, from its
            header; -1 = there is none.
        correlation_id: Number of the request.
    """

    leader: str
    epoch: int
    id: SnapshotId
    position: int
    size: int
    records: tuple[Record, ...]
    error: ErrorCode = NO_ERROR
    end: int = 0
    in_bytes: bool = False
    timestamp_ms: int = -1
    correlation_id: int = 0
