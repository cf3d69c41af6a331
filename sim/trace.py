"""The one vocabulary of events: what happened, as the core tells it.

Checks, counters, timelines, saved traces and digests all read these and nothing else. Every event
names its replica first. Times are not part of an event: whoever records it adds them.
"""

from __future__ import annotations

from typing import NamedTuple

from sim.log.record import Batch, Record


class ReplicaAdded(NamedTuple):
    """A replica with an empty log joined the cluster."""

    replica: str


class ReplicaCrashed(NamedTuple):
    """A replica went down; its log ends at `log_end_offset` after what the crash lost."""

    replica: str
    log_end_offset: int
    high_watermark: int


class ReplicaRestarted(NamedTuple):
    """A replica came back with the log it found on disk."""

    replica: str
    log_end_offset: int
    high_watermark: int


class ReplicaWiped(NamedTuple):
    """A replica lost its whole log (a new disk, or a rebuild by `lag_guard`)."""

    replica: str
    reason: str


class LeaderElected(NamedTuple):
    """A replica leads `epoch` from `epoch_start_offset`, its log end offset, on.

    `isr` is the in-sync set it starts with, `voters` those a majority is counted over.
    """

    replica: str
    epoch: int
    epoch_start_offset: int
    isr: tuple[str, ...]
    voters: tuple[str, ...]


class LeaderResigned(NamedTuple):
    """A replica stopped leading `epoch`."""

    replica: str
    epoch: int


class Appended(NamedTuple):
    """A leader gave offsets to a batch."""

    replica: str
    batch: Batch


class Copied(NamedTuple):
    """A follower appended batches of its leader verbatim; gaps between them come along.

    `fetch_offset` is its log end offset before, `log_end_offset` the one after.
    """

    replica: str
    leader: str
    fetch_offset: int
    batches: tuple[Batch, ...]
    log_end_offset: int


class Pushed(NamedTuple):
    """A follower appended a copy at an offset of its own choice (`follower_assigned`)."""

    replica: str
    leader: str
    batch: Batch


class Truncated(NamedTuple):
    """A follower cut its log at `target`; `high_watermark` and `log_start_offset` are from before.

    `log_end_offset` is the one from before, too; `leading` must be false. A batch that straddles
    the target went whole: `lowest` is the lowest offset that did, None = the target.
    """

    replica: str
    target: int
    log_end_offset: int
    high_watermark: int
    log_start_offset: int
    leading: bool
    lowest: int | None = None


class HighWatermarkMoved(NamedTuple):
    """A replica's high watermark is now `high_watermark`; a leader's commits what is below."""

    replica: str
    high_watermark: int
    leading: bool


class PositionRecorded(NamedTuple):
    """A leader (`replica`) believes that `follower` has everything below `position`."""

    replica: str
    follower: str
    position: int


class IsrChanged(NamedTuple):
    """The in-sync set is now `isr`; `joined` names a replica that was admitted by its position."""

    replica: str
    isr: tuple[str, ...]
    joined: str | None


class Removal(NamedTuple):
    """One record that a cleaning pass took away, and why.

    Attributes:
        offset: Offset of the record.
        uid: Identity of the record.
        key: Its key; None for markers and unkeyed records.
        reason: `superseded`, `tombstone`, `aborted`, `marker` or `no key`.
        winner_offset: Offset of the record that beat it when it was superseded, else None.
    """

    offset: int
    uid: int
    key: str | None
    reason: str
    winner_offset: int | None


class Cleaned(NamedTuple):
    """A replica's cleaner finished a pass below `upper_bound`.

    Attributes:
        replica: Whose log.
        first_dirty_offset: Where the clean section ended before the pass.
        upper_bound: Where it ends now (exclusive).
        removals: Records taken away, in offset order.
        emptied: Last offsets of batches whose header was kept without records.
        dropped: Last offsets of batches that were already empty and are gone now.
        horizons: (base offset, delete horizon in ms) of the batches that got one in this pass.
        protected_offset: The record the fix keeps whatever it is, or None.
        log_end_offset: After the pass.
        high_watermark: Before the pass.
        size_bytes: (before, after) of the whole log.
        oversized: (base offset, bytes) of batches that cleaning made larger than allowed.
        partial: True when the pass ended below its bound, since its offset map was full.
    """

    replica: str
    first_dirty_offset: int
    upper_bound: int
    removals: tuple[Removal, ...]
    emptied: tuple[int, ...]
    dropped: tuple[int, ...]
    horizons: tuple[tuple[int, int], ...]
    protected_offset: int | None
    log_end_offset: int
    high_watermark: int
    size_bytes: tuple[int, int]
    oversized: tuple[tuple[int, int], ...] = ()
    partial: bool = False


