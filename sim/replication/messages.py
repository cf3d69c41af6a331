"""What replicas say to each other: Fetch and FetchSnapshot (KIP-595, KIP-630)."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from sim.log import Batch, Record
from sim.log.epochs import EpochEnd, EpochEntry
from sim.replication.replica import SnapshotId


class FetchRequest(NamedTuple):
    """A follower asks for what follows its log end.

    Attributes:
        follower: Who asks.
        epoch: Highest leader epoch it has seen.
        offset: Its log end offset; acknowledges everything below.
        last_epoch: Newest epoch of its log; -1 when its epoch cache is empty.
        max_batches: Most batches to return; None = all.
    """

    follower: str
    epoch: int
    offset: int
    last_epoch: int
    max_batches: int | None = None


class Answer(StrEnum):
    """What a fetch was answered with."""

    RECORDS = "records"
    NOT_LEADER = "not leader"
    STALE_LEADER = "the leader's epoch is below the follower's"
    DIVERGING = "diverging epoch"
    SNAPSHOT = "snapshot id"
    REBUILD = "rebuild"
    OUT_OF_RANGE = "below the log start, and there are no snapshots"


class FetchResponse(NamedTuple):
    """A leader's answer.

    Attributes:
        answer: Which kind; says which of the other fields count.
        leader: Who answers.
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
        log_start_offset: With `RECORDS` and `OUT_OF_RANGE`: the leader's.
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


class FetchSnapshotRequest(NamedTuple):
    """A follower asks for `max_entries` entries from `position` on; None = the rest."""

    follower: str
    epoch: int
    id: SnapshotId
    position: int
    max_entries: int | None = None


class FetchSnapshotResponse(NamedTuple):
    """A chunk of a snapshot of `size` entries, or the reason why there is none.

    `error` is None, `not leader`, `stale leader`, `snapshot not found` or `position out of range`.
    """

    leader: str
    epoch: int
    id: SnapshotId
    position: int
    size: int
    records: tuple[Record, ...]
    error: str | None = None
