"""Requests of a follower to its leader: OffsetsForLeaderEpoch, Fetch, FetchSnapshot.

Sources: KIP-101, KIP-279, KIP-595, KIP-630.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from sim.protocol.log import Batch, Record
from sim.protocol.log.epochs import EpochEnd, EpochEntry
from sim.protocol.replication.messages.clients import NO_ERROR, ErrorCode


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
        error: Why it does not say; `NONE` = it does.
        leader_epoch: The largest epoch at or below the one asked for (KIP-279); the one asked for
            with `truncation: epoch_kip101`, which does not distinguish them; -1 = undefined.
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
        last_epoch: Newest epoch of its log; -1 when its epoch cache is empty.
        max_batches: Most batches to return; None = all.
        max_bytes: Most bytes to return, the first batch at any size
            (`replica.fetch.max.bytes`); None = all.
        high_watermark: The follower's; an answer that would say nothing but a higher one need not
            wait (KIP-1166).
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


class FetchResponse(Struct, frozen=True, gc=False):
    """The answer of a leader to a fetch.

    Attributes:
        answer: Kind of the answer, which decides which other fields count.
        leader: Name of the leader.
        epoch: The leader's epoch.
        fetch_offset: The request's offset.
        batches: With `RECORDS`: what follows, verbatim.
        high_watermark: With `RECORDS`: the leader's.
        diverging: With `DIVERGING`: where the leader's epoch ends.
        snapshot: With `SNAPSHOT`: what to fetch instead; None when the leader has none.
        removed_tombstone_end: The leader's, for `lag_guard: reset_propagated`.
        version_floor: The leader's, for `late_versions: floor`.
        gap_end: With `RECORDS` and no batches: nothing survives below it (exclusive); 0 = unsaid.
        gap_epochs: The leader's epochs that start in the gap.
        epochs: The leader's epochs, for `epoch_cache: copied`.
        log_start_offset: The leader's; it counts with `RECORDS` and `OUT_OF_RANGE`.
        log_end_offset: With `OUT_OF_RANGE`: the leader's, which a broker asks for then.
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
        leader: Name of the leader.
        epoch: Leader epoch of the answer.
        id: The snapshot asked for.
        position: The position asked for.
        size: Size of the whole snapshot, in the unit of the position.
        records: The records that are complete with this chunk.
        error: Why there is nothing; `NONE` = here it is.
        end: Position behind the chunk (exclusive).
        in_bytes: Whether positions count bytes; else they count entries.
        timestamp_ms: Timestamp of the last batch that the snapshot stands for, from its header.
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
