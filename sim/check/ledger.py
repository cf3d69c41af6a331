"""The oracle: a book of what was written, committed and held, kept up to date by events alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sim.check.book import EMPTY, HOLE, Book, Disk, Written
from sim.check.durability import broken_contract
from sim.log import Batch, Control, Record
from sim.rules import Rules
from sim.trace import (
    Appended,
    Cleaned,
    Copied,
    GapLearned,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PrefixDeleted,
    Pushed,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRemoved,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotDeleted,
    SnapshotInstalled,
    SnapshotTaken,
    Truncated,
)

__all__ = ["EMPTY", "HOLE", "Disk", "Ledger"]


class Ledger(Book):
    """The book, and how each event changes it.

    Attributes:
        handlers: Class of event -> what takes it into the book.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        label: Callable[[int], str | None] = lambda _: None,
        zombies_count: bool = True,
        earlier: Iterable[Rules] = (),
    ) -> None:
        """An empty book; see Book for the arguments."""
        super().__init__(rules, label=label, zombies_count=zombies_count, earlier=earlier)
        self.handlers: dict[type, Callable[..., None]] = {
            Appended: self._appended,
            Copied: self._copied,
            GapLearned: self._gap_learned,
            HighWatermarkMoved: self._high_watermark_moved,
            Cleaned: self._cleaned,
            SegmentsLost: self._segments_lost,
            Truncated: self._truncated,
            Pushed: self._pushed,
            ReplicaAdded: self._added,
            ReplicaRemoved: lambda event: self.forget(event.replica),
            ReplicaCrashed: self._crashed,
            ReplicaRestarted: self._restarted,
            ReplicaWiped: self._wiped,
            LeaderElected: self._elected,
            IsrChanged: self._isr_changed,
            SnapshotTaken: self._snapshot_taken,
            SnapshotDeleted: self._snapshot_deleted,
            PrefixDeleted: self._prefix_deleted,
            LogStartMoved: self._log_start_moved,
            LogStartedAfresh: self._started_afresh,
            SnapshotInstalled: self._snapshot_installed,
            LogEmptied: self._wiped,
        }

    def apply(self, event: object) -> None:
        """Take an event into the book."""
        handler = self.handlers.get(event.__class__)
        if handler is not None:
            handler(event)

    def _added(self, event: ReplicaAdded) -> None:
        self.disks[event.replica] = Disk(event.replica)
        self.gone.discard(event.replica)

    def _crashed(self, event: ReplicaCrashed) -> None:
        disk = self.disks[event.replica]
        if self.outside is None and event.log_end_offset < len(disk.slots):
            self.outside = broken_contract(self, disk, event.log_end_offset)
        disk.up = False
        disk.cut(event.log_end_offset)
        disk.hw = event.high_watermark
        disk.leo_before = len(disk.slots)
        self._forget_disagreement()

    def _restarted(self, event: ReplicaRestarted) -> None:
        disk = self.disks[event.replica]
        disk.up = True
        disk.leo_before = len(disk.slots)
        disk.cut(event.log_end_offset)
        disk.hw = event.high_watermark

    def _wiped(self, event: ReplicaWiped | LogEmptied) -> None:
        self.disks[event.replica] = Disk(event.replica)
        self._forget_disagreement()

    def _elected(self, event: LeaderElected) -> None:
        # Of two leaders the older may hear later of its election, and of a set that is no more.
        if event.epoch >= self.newest_epoch:
            self.leader, self.newest_epoch = event.replica, event.epoch
            self.isr, self.voters = self.present(event.isr), self.present(event.voters)

    def _isr_changed(self, event: IsrChanged) -> None:
        if event.replica == self.leader:
            self.isr = self.present(event.isr)

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

    def _gap_learned(self, event: GapLearned) -> None:
        self._gap(self.disks[event.replica], event.log_end_offset, self.disks.get(event.leader))

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
        if self.contested and any(record.offset in self.contested for record in batch.records):
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
        target = max(event.target, disk.start)
        disk.cut(target)
        if event.kept_high_watermark:
            disk.hw = event.high_watermark
        if event.lowest is not None:
            self._lose(disk, range(max(event.lowest, disk.start), target))
        self._forget_disagreement()

    def _lose(self, disk: Disk, offsets: range) -> None:
        """A cut took slots below its target: the rest of a batch that straddled it."""
        for offset in offsets:
            disk.slots[offset], disk.lineage[offset] = HOLE, 0
            committed = offset < len(self.committed)
            if committed and not self.excused_for_good(self.committed[offset]):
                disk.suspects.add(offset)
            else:
                disk.suspects.discard(offset)

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
            for version, highest in self._earlier:
                own = version(self.written[uid].record)
                highest[key] = max(own, highest.get(key, own))

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
        self._forget_disagreement()

    def _segments_lost(self, event: SegmentsLost) -> None:
        disk = self.disks[event.replica]
        for offset in event.offsets:
            disk.slots[offset] = HOLE
            disk.suspects.add(offset)
        self._forget_disagreement()

    def _snapshot_taken(self, event: SnapshotTaken) -> None:
        snapshots = self.disks[event.replica].snapshots
        snapshots[(event.end_offset, event.epoch)] = event.records

    def _snapshot_deleted(self, event: SnapshotDeleted) -> None:
        self.disks[event.replica].snapshots.pop((event.end_offset, event.epoch), None)

    def _prefix_deleted(self, event: PrefixDeleted | LogStartMoved) -> None:
        disk = self.disks[event.replica]
        for offset in range(disk.start, event.log_start_offset):
            disk.slots[offset] = HOLE
        disk.start = event.log_start_offset
        disk.clean = max(disk.clean, disk.start)

    def _log_start_moved(self, event: LogStartMoved) -> None:
        self._prefix_deleted(event)
        self.expired_below = max(self.expired_below, event.log_start_offset)

    def _started_afresh(self, event: LogStartedAfresh) -> None:
        fresh = Disk(event.replica)
        end = event.log_start_offset
        fresh.slots, fresh.lineage = [HOLE] * end, [0] * end
        fresh.start = fresh.hw = fresh.clean = end
        self.disks[event.replica] = fresh
        self._forget_disagreement()

    def _snapshot_installed(self, event: SnapshotInstalled) -> None:
        fresh = Disk(event.replica)
        end = event.end_offset
        fresh.slots, fresh.lineage = [HOLE] * end, [0] * end
        fresh.start = fresh.hw = fresh.clean = end
        fresh.snapshots = {(end, event.epoch): event.records}
        self.disks[event.replica] = fresh
        self._forget_disagreement()
