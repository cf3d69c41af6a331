"""What a consumer asks a replica, and what it is given (Fetch with replica id -1)."""

from __future__ import annotations

from typing import NamedTuple

from sim.protocol.log import AbortedTransaction, Batch
from sim.protocol.replication.messages.errors import ErrorCode


class ConsumerFetchRequest(NamedTuple):
    """A consumer asks for what follows its position.

    Attributes:
        client_id: Who asks, and is answered.
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


class ConsumerFetchResponse(NamedTuple):
    """A replica's answer to a consumer.

    Attributes:
        error: Why there is nothing; `NONE` = here it is.
        replica: Who answers.
        epoch: Highest leader epoch it has seen.
        start: Offset from which it read (inclusive): the request's, moved into the log where that
            was outside of it (`auto.offset.reset`), or back to where the logs part.
        diverging_epoch: The epoch at whose end `start` is, if it was moved back to where the
            consumer's last epoch ends in this log; -1 = it was not.
        batches: What there is between `start` and the end that the isolation level allows, control
            batches and aborted data included.
        end: Position after the last batch, whatever is left of that (exclusive).
        aborted: With `read_committed`: the aborted transactions that touch what was read.
        readable_end: Up to where a consumer may read (exclusive): the high watermark, or the last
            stable offset with `read_committed`.
        log_start_offset: First offset of the replica's log (inclusive).
        correlation_id: That of the request.
        read_ms: Simulated time of the read; for whoever records it, no client acts on it.
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
