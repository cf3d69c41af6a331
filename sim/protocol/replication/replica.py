"""The state of one replica, and that state as a value.

Only the functions of this package change it. A search of states compares, keeps and restores it:
`freeze` takes everything that a replica holds, by the attributes that its classes declare, so that
a new attribute is part of the value without further code; `maker` makes replicas of it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from typing import Any, Final

from msgspec import Struct

from sim.protocol.events import (
    EpochCacheChanged,
    Event,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotDeleted,
    Truncated,
)
from sim.protocol.log import Log, LogConfig, Record
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.log.producers import REMEMBERED_BATCHES
from sim.protocol.replication.messages import SnapshotId
from sim.protocol.rules import Rules


def log_config(rules: Rules, config: LogConfig) -> LogConfig:
    """The settings of a log, completed by the rules."""
    return replace(
        config,
        keeps_high_watermark=rules.replication.high_watermark_cut == "kept",
        keeps_empty_epochs=rules.replication.epoch_cut == "kept",
        always_rereads=rules.replication.producers_after_cut == "always",
        indexes_calls=rules.cleaner.index_entries == "per_append",
    )


class Snapshot(Struct, frozen=True, gc=False):
    """The winning record of each key below the end offset, sorted by key; tombstones are gone.

    `timestamp_ms` is that of the last batch below the end offset in ms, which its header says; -1
    when there is none (Snapshots.lastContainedLogTimestamp). With `state_machine: deltas` a record
    is the last one that changed its key, with the whole value.
    """

    id: SnapshotId
    records: tuple[Record, ...]
    timestamp_ms: int = -1


@dataclass(slots=True)
class SnapshotDownload:
    """A partly fetched snapshot.

    Attributes:
        id: Name of the snapshot.
        leader: Name of the leader that offered it.
        leader_epoch: Epoch of that leader.
        received: Records that are complete.
        position: Size of what has arrived: entries, or bytes where the requests count those.
    """

    id: SnapshotId
    leader: str
    leader_epoch: int
    received: list[Record] = field(default_factory=list)
    position: int = 0


LONG_AGO_MS: Final = -(10**9)


@dataclass(slots=True)
class FetchTimes:
    """Times and log end by which a leader knows who is caught up (ReplicaState).

    Attributes:
        caught_up_ms: When it last had everything the leader had.
        fetch_ms: When it last fetched.
        leader_end: The leader's log end offset (exclusive) when it last fetched.
    """

    caught_up_ms: int = LONG_AGO_MS
    fetch_ms: int = LONG_AGO_MS
    leader_end: int = 0


@dataclass(slots=True)
class Leadership:
    """The state of a replica while it leads.

    Attributes:
        epoch: The epoch it leads.
        epoch_start_offset: Its log end offset when it was elected.
        isr: The in-sync replicas, itself included.
        confirmed: Number of them that the controller has confirmed; None = all of them.
        awaited: Others that the high watermark waits for, since they are about to join; see
            `sim.protocol.replication.joining`.
        fetch_times: Follower name -> when it had what the leader had; without an entry, unknown.
        voters: The replicas a majority is counted over.
        positions: Follower name -> offset below which the leader believes it has everything.
        begun_below: Follower name -> the leader's `removed_tombstone_end` when the follower last
            began: fetched at 0, or behind a snapshot (exclusive; `lag_guard`).
    """

    epoch: int
    epoch_start_offset: int
    isr: tuple[str, ...]
    voters: tuple[str, ...]
    positions: dict[str, int] = field(default_factory=dict)
    confirmed: int | None = None
    awaited: tuple[str, ...] = ()
    fetch_times: dict[str, FetchTimes] = field(default_factory=dict)
    begun_below: dict[str, int] = field(default_factory=dict)

    @property
    def in_sync(self) -> int:
        """Number of replicas that count as in sync where `min.insync.replicas` is concerned.

        One that joins does not count before the controller knows (Partition.isUnderMinIsr).
        """
        return len(self.isr) if self.confirmed is None else self.confirmed


@dataclass(slots=True, eq=False)
class Replica:
    """A replica: its disk (log, snapshots, checkpoint) and its role.

    Attributes:
        name: Name of the replica.
        up: False while it is crashed; its disk still counts in the invariants.
        log: Its log.
        epoch: The highest leader epoch it has seen.
        vote: (epoch, candidate) of its last vote; None = it has not voted, or forgot it.
        leadership: State of its leadership; None while it does not lead.
        first_dirty_offset: The cleaner checkpoint: everything below was cleaned (exclusive).
        begun_offset: Below it a pass has begun (exclusive; `cleaner_checkpoint: both`).
        last_cleaning: (end offset exclusive, own time in ms) of its last pass, which only
            `tombstone_removal: cleaning_checkpoint` reads. None before the first pass.
        cleanly_compacted_offset: Offset that it reports to the coordinator (MCCO, exclusive).
        removal_bound: Coordinated removal: tombstones below may go (MTRO, exclusive).
        marker_removal_bound: Coordinated removal: markers below may go (MXRO, exclusive).
        disk: Number of its disk, from 1; it grows whenever the log starts over.
        removed_tombstone_end: Offset after the highest tombstone that it removed, or of whose
            removal it learnt from a leader; 0 = none.
        version_floor: With `late_versions: floor`: the highest version, without its offset, of a
            removed tombstone, or the leader's floor; None = nothing was removed.
        stubs: With `late_versions: stub`: key -> its removed tombstone, until a pass finds that
            another record of the key wins.
        uncleanable: True after a failed pass; no pass runs until it restarts.
        fetching_failed: True when it could not append a fetch; it fetches no more until it restarts
            or follows a leader of another epoch.
        epoch_file: Entries of the leader epoch checkpoint, where a crash left it behind or ahead
            of the log; None = those of the cache.
        snapshots: Its snapshots by id.
        download: The snapshot it is fetching; None without one.
    """

    name: str
    log: Log = field(default_factory=Log)
    up: bool = True
    epoch: int = 0
    vote: tuple[int, str] | None = None
    leadership: Leadership | None = None
    first_dirty_offset: int = 0
    begun_offset: int = 0
    last_cleaning: tuple[int, int] | None = None
    cleanly_compacted_offset: int = 0
    removal_bound: int = 0
    marker_removal_bound: int = 0
    disk: int = 1
    removed_tombstone_end: int = 0
    version_floor: tuple[int, ...] | None = None
    stubs: dict[str, Record] = field(default_factory=dict)
    uncleanable: bool = False
    fetching_failed: bool = False
    epoch_file: list[EpochEntry] | None = None
    snapshots: dict[SnapshotId, Snapshot] = field(default_factory=dict)
    download: SnapshotDownload | None = None

    def latest_snapshot(self) -> Snapshot | None:
        """The snapshot with the highest end offset; None without snapshots."""
        return self.snapshots[max(self.snapshots)] if self.snapshots else None

    def base_snapshot(self) -> Snapshot | None:
        """The snapshot that the log continues: it ends where the log starts; None without one."""
        start = self.log.log_start_offset
        found = [snapshot for id_, snapshot in self.snapshots.items() if id_.end_offset == start]
        return found[-1] if found and start > 0 else None

    @property
    def last_fetched_epoch(self) -> int:
        """The newest epoch of the log, or of the snapshot that an empty log continues.

        The latter counts only where the epoch cache is empty, too. -1 when neither is known.
        Source: KafkaMetadataLog.lastFetchedEpoch.
        """
        latest, log = self.log.epochs.latest, self.log
        if latest < 0 and log.log_end_offset == log.log_start_offset:
            base = self.base_snapshot()
            return latest if base is None else base.id.epoch
        return latest

    def sees(self, epoch: int) -> None:
        """Remembers the highest epoch; a leader that sees one above its own stops leading."""
        if epoch > self.epoch:
            self.epoch = epoch
        if self.leadership is not None and self.leadership.epoch < epoch:
            self.leadership = None


def truncate(replica: Replica, target: int) -> list[Event]:
    """Cuts the log at `target` (exclusive end) and lowers the cleaner's checkpoint with it.

    Epochs that start at or above the target are forgotten even when no record goes, unless
    `epoch_cut: kept`. Snapshots and stubs of what is cut off go with it, as after an unclean
    election.
    """
    log = replica.log
    known = len(log.epochs.entries)
    end, high_watermark, start = log.log_end_offset, log.high_watermark, log.log_start_offset
    lowest = log.truncate_to(target)
    _lower_checkpoints(replica)
    if target >= end:
        left = log.epochs.entries
        return [EpochCacheChanged(replica.name, tuple(left))] if len(left) < known else []
    leading = replica.leadership is not None
    below = lowest if lowest < target else None
    now_ends = log.log_end_offset
    kept = log.high_watermark > now_ends
    cut = Truncated(replica.name, target, end, high_watermark, start, leading, below, kept)
    replica.stubs = {key: stub for key, stub in replica.stubs.items() if stub.offset < now_ends}
    gone = sorted(id_ for id_ in replica.snapshots if now_ends < id_.end_offset <= end)
    for id_ in gone:
        del replica.snapshots[id_]
    return [cut, *[SnapshotDeleted(replica.name, id_.end_offset, id_.epoch) for id_ in gone]]


def crash(replica: Replica, *, lost_batches: int = 0, lost_from: int | None = None) -> list[Event]:
    """Goes down and loses the last `lost_batches` batches, or all from offset `lost_from` on.

    Leadership does not end with a crash (the epoch is on disk), but recorded positions are gone.
    The cleaner's checkpoint is a file of its own. In timed runs the loss does not change it: the
    next look of the cleaner corrects it (LogCleanerManager.cleanableOffsets). In stories it is
    lowered to the log end. Epochs that start at the remaining end are forgotten even when no record
    is lost, if the log was cut there.
    """
    replica.up = False
    if replica.leadership is not None:
        replica.leadership.fetch_times.clear()
        replica.leadership.positions.clear()
    log, checkpoint = replica.log, replica.first_dirty_offset
    before, known = log.log_end_offset, list(log.epochs.entries)
    log.lose_tail(lost_batches)
    if lost_from is not None:
        log.truncate_to(lost_from)
    _lower_checkpoints(replica)
    if log.config.aligned:
        replica.first_dirty_offset = checkpoint
    end = log.log_end_offset
    events: list[Event] = [ReplicaCrashed(replica.name, end, log.high_watermark, replica.epoch)]
    if end < before:
        known = [entry for entry in known if entry.start_offset < end]
    if log.epochs.entries != known:
        events.append(EpochCacheChanged(replica.name, tuple(log.epochs.entries)))
    return events


def restart(replica: Replica, *, rules: Rules) -> list[Event]:
    """Comes back with the votes and epochs that the rules keep on disk (QuorumState.initialize).

    A leader has resigned under `leader_restart: resigned`, and whenever it forgot its epoch. A
    partly fetched snapshot is lost (KafkaMetadataLog.recoverSnapshots). A log end that is derived
    from the last record is not below what was cleaned, if the fix writes that down.
    """
    if rules.election.leader_restart == "resigned":
        replica.leadership = None
    if rules.election.vote_storage != "disk":
        replica.vote = None
    if rules.election.epoch_storage == "memory":
        replica.leadership = None
        replica.epoch = max(0, replica.log.epochs.latest)
    replica.up = True
    replica.download = None
    replica.uncleanable = False
    replica.fetching_failed = False
    if rules.storage.leo_source == "last_record":
        begun = max(replica.first_dirty_offset, replica.begun_offset)
        cleaned = begun if rules.cleaner.fix_applied.persists_log_end else 0
        replica.log.recompute_log_end_offset(at_least=cleaned)
        _lower_checkpoints(replica)
    log = replica.log
    log.reload_producers()
    return [ReplicaRestarted(replica.name, log.log_end_offset, log.high_watermark, replica.epoch)]


def wipe(replica: Replica, *, reason: str) -> list[Event]:
    """Loses everything on disk, the epoch included, as with a new disk; the replica is up after."""
    begin_anew(replica, epoch=0)
    return [ReplicaWiped(replica.name, reason)]


def begin_anew(replica: Replica, *, epoch: int) -> None:
    """Throws all state away, the vote included; only `epoch` is remembered as the highest seen."""
    disk = replica.disk + 1
    Replica.__init__(replica, replica.name, Log(replica.log.config), epoch=epoch, disk=disk)


def _lower_checkpoints(replica: Replica) -> None:
    """Lowers the checkpoints of cleaning to the log end.

    Kafka lowers the checkpoint to the base of the present active segment
    (LogCleanerManager.maybeTruncateCheckpoint).
    """
    log = replica.log
    end = log.log_end_offset
    checkpoint = min(replica.first_dirty_offset, end)
    if log.config.aligned:
        checkpoint = min(checkpoint, max(log.active.base_offset, log.log_start_offset))
    replica.first_dirty_offset = checkpoint
    replica.begun_offset = min(replica.begun_offset, end)
    replica.cleanly_compacted_offset = min(replica.cleanly_compacted_offset, checkpoint)
    if replica.last_cleaning is not None:
        cleaned_end, at_ms = replica.last_cleaning
        replica.last_cleaning = (min(cleaned_end, checkpoint), at_ms)


Frozen = tuple[Any, ...]
"""The value of a replica: hashable, equal for replicas that behave alike."""

_ATOMS = (str, bytes, int, type(None), tuple, frozenset, Enum, LogConfig)
"""Immutable types, like frozen structs; tuples and structs of a replica hold only such values."""


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A frozen value in which replicas have other names; records are as they were.

    A tuple of names alone, like an in-sync set, is put in the order of names.
    """
    if isinstance(value, str):
        return names.get(value, value)
    if not isinstance(value, tuple):
        return value
    parts = [renamed(part, names) for part in value]
    if parts and parts[0] is dict:
        return (dict, *sorted(parts[1:]))
    if all(isinstance(part, str) for part in parts):
        return tuple(sorted(parts))
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


