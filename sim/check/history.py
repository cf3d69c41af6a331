"""Facts of a run: what was written, committed and held, kept up to date by events alone.

Committed history is never read from a compacted log: it is noted when a leader commits, and every
replica is compared with it, not with another replica. What invariants ask about these facts is
`sim.check.queries`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sim.check.replica_view import EMPTY, HOLE, ReplicaView
from sim.compaction import TOMBSTONE_MARKS
from sim.compaction.strategies import Strategy, Version, promised_strategy
from sim.log import Batch, Control, Record
from sim.rules import Rules
from sim.trace import (
    Appended,
    Cleaned,
    Copied,
    Event,
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


class Written(NamedTuple):
    """What is known of one append, by its uid."""

    record: Record
    epoch: int
    producer_id: int
    transactional: bool
    control: Control | None
    tombstone: bool
    version: Version


class ClusterHistory:
    """What was appended and committed in a cluster, and what every replica holds.

    Attributes:
        rules: The rules of the run, where they change the newest; they say what beats what and
            what marks a tombstone.
        zombies_count: Whether an append by a deposed leader that has not heard of it yet is held
            to `no-offset-reuse`. The story format says so; in a timed run such an append is what
            epochs are there for: it is never committed, and truncated when the leader hears.
        handlers: Class of event -> what takes it in.
        replicas: By name, in order of creation.
        removed_replicas: Who has left for good.
        leader: Who was elected in the newest epoch.
        newest_epoch: The highest epoch anybody was elected in.
        isr: The in-sync set, as that leader sees it.
        voters: Who counts for a majority.
        written: uid -> what was appended.
        uids_of_key: key -> uids appended for it, in order.
        committed: Index = offset; uid that was there when the offset was first committed.
        committed_twice: Offset -> the second uid that was committed there.
        winners: key -> uid of the winning committed, decided record.
        status: uid -> True committed, False aborted, for decided transactional data.
        aborted: uids of committed data whose transaction was aborted.
        undecided: producer -> uids of committed data of its open transaction.
        contested_offsets: Offsets that were given to more than one uid.
        disagreeing_offsets: Contested offsets at which replicas hold different uids at present.
        expired_below: Offsets below were deleted by retention on some replica (exclusive).
        recommitted: By the latest high watermark: (offset, uid) that were committed as another.
        reassigned: By the latest append: (record, uid that had the same offset and epoch before).
        altered: By the latest copy: records that are not the very ones that were appended.
        previous_high_watermark: Of the replica whose high watermark moved last, before it moved.
    """

    def __init__(
        self, rules: Rules, *, zombies_count: bool = True, earlier: Iterable[Rules] = ()
    ) -> None:
        """Nothing has happened in a run under `rules`.

        `earlier` rules were in force on some replica as well: what lost under them may be gone.
        """
        self.rules = rules
        self.zombies_count = zombies_count
        earlier = tuple(earlier)
        self._version = _promised(rules).version
        self._earlier: list[tuple[Callable[[Record], Version], dict[str, Version]]] = [
            (_promised(one).version, {}) for one in earlier
        ]
        self.is_tombstone = TOMBSTONE_MARKS[rules.cleaner.tombstone_mark]
        marks = dict.fromkeys(one.cleaner.tombstone_mark for one in earlier)
        self._earlier_marks = [TOMBSTONE_MARKS[mark] for mark in marks]
        self.replicas: dict[str, ReplicaView] = {}
        self.removed_replicas: set[str] = set()
        self.leader: str | None = None
        self.newest_epoch = 0
        self.isr: tuple[str, ...] = ()
        self.voters: tuple[str, ...] = ()
        self.written: dict[int, Written] = {}
        self.uids_of_key: dict[str, list[int]] = {}
        self.committed: list[int] = []
        self.committed_twice: dict[int, int] = {}
        self.winners: dict[str, int] = {}
        self.status: dict[int, bool] = {}
        self.aborted: set[int] = set()
        self.undecided: dict[int, list[int]] = {}
        self._uid_of_offset_and_epoch: dict[tuple[int, int], int] = {}
        self._first_uid_of_offset: dict[int, int] = {}
        self.contested_offsets: set[int] = set()
        self.disagreeing_offsets: list[int] = []
        self.expired_below = 0
        self.recommitted: list[tuple[int, int]] = []
        self.reassigned: list[tuple[Record, int]] = []
        self.altered: list[Record] = []
        self.previous_high_watermark = 0
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
            ReplicaRemoved: self._removed,
            ReplicaCrashed: self._crashed,
            ReplicaRestarted: self._restarted,
            ReplicaWiped: self._emptied,
            LogEmptied: self._emptied,
            LeaderElected: self._elected,
            IsrChanged: self._isr_changed,
            SnapshotTaken: self._snapshot_taken,
            SnapshotDeleted: self._snapshot_deleted,
            PrefixDeleted: self._prefix_deleted,
            LogStartMoved: self._log_start_moved,
            LogStartedAfresh: self._started_afresh,
            SnapshotInstalled: self._snapshot_installed,
        }

    def apply(self, event: Event) -> None:
        """Take in what happened."""
        handler = self.handlers.get(event.__class__)
        if handler is not None:
            handler(event)

    def may_be_absent(self, uid: int) -> bool:
        """Committed facts alone explain that a log lacks committed `uid`, now and for ever.

        It was beaten by a committed record, is a tombstone or a marker (their own invariants
        judge those), is aborted data, or has no key.
        """
        known = self.written.get(uid)
        if known is None or known.tombstone:
            return True
        if known.control is not None:
            return known.control in (Control.COMMIT, Control.ABORT)
        key = known.record.key
        if key is None or uid in self.aborted:
            return True
        winner = self.winners.get(key)
        if winner is not None and self.written[winner].version > known.version:
            return True
        return self.lost_under_earlier_rules(uid)

    def lost_under_earlier_rules(self, uid: int) -> bool:
        """By rules in force earlier, a committed record beats keyed `uid`, or it is a delete."""
        record = self.written[uid].record
        return any(
            record.key in highest and highest[record.key] > version(record)
            for version, highest in self._earlier
        ) or any(is_tombstone(record) for is_tombstone in self._earlier_marks)

    # Who is there, and who leads.

    def _added(self, event: ReplicaAdded) -> None:
        self.replicas[event.replica] = ReplicaView(event.replica)
        self.removed_replicas.discard(event.replica)

    def _removed(self, event: ReplicaRemoved) -> None:
        del self.replicas[event.replica]
        self.removed_replicas.add(event.replica)
        self.isr, self.voters = self._present(self.isr), self._present(self.voters)

    def _present(self, names: tuple[str, ...]) -> tuple[str, ...]:
        removed = self.removed_replicas
        return tuple([name for name in names if name not in removed]) if removed else names

    def _crashed(self, event: ReplicaCrashed) -> None:
        view = self.replicas[event.replica]
        view.up = False
        view.truncate_to(event.log_end_offset)
        view.high_watermark = event.high_watermark
        view.log_end_offset_before = len(view.slots)
        self._after_a_loss()

    def _restarted(self, event: ReplicaRestarted) -> None:
        view = self.replicas[event.replica]
        view.up = True
        view.log_end_offset_before = len(view.slots)
        view.truncate_to(event.log_end_offset)
        view.high_watermark = event.high_watermark

    def _emptied(self, event: ReplicaWiped | LogEmptied) -> None:
        self.replicas[event.replica] = ReplicaView(event.replica)
        self._after_a_loss()

    def _elected(self, event: LeaderElected) -> None:
        # Of two leaders the older may hear later of its election, and of a set that is no more.
        if event.epoch >= self.newest_epoch:
            self.leader, self.newest_epoch = event.replica, event.epoch
            self.isr, self.voters = self._present(event.isr), self._present(event.voters)

    def _isr_changed(self, event: IsrChanged) -> None:
        if event.replica == self.leader:
            self.isr = self._present(event.isr)

    # What is written.

    def _appended(self, event: Appended) -> None:
        view, batch = self.replicas[event.replica], event.batch
        self.reassigned = []
        for record in batch.records:
            self._enter(batch, record)
        self._write(view, batch, None)

    def _pushed(self, event: Pushed) -> None:
        view, batch = self.replicas[event.replica], event.batch
        for record in batch.records:
            self._uid_of_offset_and_epoch.setdefault((record.offset, batch.epoch), record.uid)
            self._assign(record.offset, record.uid)
        self._write(view, batch, None)

    def _enter(self, batch: Batch, record: Record) -> None:
        """Note a new append."""
        uid, offset, key = record.uid, record.offset, record.key
        tombstone = batch.control is None and key is not None and self.is_tombstone(record)
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
        earlier = self._uid_of_offset_and_epoch.setdefault((offset, batch.epoch), uid)
        if earlier != uid:
            self.reassigned.append((record, earlier))
        self._assign(offset, uid)

    def _assign(self, offset: int, uid: int) -> None:
        """Note that an offset was given to a uid."""
        if self._first_uid_of_offset.setdefault(offset, uid) != uid:
            self.contested_offsets.add(offset)

    def _copied(self, event: Copied) -> None:
        view, leader = self.replicas[event.replica], self.replicas.get(event.leader)
        written = self.written
        self.altered = []
        for batch in event.batches:
            for record in batch.records:
                if written[record.uid].record is not record:
                    self.altered.append(record)
            self._write(view, batch, leader)

    def _gap_learned(self, event: GapLearned) -> None:
        leader = self.replicas.get(event.leader)
        self._leave_a_gap(self.replicas[event.replica], event.log_end_offset, leader)

    def _write(self, view: ReplicaView, batch: Batch, leader: ReplicaView | None) -> None:
        """Append the slots of a batch; offsets without a record inherit what `leader` knows."""
        slots, lineage, committed = view.slots, view.lineage, self.committed
        known = len(committed)
        for record in batch.records:
            offset, uid = record.offset, record.uid
            if len(slots) < offset:
                self._leave_a_gap(view, offset, leader)
            slots.append(uid)
            lineage.append(uid)
            if offset < known and committed[offset] != uid:
                view.unexplained_offsets.add(offset)
        if len(slots) <= batch.last_offset:
            self._leave_a_gap(view, batch.last_offset + 1, leader)
        if not batch.records:
            slots[batch.last_offset] = EMPTY
        if batch.delete_horizon_ms is not None:
            view.horizons[batch.base_offset] = batch.delete_horizon_ms
        contested = self.contested_offsets
        if contested and any(record.offset in contested for record in batch.records):
            self._find_disagreement()

    def _leave_a_gap(self, view: ReplicaView, end: int, leader: ReplicaView | None) -> None:
        """The log of `view` goes on at `end`, and holds nothing below it."""
        start = len(view.slots)
        view.slots.extend([HOLE] * (end - start))
        known = leader.lineage[start:end] if leader is not None else []
        view.lineage.extend(known + [0] * (end - start - len(known)))
        for offset in range(start, end):
            if offset >= len(self.committed):
                if leader is not None and offset in leader.unexplained_offsets:
                    view.unexplained_offsets.add(offset)
            elif not self.may_be_absent(self.committed[offset]):
                view.unexplained_offsets.add(offset)

    # What is committed.

    def _high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        view = self.replicas[event.replica]
        previous, view.high_watermark = view.high_watermark, event.high_watermark
        self.previous_high_watermark = previous
        self.recommitted = []
        if event.leading:
            for offset in range(previous, event.high_watermark):
                self._commit(offset, view.lineage[offset])

    def _commit(self, offset: int, uid: int) -> None:
        committed = self.committed
        if offset < len(committed):
            if committed[offset] != uid:
                self.committed_twice.setdefault(offset, uid)
                self.recommitted.append((offset, uid))
            return
        committed.append(uid)
        self._decide(uid)
        for view in self.replicas.values():
            slots = view.slots
            if offset < len(slots):
                slot = slots[offset]
                if slot != uid and not (slot <= 0 and self.may_be_absent(uid)):
                    view.unexplained_offsets.add(offset)

    def _decide(self, uid: int) -> None:
        """Fold a committed uid into the winners, once its transaction is decided."""
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
        known = self.written[uid]
        key = known.record.key
        if key is not None:
            winner = self.winners.get(key)
            if winner is None or known.version > self.written[winner].version:
                self.winners[key] = uid
            for version, highest in self._earlier:
                own = version(known.record)
                highest[key] = max(own, highest.get(key, own))

    # What is cleaned, cut and replaced.

    def _truncated(self, event: Truncated) -> None:
        view = self.replicas[event.replica]
        target = max(event.target, view.log_start_offset)
        view.truncate_to(target)
        if event.kept_high_watermark:
            view.high_watermark = event.high_watermark
        if event.lowest is not None:
            self._lose(view, range(max(event.lowest, view.log_start_offset), target))
        self._after_a_loss()

    def _lose(self, view: ReplicaView, offsets: range) -> None:
        """A cut took slots below its target: the rest of a batch that straddled it."""
        for offset in offsets:
            view.slots[offset], view.lineage[offset] = HOLE, 0
            committed = offset < len(self.committed)
            if committed and not self.may_be_absent(self.committed[offset]):
                view.unexplained_offsets.add(offset)
            else:
                view.unexplained_offsets.discard(offset)

    def _cleaned(self, event: Cleaned) -> None:
        view = self.replicas[event.replica]
        slots, committed, unexplained = view.slots, self.committed, view.unexplained_offsets
        view.log_end_offset_before = len(slots)
        for removal in event.removals:
            offset = removal.offset
            slots[offset] = HOLE
            if (
                offset >= len(committed)
                or committed[offset] != removal.uid
                or not self.may_be_absent(removal.uid)
            ):
                unexplained.add(offset)
        for offset in event.emptied:
            slots[offset] = EMPTY
        for offset in event.dropped:
            if slots[offset] == EMPTY:
                slots[offset] = HOLE
        for base, horizon in event.horizons:
            view.horizons[base] = horizon
        view.first_dirty_offset = max(view.first_dirty_offset, event.upper_bound)
        if event.log_end_offset < len(slots):
            view.truncate_to(event.log_end_offset)
        self._after_a_loss()

    def _segments_lost(self, event: SegmentsLost) -> None:
        view = self.replicas[event.replica]
        for offset in event.offsets:
            view.slots[offset] = HOLE
            view.unexplained_offsets.add(offset)
        self._after_a_loss()

    def _snapshot_taken(self, event: SnapshotTaken) -> None:
        snapshots = self.replicas[event.replica].snapshots
        snapshots[(event.end_offset, event.epoch)] = event.records

    def _snapshot_deleted(self, event: SnapshotDeleted) -> None:
        self.replicas[event.replica].snapshots.pop((event.end_offset, event.epoch), None)

    def _prefix_deleted(self, event: PrefixDeleted | LogStartMoved) -> None:
        view = self.replicas[event.replica]
        for offset in range(view.log_start_offset, event.log_start_offset):
            view.slots[offset] = HOLE
        view.log_start_offset = event.log_start_offset
        view.first_dirty_offset = max(view.first_dirty_offset, event.log_start_offset)

    def _log_start_moved(self, event: LogStartMoved) -> None:
        self._prefix_deleted(event)
        self.expired_below = max(self.expired_below, event.log_start_offset)

    def _started_afresh(self, event: LogStartedAfresh) -> None:
        start = event.log_start_offset
        self.replicas[event.replica] = ReplicaView(event.replica, starts_at=start)
        self._after_a_loss()

    def _snapshot_installed(self, event: SnapshotInstalled) -> None:
        view = ReplicaView(event.replica, starts_at=event.end_offset)
        view.snapshots[(event.end_offset, event.epoch)] = event.records
        self.replicas[event.replica] = view
        self._after_a_loss()

    # Where replicas disagree.

    def _after_a_loss(self) -> None:
        """Records went from a replica: that can only end a disagreement."""
        if self.disagreeing_offsets:
            self._find_disagreement()

    def _find_disagreement(self) -> None:
        """Find the contested offsets at which replicas hold different uids now."""
        logs = [view.slots for view in self.replicas.values()]
        self.disagreeing_offsets = [
            offset
            for offset in sorted(self.contested_offsets)
            if len({log[offset] for log in logs if offset < len(log) and log[offset] > 0}) > 1
        ]


def _promised(rules: Rules) -> Strategy:
    """The order by which winners are judged."""
    return promised_strategy(
        rules.cleaner.strategy,
        header=rules.topic.strategy_header,
        header_form=rules.cleaner.header_form,
    )