class CleanerLooked(NamedTuple):
    """A cleaner with `max.compaction.lag.ms` looked at its log and chose to clean it, or not.

    Attributes:
        replica: Whose log.
        now_ms: Its own clock.
        eligible: True when a pass follows, up to `upper_bound` (exclusive).
        first_dirty_offset: Where the clean section ends.
        upper_bound: Up to where it would clean.
        stable_offset: Above it nothing may be cleaned whatever its age (exclusive).
        delay_ms: How long the oldest uncleaned closed segment is overdue; 0 = it is not.
        metric_secs: `max-compaction-delay-secs` after the look.
        max_lag_ms: `max.compaction.lag.ms`.
        difference_max_ms: `message.timestamp.difference.max.ms`; None = not bounded.
    """

    replica: str
    now_ms: int
    eligible: bool
    first_dirty_offset: int
    upper_bound: int
    stable_offset: int
    delay_ms: int
    metric_secs: int
    max_lag_ms: int
    difference_max_ms: int | None


class SnapshotTaken(NamedTuple):
    """A replica wrote the snapshot (end_offset, epoch): the winners below `end_offset`."""

    replica: str
    end_offset: int
    epoch: int
    records: tuple[Record, ...]


class SnapshotDeleted(NamedTuple):
    """A replica deleted the snapshot (end_offset, epoch)."""

    replica: str
    end_offset: int
    epoch: int


class PrefixDeleted(NamedTuple):
    """A replica moved its log start offset to `log_start_offset`."""

    replica: str
    log_start_offset: int
    high_watermark: int


class LogStartMoved(NamedTuple):
    """A replica's log starts at `log_start_offset` now, since old segments were deleted.

    `cause` is the setting that asked for it, or that the leader's log starts there.
    """

    replica: str
    log_start_offset: int
    high_watermark: int
    cause: str


class LogStartedAfresh(NamedTuple):
    """A follower that was below the leader's log start emptied its log and starts there.

    `log_end_offset` and `high_watermark` are from before.
    """

    replica: str
    log_start_offset: int
    log_end_offset: int
    high_watermark: int


class SnapshotOffered(NamedTuple):
    """A leader answered a fetch below its log start with a snapshot id, or had none (-1)."""

    replica: str
    follower: str
    fetch_offset: int
    end_offset: int
    epoch: int


class SnapshotChunkFetched(NamedTuple):
    """A follower received `entries` entries of a snapshot from `position` on."""

    replica: str
    leader: str
    end_offset: int
    epoch: int
    position: int
    entries: int
    size_bytes: int


class SnapshotFetchDropped(NamedTuple):
    """A follower gave up a partly fetched snapshot."""

    replica: str
    end_offset: int
    epoch: int
    reason: str


class SnapshotInstalled(NamedTuple):
    """A follower replaced its log by a snapshot: start, end and high watermark are its end.

    `log_end_offset` and `high_watermark` are from before; `leading` must be false.
    """

    replica: str
    end_offset: int
    epoch: int
    records: tuple[Record, ...]
    log_end_offset: int
    high_watermark: int
    leading: bool


class RemovalBoundMoved(NamedTuple):
    """A replica may remove tombstones and markers below `offset` (coordinated removal, MTRO)."""

    replica: str
    offset: int


class Consumed(NamedTuple):
    """A consumer read data of a replica below `end` (exclusive) and moved there.

    `start` is its position before; `now_ms` the time of the read; `records` are what it was given.
    """

    replica: str
    consumer: str
    start: int
    end: int
    records: tuple[Record, ...]
    now_ms: int


class TombstoneProbed(NamedTuple):
    """The story claims that no live replica holds a tombstone of `key` any more."""

    replica: str
    key: str


class FaultInjected(NamedTuple):
    """The world did something to a replica or a link; `detail` is for people."""

    replica: str
    fault: str
    detail: str


class Quiesced(NamedTuple):
    """The cluster is at rest; `replica` is the leader whose log the others are compared with.

    `synced` is true when faults were healed and every live replica fetched to the end first.
    """

    replica: str | None
    synced: bool


Event = (
    ReplicaAdded
    | ReplicaCrashed
    | ReplicaRestarted
    | ReplicaWiped
    | LeaderElected
    | LeaderResigned
    | Appended
    | Copied
    | Pushed
    | Truncated
    | HighWatermarkMoved
    | PositionRecorded
    | IsrChanged
    | Cleaned
    | CleanerLooked
    | SnapshotTaken
    | SnapshotDeleted
    | PrefixDeleted
    | LogStartMoved
    | LogStartedAfresh
    | SnapshotOffered
    | SnapshotChunkFetched
    | SnapshotFetchDropped
    | SnapshotInstalled
    | RemovalBoundMoved
    | Consumed
    | TombstoneProbed
    | FaultInjected
    | Quiesced
)
"""Any event. The name of its class is its kind."""
