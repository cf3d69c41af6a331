"""Messages between clients and brokers: produce, end of a transaction, consumer fetch; errors."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from sim.protocol.log import AbortedTransaction, Batch, Record


class ErrorCode(StrEnum):
    """The error of a response; `NONE` = the request was done."""

    NONE = "NONE"
    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    """The request's leader epoch is below that of the replica asked."""
    INVALID_PRODUCER_EPOCH = "INVALID_PRODUCER_EPOCH"
    """A later instance of the producer has a newer epoch of its id (KIP-98)."""
    INVALID_RECORD = "INVALID_RECORD"
    """A record is not allowed in its format, or its version comes too late."""
    INVALID_TIMESTAMP = "INVALID_TIMESTAMP"
    """A timestamp is too far from the leader's clock."""
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    """Fewer than `min.insync.replicas` are in sync; nothing was written."""
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    """The replica asked does not lead."""
    OUT_OF_ORDER_SEQUENCE_NUMBER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    """The producer has written what comes after; this batch itself is not known to be written."""
    POSITION_OUT_OF_RANGE = "POSITION_OUT_OF_RANGE"
    """The position is below 0, or at or beyond the end of the snapshot."""
    SNAPSHOT_NOT_FOUND = "SNAPSHOT_NOT_FOUND"
    """The snapshot was deleted, or never was."""
    UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH"
    """The request's leader epoch is above that of the replica asked, which has yet to learn it."""
    UNSUPPORTED_VERSION = "UNSUPPORTED_VERSION"
    """The broker does not know the version of the request."""


NO_ERROR: Final = ErrorCode.NONE
"""The most frequent code by a short name: Python takes ten times as long for an enum's member."""


class ConsumerFetchRequest(Struct, frozen=True, gc=False):
    """A consumer asks for what follows its position.

    Attributes:
        client_id: Name of the consumer, which is answered.
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
        checked_with: Name and leader epoch of the replica it has checked its position with.
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
        error: Why there is nothing; `NONE` = here it is.
        replica: Name of the replica that answers.
        epoch: Highest leader epoch it has seen.
        start: Offset from which it read (inclusive): the request's, moved into the log where that
            was outside of it (`auto.offset.reset`), or back to where the logs part.
        diverging_epoch: The epoch at whose end `start` is, if it was moved back to where the
            consumer's last epoch ends in this log; -1 = it was not.
        batches: Batches between `start` and the end that the isolation level allows, control
            batches and aborted data included.
        end: Position after the last batch, with or without records (exclusive).
        aborted: With `read_committed`: the aborted transactions that touch what was read.
        readable_end: Up to where a consumer may read (exclusive): the high watermark, or the last
            stable offset with `read_committed`.
        log_start_offset: First offset of the replica's log (inclusive).
        correlation_id: Number of the request.
        read_ms: Simulated time of the read, for events; no client acts on it.
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
        client_id: Name of the sender, which is answered.
        records: Its records. The leader gives them their offsets and uids; what they have of both
            does not count.
        acks: `ACKS_ALL` or `ACKS_LEADER`.
        producer_id: Idempotent or transactional producer; -1 when there is none.
        producer_epoch: Epoch of that producer; -1 when there is none.
        base_sequence: Sequence number of the first record; -1 when there is none.
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
        error: Why nothing was written; `NONE` = it was, now or when the request came before.
        correlation_id: Number of the request.
    """

    error: ErrorCode
    correlation_id: int


class WriteTxnMarkersRequest(Struct, frozen=True, gc=False):
    """The coordinator ends a transaction at the leader of a partition (KIP-98).

    The coordinator is part of its producer here, so EndTxn, by which a producer tells it to end the
    transaction, does not travel.

    Attributes:
        client_id: Name of the sender, which is answered.
        producer_id: Id of the producer of the transaction.
        producer_epoch: Epoch of that producer; under `producer_epochs: per_transaction` its next.
        committed: True = COMMIT, False = ABORT.
        version: Version of the request (KIP-87); None = the scenario is not about versions.
        correlation_id: The coordinator's number of this attempt; the response repeats it.
        fences: A new instance ends what the one before has begun: it is written whether or not the
            transaction is open here, since data of it may be on its way (InitProducerId).
    """

    client_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    version: int | None = None
    correlation_id: int = 0
    fences: bool = False