@cache
def attributes(kind: type) -> tuple[str, ...]:
    """The names of the attributes of a class, in alphabetical order."""
    return tuple(sorted({name for one in kind.__mro__ for name in getattr(one, "__slots__", ())}))


def freeze(value: Any) -> Any:
    """A replica, or a part of one, as a value."""
    kind: Any = type(value)
    if _is_atom(kind):
        return value
    if kind is list or kind is deque:
        return (kind, *[freeze(item) for item in value])
    if kind is dict:
        return (dict, *sorted([(key, freeze(item)) for key, item in value.items()]))
    return (kind, *[freeze(getattr(value, name)) for name in attributes(kind)])


@cache
def _is_atom(kind: type) -> bool:
    if issubclass(kind, Struct):
        return kind.__struct_config__.frozen
    return issubclass(kind, _ATOMS)


def maker(value: Any) -> Callable[[], Any]:
    """A function that makes what `freeze` has made a value of, a new one at each call."""
    if not _is_frozen(value):
        return lambda: value
    kind: Any = value[0]
    if kind is dict:
        makers = [(key, maker(item)) for key, item in value[1:]]
        return lambda: {key: make() for key, make in makers}
    if kind is list or kind is deque:
        return _maker_of_items(value)
    kept: dict[str, Any] = {}
    made: dict[str, Callable[[], Any]] = {}
    for name, item in zip(attributes(kind), value[1:], strict=True):
        if _is_frozen(item):
            made[name] = maker(item)
        else:
            kept[name] = item

    def make() -> Any:
        parts = kept | {name: make_item() for name, make_item in made.items()}
        if issubclass(kind, Struct):
            return kind(**parts)
        one = kind.__new__(kind)
        for name, part in parts.items():
            setattr(one, name, part)
        return one

    return make


def _maker_of_items(value: Frozen) -> Callable[[], Any]:
    kind, *items = value
    if any(map(_is_frozen, items)):
        makers = [maker(item) for item in items]
        return lambda: [make() for make in makers]
    if kind is deque:
        return lambda: deque(items, maxlen=REMEMBERED_BATCHES)
    return items.copy


def _is_frozen(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], type)
