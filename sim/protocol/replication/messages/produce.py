"""What clients send to be written: produce requests, and the end of a transaction."""

from __future__ import annotations

from typing import Final, NamedTuple

from sim.protocol.log import Record
from sim.protocol.replication.messages.errors import ErrorCode

ACKS_ALL: Final = -1
"""`acks=all`: the answer comes when the batch is committed."""
ACKS_LEADER: Final = 1
"""`acks=1`: the answer comes when the leader has appended the batch."""


class ProduceRequest(NamedTuple):
    """A producer sends one batch.

    Attributes:
        client_id: Who sends it, and is answered.
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


class ProduceResponse(NamedTuple):
    """A broker's answer to a produce request, or to the end of a transaction.

    Attributes:
        error: Why nothing was written; `NONE` = it was, now or when the request came before.
        correlation_id: That of the request.
    """

    error: ErrorCode
    correlation_id: int


class WriteTxnMarkersRequest(NamedTuple):
    """The coordinator ends a transaction at the leader of a partition (KIP-98).

    The coordinator is part of its producer here, so EndTxn, by which a producer tells it to end the
    transaction, does not travel.

    Attributes:
        client_id: Who sends it, and is answered.
        producer_id: Whose transaction it is.
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
