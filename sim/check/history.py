"""The history of a cluster: questions about the facts of a run, and how each event changes them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from sim.check.facts import EMPTY, HOLE, Facts, ReplicaView
from sim.check.violation import RecordSeen
from sim.protocol import events
from sim.protocol.log.record import Batch, Control

LOGS_STAY: Final = (events.Consumed, events.HighWatermarkMoved, events.PositionRecorded)
"""Frequent events after which every log holds what it held before."""


class ClusterHistory(Facts):
    """The history of a cluster: the facts with questions about them, and changes by events."""

    def describe(self, uid: int) -> RecordSeen:
        """A record as it was appended, for evidence; without fields for an unknown uid."""
        known = self.written.get(uid)
        if known is None:
            return RecordSeen()
        record, control = known.record, known.batch.control
        return RecordSeen(
            uid,
            known.offset,
            known.key,
            record.value,
            known.tombstone,
            None if control is None else str(control),
            known.batch.producer_id,
            self.label(uid),
        )

    def key_of(self, uid: int) -> str | None:
        """The key of a record; None for a record without one, or an unknown uid."""
        known = self.written.get(uid)
        return None if known is None else known.key

    def in_committed_history(self, uid: int) -> bool:
        """True for the record that was committed first at its offset."""
        committed, offset = self.committed, self.written[uid].offset
        return offset < len(committed) and committed[offset] == uid

    def beats(self, uid: int, other: int) -> bool:
        """True if `uid` wins over `other` of the same key under the topic's strategy."""
        written = self.written
        return written[uid].version > written[other].version

    def beating(self, uid: int) -> list[int]:
        """The records of its key that win over `uid`, in order of appends; none without a key."""
        known, written = self.written[uid], self.written
        same_key = () if known.key is None else self.uids_of_key[known.key]
        return [other for other in same_key if written[other].version > known.version]

    def holds(self, view: ReplicaView, uid: int) -> bool:
        """True if a log has the record `uid` at the offset it was appended at."""
        return view.uid_at(self.written[uid].offset) == uid

    def is_value(self, uid: int) -> bool:
        """True for keyed data that is neither a tombstone nor aborted."""
        known = self.written[uid]
        return (
            known.batch.control is None
            and known.key is not None
            and not known.tombstone
            and uid not in self.aborted
        )

    def is_committed(self, uid: int) -> bool:
        """True for a record of committed history whose transaction, if any, is committed."""
        known = self.written[uid]
        return self.in_committed_history(uid) and (
            not known.batch.transactional or self.status.get(uid) is True
        )

    def laggards(self, remover: str, tombstone: int) -> list[tuple[ReplicaView, int]]:
        """Other replicas whose log ends at or below a tombstone, with the values it beats there.

        They may be down. Each is paired with every such value that is not aborted, in order of
        creation, then of appends.
        """
        record = self.written[tombstone].record
        return [
            (view, uid)
            for view in self.replicas.values()
            if view.name != remover and view.log_end_offset <= record.offset
            for uid in self.uids_of_key[record.key or ""]
            if self.holds(view, uid) and self.is_value(uid) and self.beats(tombstone, uid)
        ]

    def verdict_in(self, view: ReplicaView, uid: int) -> bool | None:
        """The verdict of a log's markers on data it holds: true if it counts, None while open.

        Data outside transactions counts; of a transaction the first marker above decides.
        """
        written = self.written
        batch, offset = written[uid].batch, written[uid].offset
        if not batch.transactional:
            return True
        for slot in view.slots[offset + 1 :]:
            above = written[slot].batch if slot > 0 else None
            if (
                above is not None
                and above.producer_id == batch.producer_id
                and above.control in (Control.COMMIT, Control.ABORT)
            ):
                return above.control is Control.COMMIT
        return None

    def marker_to_come(self, view: ReplicaView, uid: int) -> bool:
        """True if a log ends at or below all markers of its producer above `uid`.

        And the leader holds one of them, so that the log is only to fetch it.
        """
        if self.leader is None:
            return False
        producer, leader = self.written[uid].batch.producer_id, self.replicas[self.leader]
        for offset in range(self.written[uid].offset + 1, len(self.committed)):
            known = self.written.get(self.committed[offset])
            ends = known and known.batch.producer_id == producer and known.batch.control is not None
            if ends and (offset < len(view.slots) or self.holds(leader, self.committed[offset])):
                return offset >= len(view.slots)
        return False

    def may_be_absent_now(self, uid: int) -> bool:
        """True if a log may lack `uid` for ever, or while the leader holds a record that beats it.

        Records that the leader's own log aborts do not count.
        """
        if self.may_be_absent(uid):
            return True
        if self.leader is None:
            return False
        leader = self.replicas[self.leader]
        return any(
            self.holds(leader, other)
            and other not in self.aborted
            and self.verdict_in(leader, other) is not False
            for other in self.beating(uid)
        )

    def has_committed(self, view: ReplicaView, offset: int) -> bool:
        """True if a log has a committed offset: the uid, an empty batch or a justified hole."""
        if offset >= len(view.slots):
            return False
        slot, uid = view.slots[offset], self.committed[offset]
        if slot in (uid, EMPTY):
            return True
        return slot == HOLE and self.may_be_absent_now(uid)

    def accounts_for(self, view: ReplicaView, offset: int) -> bool:
        """True if a log has a committed offset, or starts above it."""
        return offset < view.log_start_offset or self.has_committed(view, offset)

    def in_doubt(self, view: ReplicaView, below: int) -> Iterator[int]:
        """The committed offsets in [log start, below) that a log may lack, in order."""
        start, below = view.log_start_offset, min(below, len(self.committed))
        not_reached = range(max(len(view.slots), start), below)
        for offset in chain(sorted(view.unexplained_offsets), not_reached):
            if start <= offset < below:
                yield offset

    def first_missing(self, view: ReplicaView, below: int, *, twice_counts: bool) -> int | None:
        """The lowest committed offset in [log start, below) that a log lacks; None without one.

        `twice_counts` false leaves out offsets that were committed twice.
        """
        for offset in self.in_doubt(view, below):
            judged = twice_counts or offset not in self.committed_twice
            if judged and not self.has_committed(view, offset):
                return offset
        return None

    # Changes by events.

    def apply(self, event: events.Event) -> None:
        """Changes the facts by an event."""
        change = self.handlers.get(type(event))
        if change is not None:
            change(event)
            if self.disagreements and type(event) not in LOGS_STAY:
                self.find_disagreements()

    # Replicas and leaders.

    def _on_replica_added(self, event: events.ReplicaAdded) -> None:
        self.replicas[event.replica] = ReplicaView(event.replica)
        self.removed_replicas.discard(event.replica)

    def _on_replica_removed(self, event: events.ReplicaRemoved) -> None:
        del self.replicas[event.replica]
        self.removed_replicas.add(event.replica)
        if event.replica == self.leader:
            self.leader = None
        self.isr, self.voters = self.present(self.isr), self.present(self.voters)

    def _on_replica_crashed(self, event: events.ReplicaCrashed) -> None:
        self._on_replica_restarted(event)
        view = self.replicas[event.replica]
        view.up, view.log_end_offset_before = False, len(view.slots)

    def _on_replica_restarted(self, event: events.ReplicaRestarted | events.ReplicaCrashed) -> None:
        view = self.replicas[event.replica]
        view.up, view.log_end_offset_before = True, len(view.slots)
        view.truncate_to(event.log_end_offset)
        view.high_watermark = event.high_watermark

    def _on_replica_wiped(self, event: events.ReplicaWiped) -> None:
        self.lost_disks[event.replica] = self.replicas[event.replica].log_end_offset
        self._replace(ReplicaView(event.replica))

    def _on_log_emptied(self, event: events.LogEmptied) -> None:
        self._replace(ReplicaView(event.replica))

    def _on_log_started_afresh(self, event: events.LogStartedAfresh) -> None:
        self._replace(ReplicaView(event.replica, starts_at=event.log_start_offset))

    def _on_snapshot_installed(self, event: events.SnapshotInstalled) -> None:
        self.previous_high_watermark = self.replicas[event.replica].high_watermark
        self._replace(ReplicaView(event.replica, starts_at=event.end_offset))
        self._on_snapshot_taken(event)

    def _replace(self, view: ReplicaView) -> None:
        view.losses = self.replicas[view.name].losses + 1
        self.replicas[view.name] = view

    def _on_leader_elected(self, event: events.LeaderElected) -> None:
        # The leader of an older epoch may hear of its election last; its in-sync set is outdated.
        if event.epoch >= self.newest_epoch:
            self.leader, self.newest_epoch = event.replica, event.epoch
            self.epoch_start = event.epoch_start_offset
            self.isr, self.voters = self.present(event.isr), self.present(event.voters)
            # Readers are given what is below its high watermark. A leader that was deposed and did
            # not know may have raised that mark: no other event tells that this is committed.
            view, known = self.replicas[event.replica], len(self.committed)
            if view.high_watermark > known:
                self.commit(known, view.lineage[known : view.high_watermark])

    def _on_isr_changed(self, event: events.IsrChanged) -> None:
        if event.replica == self.leader:
            self.isr = self.present(event.isr)

    def _on_position_recorded(self, event: events.PositionRecorded) -> None:
        if self.lost_disks and event.position <= self.replicas[event.follower].log_end_offset:
            self.lost_disks.pop(event.follower, None)

    # Writes and reads.

    def _on_appended(self, event: events.Appended) -> None:
        name, batch = event.replica, event.batch
        uids = self.enter(batch)
        without_gaps = len(uids) == batch.last_offset + 1 - batch.base_offset
        if without_gaps and batch.delete_horizon_ms is None:
            self.whole[id(batch)] = (batch, uids)
            self._write(self.replicas[name], batch, uids, None)
        else:
            self._write(self.replicas[name], batch, None, None)

    def _on_pushed(self, event: events.Pushed) -> None:
        view = self.replicas[event.replica]
        self.altered = []
        self._write_rebuilt(view, event.batch, None)
        view.losses += 1

    def _on_copied(self, event: events.Copied) -> None:
        name, its_leader, batches = event.replica, event.leader, event.batches
        view, leader = self.replicas[name], self.replicas.get(its_leader)
        self.altered = []
        for batch in batches:
            whole = self.whole.get(id(batch))
            if whole is None:
                self._write_rebuilt(view, batch, leader)
            else:
                self._write(view, batch, whole[1], leader)

    def _write_rebuilt(self, view: ReplicaView, batch: Batch, leader: ReplicaView | None) -> None:
        """Adds to a log a batch that may differ from the appended one, such as a cleaned one."""
        for record in batch.records:
            self.assign(record.offset, batch.epoch, record.uid)
            known = self.written.get(record.uid)
            if known is None or known.record is not record:
                self.altered.append(record)
        self._write(view, batch, None, leader)

    def _write(
        self, view: ReplicaView, batch: Batch, uids: list[int] | None, leader: ReplicaView | None
    ) -> None:
        """Adds a batch to a log; `uids` are those of its records if it has one at each offset.

        Offsets without a record inherit the lineage of `leader`.
        """
        base = batch.base_offset
        if len(view.slots) > base:
            view.overwrite_from(base)
        if uids is not None:
            self._put(view, base, uids, leader)
        else:
            for record in batch.records:
                self._put(view, record.offset, [record.uid], leader)
            self._leave_a_gap(view, batch.last_offset + 1, leader)
            if not batch.records:
                view.slots[batch.last_offset] = EMPTY
            if batch.delete_horizon_ms is not None:
                view.horizons[base] = batch.delete_horizon_ms
        view.last_batch = batch
        if self.contested_offsets:
            contested = self.contested_offsets.intersection(range(base, len(view.slots)))
            if contested:
                self.find_disagreements(contested)

    def _put(
        self, view: ReplicaView, start: int, uids: list[int], leader: ReplicaView | None
    ) -> None:
        """Adds records to a log at the offsets from `start` on."""
        slots, committed = view.slots, self.committed
        if len(slots) < start:
            self._leave_a_gap(view, start, leader)
        slots += uids
        view.lineage += uids
        if start < len(committed):
            self.compare(view, start, committed[start : len(slots)])

    def _on_gap_learned(self, event: events.GapLearned) -> None:
        leader = self.replicas.get(event.leader)
        self._leave_a_gap(self.replicas[event.replica], event.log_end_offset, leader)

    def _leave_a_gap(self, view: ReplicaView, end: int, leader: ReplicaView | None) -> None:
        """Extends a log by a hole up to `end` (exclusive), with the lineage of `leader`."""
        start = len(view.slots)
        if end <= start:
            return
        inherited = leader.lineage[start:end] if leader is not None else []
        view.slots += [HOLE] * (end - start)
        view.lineage += inherited + [0] * (end - start - len(inherited))
        self.compare(view, start, self.committed[start:end])
        if leader is not None:
            view.unexplained_offsets |= leader.unexplained_offsets.intersection(range(start, end))

    def _on_consumed(self, event: events.Consumed) -> None:
        committed, written = self.committed, self.written
        known = len(committed)
        self.uids_read = uids = []
        for record in event.records:
            offset, uid = record.offset, record.uid
            uids.append(uid)
            if offset >= known or committed[offset] != uid or written[uid].record is not record:
                self.reads_deviate = True

    # Commits.

    def _on_high_watermark_moved(self, event: events.HighWatermarkMoved) -> None:
        name, mark, leading = event.replica, event.high_watermark, event.leading
        view = self.replicas[name]
        previous = self.previous_high_watermark = view.high_watermark
        view.high_watermark = mark
        self.recommitted = []
        if not leading or name != self.leader:
            # A leader that has not yet heard of a newer epoch commits nothing by itself.
            return
        known = len(self.committed)
        if previous < known:
            again = view.lineage[previous : min(mark, known)]
            if again != self.committed[previous : previous + len(again)]:
                self.commit_again(previous, again)
        if mark > known:
            self.commit(known, view.lineage[known:mark])

    # Cleaning, truncation and snapshots.

    def _on_truncated(self, event: events.Truncated) -> None:
        view = self.replicas[event.replica]
        self.previous_high_watermark = view.high_watermark
        self.previous_log_start = view.log_start_offset
        target = min(event.target, view.log_end_offset)
        view.truncate_to(target)
        view.log_start_offset = min(view.log_start_offset, target)
        if event.kept_high_watermark:
            view.high_watermark = event.high_watermark
        if event.lowest is not None:  # a batch that straddled the target went below it, too
            lowest = max(event.lowest, view.log_start_offset)
            view.lose(range(lowest, target))
            view.lineage[lowest:target] = [0] * (target - lowest)
            view.unexplained_offsets.difference_update(range(lowest, target))
            self.compare(view, lowest, self.committed[lowest:target])

    def _on_cleaned(self, event: events.Cleaned) -> None:
        view = self.replicas[event.replica]
        slots = view.slots
        view.log_end_offset_before = before = len(slots)
        self.previous_high_watermark = view.high_watermark
        self._remove(view, event.removals)
        for offset in event.emptied:
            slots[offset] = EMPTY
        for offset in event.dropped:
            if slots[offset] == EMPTY:
                slots[offset] = HOLE
        self.moved_horizons = [
            (base, view.horizons[base], horizon)
            for base, horizon in event.horizons
            if view.horizons.get(base, horizon) != horizon
        ]
        view.horizons.update(event.horizons)
        view.first_dirty_offset = max(view.first_dirty_offset, event.upper_bound)
        if event.log_end_offset < before:
            view.truncate_to(event.log_end_offset)

    def _remove(self, view: ReplicaView, removals: tuple[events.Removal, ...]) -> None:
        """Takes records out of a log."""
        committed, written = self.committed, self.written
        known, decisive = len(committed), False
        self.deletes_removed, self.markers_removed = [], []
        for removal in removals:
            offset, uid = removal.offset, removal.uid
            view.slots[offset] = HOLE
            one = written.get(uid)
            if one is not None and one.batch.control is not None:
                self.markers_removed.append(removal)
            elif one is not None and one.tombstone and self.is_winning(one):
                self.deletes_removed.append(removal)
            elif removal.reason == "tombstone":
                decisive = True
            if offset >= known or committed[offset] != uid or not self.may_be_absent(uid):
                view.unexplained_offsets.add(offset)
        view.losses += decisive or bool(self.deletes_removed or self.markers_removed)

    def _on_segments_lost(self, event: events.SegmentsLost) -> None:
        view = self.replicas[event.replica]
        view.lose(event.offsets)
        view.unexplained_offsets.update(event.offsets)

    def _on_snapshot_taken(
        self, event: events.SnapshotTaken | events.SnapshotFetched | events.SnapshotInstalled
    ) -> None:
        self.replicas[event.replica].snapshots[(event.end_offset, event.epoch)] = event.records

    def _on_snapshot_fetched(self, event: events.SnapshotFetched) -> None:
        self._on_snapshot_taken(event)

    def _on_snapshot_deleted(self, event: events.SnapshotDeleted) -> None:
        self.replicas[event.replica].snapshots.pop((event.end_offset, event.epoch), None)

    def _on_prefix_deleted(self, event: events.PrefixDeleted | events.LogStartMoved) -> None:
        view, start = self.replicas[event.replica], event.log_start_offset
        self.previous_log_start = view.log_start_offset
        view.lose(range(view.log_start_offset, start))
        view.log_start_offset = start
        view.first_dirty_offset = max(view.first_dirty_offset, start)

    def _on_log_start_moved(self, event: events.LogStartMoved) -> None:
        self.expired_below = max(self.expired_below, event.log_start_offset)
        self._on_prefix_deleted(event)
