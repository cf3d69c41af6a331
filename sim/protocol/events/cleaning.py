"""Events of cleaners, coordinated removal, deleted segments, and snapshots (KIP-630)."""

from __future__ import annotations

from msgspec import Struct

from sim.protocol.events.cluster import Event
from sim.protocol.log.record import Record


class Removal(Struct, frozen=True, gc=False, array_like=True):
    """A record that a cleaning pass removed, and the reason.

    Attributes:
        offset: Offset of the record.
        uid: Identity of the record.
        key: Its key; None for markers and unkeyed records.
        reason: `superseded`, `tombstone`, `aborted`, `marker`, `no key` or `unmapped`.
        winner_offset: Offset of the record that beat it when it was superseded, else None.
    """

    offset: int
    uid: int
    key: str | None
    reason: str
    winner_offset: int | None


class Cleaned(Event, frozen=True):
    """A replica's cleaner finished a pass below `upper_bound`.

    Attributes:
        replica: Whose log.
        first_dirty_offset: Where the clean section ended before the pass.
        upper_bound: Where it ends now (exclusive).
        removals: Records taken away, in offset order.
        emptied: Last offsets of batches whose header was kept without records.
        dropped: Last offsets of batches that were already empty and are gone now.
        horizons: (base offset, delete horizon in ms) of the batches that got one in this pass.
        protected_offset: Offset of the record that the fix keeps; None without one.
        log_end_offset: After the pass.
        high_watermark: Before the pass.
        size_bytes: (before, after) of the whole log.
        oversized: (base offset, bytes) of batches that cleaning made larger than allowed.
        partial: True when the pass ended below the bound it was given: its offset map was full.
        stubs: Number of removed tombstones that the cleaner remembers after the pass.
        rewritten: (base offset, bytes) of the batches that were rewritten, since they lost some of
            their records or got a horizon; all others are unchanged, empty or gone.
        now_ms: The replica's own clock when the pass began; horizons at or below it are reached.
    """

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
    stubs: int = 0
    rewritten: tuple[tuple[int, int], ...] = ()
    now_ms: int = 0


class CleaningFailed(Event, frozen=True):
    """A pass cannot go on at `offset`; there is none before a restart.

    The groups of segments that it had finished are in a `Cleaned` event before it.

    Says: {replica}'s pass cannot go on at {offset}: no more cleaning before a restart
    """

    offset: int


class SegmentsLost(Event, frozen=True):
    """A crash in the middle of a swap left neither the old segments nor the cleaned one.

    `offsets` are those of the records and empty batches that are gone for no other reason.
    """

    offsets: tuple[int, ...]


class CleanerLooked(Event, frozen=True):
    """A cleaner with `max.compaction.lag.ms` looked at its log and chose to clean it, or not.

    Attributes:
        replica: Whose log.
        now_ms: Its own clock.
        eligible: True when a pass follows, up to `upper_bound` (exclusive).
        first_dirty_offset: Where the clean section ends.
        upper_bound: Up to where it would clean.
        stable_offset: Last stable offset; from there on nothing may be cleaned at any age.
        delay_ms: How long the oldest uncleaned closed segment is overdue; 0 = it is not.
        metric_secs: `max-compaction-delay-secs` after the look.
        max_lag_ms: `max.compaction.lag.ms`.
        difference_max_ms: `message.timestamp.difference.max.ms`; None = not bounded.
    """

    now_ms: int
    eligible: bool
    first_dirty_offset: int
    upper_bound: int
    stable_offset: int
    delay_ms: int
    metric_secs: int
    max_lag_ms: int
    difference_max_ms: int | None


class RemovalBoundMoved(Event, frozen=True):
    """Coordinated removal: a replica may remove tombstones below `offset` (MTRO, exclusive).

    Markers may go below `marker_offset` (MXRO): the same, without a watermark of their own.
    """

    offset: int
    marker_offset: int


class TombstoneProbed(Event, frozen=True):
    """The story claims that no live replica holds a tombstone of `key` any more."""

    key: str


