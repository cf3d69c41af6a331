"""The oracle: what was written, what was committed, and what each replica's disk holds.

It is rebuilt from events alone. Committed history is never read from a compacted log: every
replica is compared with this ledger, not with another replica.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sim.compaction import TOMBSTONE_MARKS, strategy_for
from sim.compaction.strategies import Version
from sim.log import Batch, Control, Record
from sim.replication import Rules
from sim.trace import (
    Appended,
    Cleaned,
    Copied,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    PrefixDeleted,
    Pushed,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotDeleted,
    SnapshotInstalled,
    SnapshotTaken,
    Truncated,
)

HOLE = 0
"""No slot at this offset."""

EMPTY = -1
"""A slot whose record is gone: offset and epoch are kept."""


class Written(NamedTuple):
    """What is known of one append, by its uid."""

    record: Record
    epoch: int
    producer_id: int
    transactional: bool
    control: Control | None
    tombstone: bool
    version: Version


class Disk:
    """What one replica holds, offset by offset.

    Attributes:
        name: The replica.
        up: False while it is down; its disk still counts.
        start: Log start offset (inclusive).
        hw: High watermark (exclusive).
        clean: Everything below was cleaned (exclusive).
        slots: Index = offset; the uid there, EMPTY or HOLE. Its length is the log end offset.
        lineage: Index = offset; the uid last written there in this log's history, kept when
            cleaning removes the record and inherited with a copied gap; 0 = unknown.
        suspects: Offsets whose slot is not the committed record and whose absence no committed
            fact excuses for good; they are judged when somebody asks.
        leo_before: Log end offset before the latest cleaning pass or crash.
        snapshots: (end offset, epoch) -> its records.
        horizons: Base offset of a batch -> delete horizon in ms.
    """

    __slots__ = (
        "clean",
        "horizons",
        "hw",
        "leo_before",
        "lineage",
        "name",
        "slots",
        "snapshots",
        "start",
        "suspects",
        "up",
    )

    def __init__(self, name: str) -> None:
        """An empty disk."""
        self.name = name
        self.up = True
        self.start = 0
        self.hw = 0
        self.clean = 0
        self.slots: list[int] = []
        self.lineage: list[int] = []
        self.suspects: set[int] = set()
        self.leo_before = 0
        self.snapshots: dict[tuple[int, int], tuple[Record, ...]] = {}
        self.horizons: dict[int, int] = {}

    @property
    def leo(self) -> int:
        """Log end offset (exclusive)."""
        return len(self.slots)

    def at(self, offset: int) -> int:
        """The uid at `offset`, EMPTY or HOLE."""
        return self.slots[offset] if offset < len(self.slots) else HOLE

    def cut(self, end: int) -> None:
        """Forget everything at or above `end`."""
        del self.slots[end:]
        del self.lineage[end:]
        if self.suspects:
            self.suspects = {offset for offset in self.suspects if offset < end}
        if self.horizons:
            self.horizons = {base: at for base, at in self.horizons.items() if base < end}
        self.hw = min(self.hw, end)
        self.clean = min(self.clean, end)


class Ledger:
    """The cluster-wide book of appends and commits, and a shadow of every disk.

    Attributes:
        rules: The rules of the run; they say what beats what and what marks a tombstone.
        disks: By replica, in order of creation.
        written: uid -> what was appended.
        uids_of_key: key -> uids appended for it, in order.
        committed: Index = offset; uid that was there when the offset was first committed (H).
        committed_twice: Offset -> the second uid that was committed there.
        winners: key -> uid of the winning committed, decided record.
        aborted: uids of committed data whose transaction was aborted.
        undecided: producer -> uids of committed data of its open transaction.
        status: uid -> True committed, False aborted, for decided transactional data.
        uid_at: (offset, epoch) -> uid first assigned there.
        contested: Offsets that were given to more than one uid.
        disagreeing: Contested offsets at which disks hold different uids at present.
        zombies_count: Whether an append by a deposed leader that has not heard of it yet is held
            to `no-offset-reuse`. The story format says so; in a timed run such an append is what
            epochs are there for: it is never committed, and truncated when the leader hears.
        newest_epoch: The highest epoch anybody was elected in.
        leader: Who was elected last.
        isr: The in-sync set, as the leader that changed it last sees it.
        voters: Who counts for a majority.
        recommitted: By the latest high watermark: (offset, uid) of those committed before as another.
        reassigned: By the latest append: (record, uid that had the same offset and epoch before).
        altered: By the latest copy: records that are not the very ones that were appended.
        previous_hw: The high watermark of the replica of the latest event, before it moved.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        label: Callable[[int], str | None] = lambda _: None,
        zombies_count: bool = True,
    ) -> None:
        """An empty book for a run under `rules`; `label` names uids in sentences."""
        self.rules = rules
        self.zombies_count = zombies_count
        self.newest_epoch = 0
        self._version = strategy_for(rules.strategy, header=rules.strategy_header).version
        self._is_tombstone = TOMBSTONE_MARKS[rules.tombstone_mark]
        self._label = label
        self.disks: dict[str, Disk] = {}
        self.written: dict[int, Written] = {}
        self.uids_of_key: dict[str, list[int]] = {}
        self.committed: list[int] = []
        self.committed_twice: dict[int, int] = {}
        self.winners: dict[str, int] = {}
        self.aborted: set[int] = set()
        self.undecided: dict[int, list[int]] = {}
        self.status: dict[int, bool] = {}
        self.uid_at: dict[tuple[int, int], int] = {}
        self._first_uid: dict[int, int] = {}
        self.contested: set[int] = set()
        self.disagreeing: list[int] = []
        self.leader: str | None = None
        self.isr: tuple[str, ...] = ()
        self.voters: tuple[str, ...] = ()
        self.recommitted: list[tuple[int, int]] = []
        self.reassigned: list[tuple[Record, int]] = []
        self.altered: list[Record] = []
        self.previous_hw = 0
        self._apply: dict[type, Callable[..., None]] = {
            Appended: self._appended,
            Copied: self._copied,
            HighWatermarkMoved: self._high_watermark_moved,
            Cleaned: self._cleaned,
            Truncated: self._truncated,
            Pushed: self._pushed,
            ReplicaAdded: self._added,
            ReplicaCrashed: self._crashed,
            ReplicaRestarted: self._restarted,
            ReplicaWiped: self._wiped,
            LeaderElected: self._elected,
            IsrChanged: self._isr_changed,
            SnapshotTaken: self._snapshot_taken,
            SnapshotDeleted: self._snapshot_deleted,
            PrefixDeleted: self._prefix_deleted,
            SnapshotInstalled: self._snapshot_installed,
        }

    def apply(self, event: object) -> None:
        """Take an event into the book."""
        handler = self._apply.get(event.__class__)
        if handler is not None:
            handler(event)

    # What the invariants ask.

    def describe(self, uid: int) -> str:
        """A record in words: label or key=value, with its offset."""
        known = self.written.get(uid)
        if known is None:
            return "nothing"
        record = known.record
        label = self._label(uid)
        if label is not None:
            return f"{label}@{record.offset}"
        if known.control is not None:
            return (
                f"{known.control} marker of producer {known.producer_id} (offset {record.offset})"
            )
        if known.tombstone:
            return f"tombstone of {record.key} (offset {record.offset})"
        return f"{record.key}={record.value} (offset {record.offset})"

    def beats(self, uid: int, other: int) -> bool:
        """Whether `uid` wins over `other` of the same key under the topic's strategy."""
        return self.written[uid].version > self.written[other].version

    def is_value(self, uid: int) -> bool:
        """Keyed data that is neither a tombstone nor aborted."""
        known = self.written[uid]
        return (
            known.control is None
            and known.record.key is not None
            and not known.tombstone
            and uid not in self.aborted
        )

    def excused_for_good(self, uid: int) -> bool:
        """The absence of a committed `uid` is explained by committed facts, now and for ever.

        It was beaten by a committed record, is a tombstone or a marker (their own invariants
        judge those), is aborted data, or has no key.
        """
        known = self.written.get(uid)
        if known is None or known.tombstone:
            return True
        if known.control is not None:
            return known.control is not Control.LEADER_CHANGE
        key = known.record.key
        if key is None or uid in self.aborted:
            return True
        winner = self.winners.get(key)
        return winner is not None and self.written[winner].version > known.version

    def excused(self, uid: int) -> bool:
        """As `excused_for_good`, or the present leader holds a record that beats it."""
        if self.excused_for_good(uid):
            return True
        if self.leader is None:
            return False
        slots = self.disks[self.leader]
        key = self.written[uid].record.key
        return any(
            other != uid
            and self.beats(other, uid)
            and slots.at(self.written[other].record.offset) == other
            for other in self.uids_of_key.get(key or "", ())
        )

    def has_committed(self, disk: Disk, offset: int) -> bool:
        """Whether `disk` has a committed offset: the uid, an empty slot or a justified hole."""
        if offset >= len(disk.slots):
            return False
        slot, uid = disk.slots[offset], self.committed[offset]
        if slot in (uid, EMPTY):
            return True
        return slot == HOLE and self.excused(uid)

    def first_missing(self, disk: Disk, below: int, *, twice_counts: bool) -> int | None:
        """The lowest committed offset in [start, below) that `disk` does not have; None = all.

        `twice_counts` false leaves out offsets that were committed twice.
        """
        below = min(below, len(self.committed))
        if len(disk.slots) >= below and not disk.suspects:
            return None
        for offset in sorted(disk.suspects):
            if disk.start <= offset < below and not self.has_committed(disk, offset):
                if twice_counts or offset not in self.committed_twice:
                    return offset
        for offset in range(max(len(disk.slots), disk.start), below):
            if twice_counts or offset not in self.committed_twice:
                return offset
        return None

    def pairs_differing(self, offset: int) -> Iterable[tuple[Disk, Disk]]:
        """Pairs of disks with different records at `offset`, in order of creation."""
        holders = [disk for disk in self.disks.values() if disk.at(offset) > 0]
        for index, disk in enumerate(holders):
            for other in holders[index + 1 :]:
                if disk.slots[offset] != other.slots[offset]:
                    yield disk, other

    # Events.

    def _added(self, event: ReplicaAdded) -> None:
        self.disks[event.replica] = Disk(event.replica)

    def _crashed(self, event: ReplicaCrashed) -> None:
        disk = self.disks[event.replica]
        disk.up = False
        disk.cut(event.log_end_offset)
        disk.hw = event.high_watermark
        disk.leo_before = len(disk.slots)
        self._refresh_disagreement()

    def _restarted(self, event: ReplicaRestarted) -> None:
        disk = self.disks[event.replica]
        disk.up = True
        disk.leo_before = len(disk.slots)
        disk.cut(event.log_end_offset)
        disk.hw = event.high_watermark

    def _wiped(self, event: ReplicaWiped) -> None:
        self.disks[event.replica] = Disk(event.replica)
        self._refresh_disagreement()

    def _elected(self, event: LeaderElected) -> None:
        self.leader, self.isr, self.voters = event.replica, event.isr, event.voters
        self.newest_epoch = max(self.newest_epoch, event.epoch)

    def _isr_changed(self, event: IsrChanged) -> None:
        self.isr = event.isr

    def _appended(self, event: Appended) -> None:
        disk, batch = self.disks[event.replica], event.batch
        self.reassigned = []
        for record in batch.records:
            self._note(batch, record)
        self._write(disk, batch, None)

    def _pushed(self, event: Pushed) -> None:
        disk, batch = self.disks[event.replica], event.batch
        for record in batch.records:
            self.uid_at.setdefault((record.offset, batch.epoch), record.uid)
            self._claim(record.offset, record.uid)
        self._write(disk, batch, None)

    def _note(self, batch: Batch, record: Record) -> None:
        """Enter a new append into the book."""
        uid, offset, key = record.uid, record.offset, record.key
        tombstone = batch.control is None and key is not None and self._is_tombstone(record)
        self.written[uid] = Written(
            record,
            batch.epoch,
            batch.producer_id,
            batch.transactional,
            batch.control,
            tombstone,
            self._version(record),
        )
        if key is not None:
            uids = self.uids_of_key.get(key)
            if uids is None:
                self.uids_of_key[key] = [uid]
            else:
                uids.append(uid)
        earlier = self.uid_at.setdefault((offset, batch.epoch), uid)
        if earlier != uid:
            self.reassigned.append((record, earlier))
        self._claim(offset, uid)

    def _claim(self, offset: int, uid: int) -> None:
        first = self._first_uid.setdefault(offset, uid)
        if first != uid:
            self.contested.add(offset)

    def _copied(self, event: Copied) -> None:
        disk, leader = self.disks[event.replica], self.disks.get(event.leader)
        written = self.written
        self.altered = []
        for batch in event.batches:
            for record in batch.records:
                if written[record.uid].record is not record:
                    self.altered.append(record)
            self._write(disk, batch, leader)

    def _write(self, disk: Disk, batch: Batch, leader: Disk | None) -> None:
        """Append the slots of a batch; offsets without a record inherit what `leader` knows."""
        slots, lineage, committed = disk.slots, disk.lineage, self.committed
        known = len(committed)
        for record in batch.records:
            offset, uid = record.offset, record.uid
            if len(slots) < offset:
                self._gap(disk, offset, leader)
            slots.append(uid)
            lineage.append(uid)
            if offset < known and committed[offset] != uid:
                disk.suspects.add(offset)
        if len(slots) <= batch.last_offset:
            self._gap(disk, batch.last_offset + 1, leader)
        if not batch.records:
            slots[batch.last_offset] = EMPTY
        if batch.delete_horizon_ms is not None:
            disk.horizons[batch.base_offset] = batch.delete_horizon_ms
        if self.contested:
            self._refresh_disagreement()

    def _gap(self, disk: Disk, end: int, leader: Disk | None) -> None:
        start = len(disk.slots)
        disk.slots.extend([HOLE] * (end - start))
        known = leader.lineage[start:end] if leader is not None else []
        disk.lineage.extend(known + [0] * (end - start - len(known)))
        for offset in range(start, end):
            if offset >= len(self.committed):
                if leader is not None and offset in leader.suspects:
                    disk.suspects.add(offset)
            elif not self.excused_for_good(self.committed[offset]):
                disk.suspects.add(offset)

    def _truncated(self, event: Truncated) -> None:
        disk = self.disks[event.replica]
        disk.cut(max(event.target, disk.start))
        self._refresh_disagreement()

    def _high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        disk = self.disks[event.replica]
        previous, disk.hw = disk.hw, event.high_watermark
        self.previous_hw = previous
        self.recommitted = []
        if event.leading:
            for offset in range(previous, event.high_watermark):
                self._commit(offset, disk.lineage[offset])

    def _commit(self, offset: int, uid: int) -> None:
        committed = self.committed
        if offset < len(committed):
            if committed[offset] != uid:
                self.committed_twice.setdefault(offset, uid)
                self.recommitted.append((offset, uid))
            return
        committed.append(uid)
        self._decide(uid)
        for disk in self.disks.values():
            slots = disk.slots
            if offset < len(slots):
                slot = slots[offset]
                if slot != uid and not (slot <= 0 and self.excused_for_good(uid)):
                    disk.suspects.add(offset)

    def _decide(self, uid: int) -> None:
        """Fold a committed uid into the reference state."""
        known = self.written.get(uid)
        if known is None:
            return
        if known.control is not None:
            committed = known.control is Control.COMMIT
            for data in self.undecided.pop(known.producer_id, ()):
                self.status[data] = committed
                if committed:
                    self._fold(data)
                else:
                    self.aborted.add(data)
        elif known.transactional:
            self.undecided.setdefault(known.producer_id, []).append(uid)
        else:
            self._fold(uid)

    def _fold(self, uid: int) -> None:
        key = self.written[uid].record.key
        if key is not None:
            winner = self.winners.get(key)
            if winner is None or self.beats(uid, winner):
                self.winners[key] = uid

    def _cleaned(self, event: Cleaned) -> None:
        disk = self.disks[event.replica]
        slots, committed, suspects = disk.slots, self.committed, disk.suspects
        disk.leo_before = len(slots)
        for removal in event.removals:
            offset = removal.offset
            slots[offset] = HOLE
            if (
                offset >= len(committed)
                or committed[offset] != removal.uid
                or not self.excused_for_good(removal.uid)
            ):
                suspects.add(offset)
        for offset in event.emptied:
            slots[offset] = EMPTY
        for offset in event.dropped:
            if slots[offset] == EMPTY:
                slots[offset] = HOLE
        for base, horizon in event.horizons:
            disk.horizons[base] = horizon
        disk.clean = max(disk.clean, event.upper_bound)
        if event.log_end_offset < len(slots):
            disk.cut(event.log_end_offset)
        self._refresh_disagreement()

    def _snapshot_taken(self, event: SnapshotTaken) -> None:
        snapshots = self.disks[event.replica].snapshots
        snapshots[(event.end_offset, event.epoch)] = event.records

    def _snapshot_deleted(self, event: SnapshotDeleted) -> None:
        self.disks[event.replica].snapshots.pop((event.end_offset, event.epoch), None)

    def _prefix_deleted(self, event: PrefixDeleted) -> None:
        disk = self.disks[event.replica]
        for offset in range(disk.start, event.log_start_offset):
            disk.slots[offset] = HOLE
        disk.start = event.log_start_offset
        disk.clean = max(disk.clean, disk.start)

    def _snapshot_installed(self, event: SnapshotInstalled) -> None:
        fresh = Disk(event.replica)
        end = event.end_offset
        fresh.slots, fresh.lineage = [HOLE] * end, [0] * end
        fresh.start = fresh.hw = fresh.clean = end
        fresh.snapshots = {(end, event.epoch): event.records}
        self.disks[event.replica] = fresh
        self._refresh_disagreement()

    def _refresh_disagreement(self) -> None:
        if self.contested:
            disks = self.disks.values()
            self.disagreeing = [
                offset
                for offset in sorted(self.contested)
                if len({slot for disk in disks if (slot := disk.at(offset)) > 0}) > 1
            ]
