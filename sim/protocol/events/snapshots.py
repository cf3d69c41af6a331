"""Events of snapshots, and of the prefix of the log that they cover (KIP-630)."""

from __future__ import annotations

from msgspec import Struct

from sim.protocol.log.record import Record


class SnapshotTaken(Struct, frozen=True, gc=False, array_like=True):
    """A replica wrote the snapshot (end_offset, epoch): the winners below `end_offset`."""

    replica: str
    end_offset: int
    epoch: int
    records: tuple[Record, ...]


class SnapshotDeleted(Struct, frozen=True, gc=False, array_like=True):
    """A replica deleted the snapshot (end_offset, epoch)."""

    replica: str
    end_offset: int
    epoch: int


class PrefixDeleted(Struct, frozen=True, gc=False, array_like=True):
    """A replica moved its log start offset to `log_start_offset`."""

    replica: str
    log_start_offset: int
    high_watermark: int


class SnapshotOffered(Struct, frozen=True, gc=False, array_like=True):
    """A leader answered a fetch below its log start with a snapshot id, or had none (-1)."""

    replica: str
    follower: str
    fetch_offset: int
    end_offset: int
    epoch: int


class SnapshotChunkFetched(Struct, frozen=True, gc=False, array_like=True):
    """A follower received a chunk of a snapshot, from `position` on.

    `entries` are complete with it. `position` counts entries, or bytes with `in_bytes`; then the
    chunk has `size_bytes` of the file, else `entries`.
    """

    replica: str
    leader: str
    end_offset: int
    epoch: int
    position: int
    entries: int
    size_bytes: int
    in_bytes: bool = False


class SnapshotFetched(Struct, frozen=True, gc=False, array_like=True):
    """A follower has a whole snapshot on disk under its final name; its log is unchanged.

    The snapshot is installed at once, unless a crash comes in between: only then there is this
    event.
    """

    replica: str
    end_offset: int
    epoch: int
    records: tuple[Record, ...]


class LogEmptied(Struct, frozen=True, gc=False, array_like=True):
    """A follower threw its log away to make room for a snapshot that has not arrived yet.

    `log_end_offset` and `high_watermark` are from before.
    """

    replica: str
    end_offset: int
    epoch: int
    log_end_offset: int
    high_watermark: int


class SnapshotFetchDropped(Struct, frozen=True, gc=False, array_like=True):
    """A follower gave up a partly fetched snapshot."""

    replica: str
    end_offset: int
    epoch: int
    reason: str


class SnapshotInstalled(Struct, frozen=True, gc=False, array_like=True):
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


class StateLoaded(Struct, frozen=True, gc=False, array_like=True):
    """The state machine of a replica was loaded, after a restart or an installed snapshot.

    It read `snapshot_records` of a snapshot and `log_records` of the log below `end_offset`
    (exclusive), which took `took_ms`.
    """

    replica: str
    end_offset: int
    snapshot_records: int
    log_records: int
    took_ms: int