class RoundsEnded(Event, frozen=True):
    """All logs were rolled and cleaned `rounds` times while nothing was written.

    Attributes:
        replica: The leader.
        rounds: How often.
        interval_ms: How much time passed after each.
        cleaners: The replicas whose cleaners ran, in order of creation.

    Says: {cleaners} cleaned {rounds} times, {interval_ms} ms apart
    """

    rounds: int
    interval_ms: int
    cleaners: tuple[str, ...]


class LogStartMoved(Event, frozen=True):
    """A replica's log starts at `log_start_offset` now, since old segments were deleted.

    `cause` is the setting that asked for it, or that the leader's log starts there.

    Says: {replica} starts its log at {log_start_offset}: {cause}
    """

    log_start_offset: int
    high_watermark: int
    cause: str


class LogStartedAfresh(Event, frozen=True):
    """A follower that was below the leader's log start emptied its log and starts there.

    `log_end_offset` and `high_watermark` are from before.

    Says: {replica}, whose log ended at {log_end_offset}, starts anew at {log_start_offset}
    """

    log_start_offset: int
    log_end_offset: int
    high_watermark: int


class SnapshotTaken(Event, frozen=True):
    """A replica wrote the snapshot (end_offset, epoch): the winners below `end_offset`."""

    end_offset: int
    epoch: int
    records: tuple[Record, ...]


class SnapshotDeleted(Event, frozen=True):
    """A replica deleted the snapshot (end_offset, epoch).

    Says: {replica} deletes snapshot ({end_offset}, {epoch})
    """

    end_offset: int
    epoch: int


class PrefixDeleted(Event, frozen=True):
    """A replica moved its log start offset to `log_start_offset`.

    Says: {replica} starts its log at {log_start_offset}
    """

    log_start_offset: int
    high_watermark: int


class SnapshotOffered(Event, frozen=True):
    """A leader answered a fetch below its log start with a snapshot id, or had none (-1).

    Says: {replica} offers {follower}, which asks for {fetch_offset}, snapshot ({end_offset},
        {epoch})
    """

    follower: str
    fetch_offset: int
    end_offset: int
    epoch: int


class SnapshotChunkFetched(Event, frozen=True):
    """A follower received a chunk of a snapshot, from `position` on.

    The chunk completes `entries` entries and has `size_bytes`. `position` counts entries, or bytes
    of the file with `in_bytes`.
    """

    leader: str
    end_offset: int
    epoch: int
    position: int
    entries: int
    size_bytes: int
    in_bytes: bool = False


class SnapshotFetched(Event, frozen=True):
    """A follower has a whole snapshot on disk under its final name; its log is unchanged.

    The snapshot is installed at once, unless a crash comes in between: only then there is this
    event.

    Says: {replica} has snapshot ({end_offset}, {epoch}) whole on disk beside its log
    """

    end_offset: int
    epoch: int
    records: tuple[Record, ...]


class LogEmptied(Event, frozen=True):
    """A follower threw its log away to make room for a snapshot that has not arrived yet.

    `log_end_offset` and `high_watermark` are from before.

    Says: {replica} empties its log, which ended at {log_end_offset}, for snapshot ({end_offset},
        {epoch})
    """

    end_offset: int
    epoch: int
    log_end_offset: int
    high_watermark: int


class SnapshotFetchDropped(Event, frozen=True):
    """A follower gave up a partly fetched snapshot.

    Says: {replica} gives up fetching snapshot ({end_offset}, {epoch}): {reason}
    """

    end_offset: int
    epoch: int
    reason: str


class SnapshotInstalled(Event, frozen=True):
    """A follower replaced its log by a snapshot: start, end and high watermark are its end.

    `log_end_offset` and `high_watermark` are from before; `leading` must be false.

    Says: {replica} installs snapshot ({end_offset}, {epoch})
    """

    end_offset: int
    epoch: int
    records: tuple[Record, ...]
    log_end_offset: int
    high_watermark: int
    leading: bool


class StateLoaded(Event, frozen=True):
    """The state machine of a replica was loaded, after a restart or an installed snapshot.

    It read `snapshot_records` of a snapshot and `log_records` of the log below `end_offset`
    (exclusive), which took `took_ms`.

    Says: {replica} has loaded its state below {end_offset} in {took_ms} ms from {snapshot_records}
        records of a snapshot and {log_records} of its log
    """

    end_offset: int
    snapshot_records: int
    log_records: int
    took_ms: int
