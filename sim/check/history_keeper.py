"""How each event changes the history of a cluster.

Of every event the history says whether it was unusual. Usual are, while no two logs disagree:

* an append at the end of the log, above everything committed, in an epoch that does not fall, to
  offsets that nobody was given in that epoch;
* a copy of batches just as they were appended, in epochs that do not fall;
* a high watermark that rises within its log, commits nothing a second time as something else, and
  is at or below what enough replicas have, while no snapshot is ahead of it;
* a position that the follower has reached;
* a cleaning pass whose bound, removals and winners are below the high watermark, that leaves the
  log end, removes no control record and no tombstone but superseded ones, and sets no delete
  horizon;
* a read of committed records just as they were appended, if all reads before were such.

Most events are, and most invariants cannot be broken by them: such invariants are not asked about
them, see `Invariant.unusual_only`; each says why not.

Events of all other classes are never usual.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from sim import trace
from sim.check.history import ClusterHistory
from sim.check.replica_view import EMPTY, HOLE, ReplicaView
from sim.invariant_plugins import events_by_method
from sim.log.record import Batch, Control


class HistoryKeeper:
    """Keeps a history up to date.

    Attributes:
        history: The facts.
        handlers: Class of event -> what takes it in, and says whether the event is unusual.
    """

    def __init__(self, history: ClusterHistory) -> None:
        """Nothing has happened."""
        self.history = history
        self._replicas = history.replicas
        self._written = history.written
        self._committed = history.committed
        self._whole: dict[int, tuple[Batch, list[int]]] = {}
        self.handlers: dict[type, Callable[..., bool]] = {
            kind: getattr(self, "_" + method)
            for method, kind in events_by_method().items()
            if hasattr(self, "_" + method)
        }

    def apply(self, event: trace.Event) -> bool:
        """Take in what happened, and say whether it was unusual."""
        handler = self.handlers.get(type(event))
        return handler is None or handler(event)

    # Who is there, and who leads.

    def _on_replica_added(self, event: trace.ReplicaAdded) -> bool:
        self._replicas[event.replica] = ReplicaView(event.replica)
        self.history.removed_replicas.discard(event.replica)
        return True

    def _on_replica_removed(self, event: trace.ReplicaRemoved) -> bool:
        del self._replicas[event.replica]
        history = self.history
        history.removed_replicas.add(event.replica)
        history.isr, history.voters = history.present(history.isr), history.present(history.voters)
        return self._after_a_loss()

    def _on_replica_crashed(self, event: trace.ReplicaCrashed) -> bool:
        view = self._replicas[event.replica]
        view.up = False
        view.truncate_to(event.log_end_offset)
        view.high_watermark = event.high_watermark
        view.log_end_offset_before = len(view.slots)
        return self._after_a_loss()

    def _on_replica_restarted(self, event: trace.ReplicaRestarted) -> bool:
        view = self._replicas[event.replica]
        view.up = True
        view.log_end_offset_before = len(view.slots)
        view.truncate_to(event.log_end_offset)
        view.high_watermark = event.high_watermark
        return self._after_a_loss()

    def _on_replica_wiped(self, event: trace.ReplicaWiped) -> bool:
        return self._replaced(ReplicaView(event.replica))

    def _on_log_emptied(self, event: trace.LogEmptied) -> bool:
        return self._replaced(ReplicaView(event.replica))

    def _replaced(self, view: ReplicaView) -> bool:
        view.losses = self._replicas[view.name].losses + 1
        self._replicas[view.name] = view
        return self._after_a_loss()

    def _on_leader_elected(self, event: trace.LeaderElected) -> bool:
        # Of two leaders the older may hear later of its election, and of a set that is no more.
        history = self.history
        if event.epoch >= history.newest_epoch:
            history.leader, history.newest_epoch = event.replica, event.epoch
            history.isr, history.voters = history.present(event.isr), history.present(event.voters)
        return True

    def _on_isr_changed(self, event: trace.IsrChanged) -> bool:
        if event.replica == self.history.leader:
            self.history.isr = self.history.present(event.isr)
        return True

    def _on_position_recorded(self, event: trace.PositionRecorded) -> bool:
        _, follower, position = event
        return position > len(self._replicas[follower].slots)

    # What is written, and read.

    def _on_appended(self, event: trace.Appended) -> bool:
        name, batch = event
        view, history = self._replicas[name], self.history
        if history.reassigned:
            history.reassigned = []
        uids = history.enter(batch)
        base = batch.base_offset
        if len(uids) != batch.last_offset + 1 - base or batch.delete_horizon_ms is not None:
            self._write(view, batch, None)
            return True
        self._whole[id(batch)] = (batch, uids)
        usual = self._write_whole(view, batch, uids, None)
        return not usual or bool(history.reassigned) or base < len(self._committed)

    def _on_pushed(self, event: trace.Pushed) -> bool:
        view, batch = self._replicas[event.replica], event.batch
        for record in batch.records:
            self.history.assign(record.offset, batch.epoch, record.uid)
        self._write(view, batch, None)
        view.losses += 1
        return True

    def _on_copied(self, event: trace.Copied) -> bool:
        name, its_leader, _, batches, _ = event
        replicas, known, history = self._replicas, self._whole, self.history
        view, leader = replicas[name], replicas.get(its_leader)
        usual = not history.controls or Control.SNAPSHOT not in history.controls
        if history.altered:
            history.altered = []
        for batch in batches:
            whole = known.get(id(batch))
            if whole is None:
                self._copy_rebuilt(view, batch, leader)
                usual = False
            elif not self._write_whole(view, batch, whole[1], leader):
                usual = False
        return not usual

    def _copy_rebuilt(self, view: ReplicaView, batch: Batch, leader: ReplicaView | None) -> None:
        """Append a batch that is not as it was appended: a cleaner was there, or worse."""
        written = self._written
        for record in batch.records:
            appended = written[record.uid].record
            if appended is not record:
                self.history.altered.append(record)
                if appended.offset != record.offset:
                    self.history.assign(record.offset, batch.epoch, record.uid)
        self._write(view, batch, leader)

    def _write_whole(
        self, view: ReplicaView, batch: Batch, uids: list[int], leader: ReplicaView | None
    ) -> bool:
        """Append a batch as it was appended, a record at each offset; was that usual?"""
        slots, base, epoch = view.slots, batch.base_offset, batch.epoch
        history, committed = self.history, self._committed
        before = len(slots)
        if before > base:
            view.overwrite_from(base)
        elif before < base:
            self._leave_a_gap(view, base, leader)
        slots += uids
        view.lineage += uids
        view.last_batch = batch
        if base < len(committed) and committed[base : len(slots)] != uids:
            for offset, uid in enumerate(committed[base : len(slots)], base):
                if slots[offset] != uid:
                    view.unexplained_offsets.add(offset)
                    view.losses += 1
        contested = history.contested_offsets
        if contested and not contested.isdisjoint(range(base, len(slots))):
            history.find_disagreements()
        if epoch < view.highest_epoch:
            return False
        view.highest_epoch = epoch
        return before <= base and not history.disagreements

    def _write(self, view: ReplicaView, batch: Batch, leader: ReplicaView | None) -> None:
        """Append what is left of a batch; offsets without a record inherit what `leader` knows."""
        slots, lineage, committed = view.slots, view.lineage, self._committed
        known = len(committed)
        if len(slots) > batch.base_offset:
            view.overwrite_from(batch.base_offset)
        for record in batch.records:
            offset, uid = record.offset, record.uid
            if len(slots) < offset:
                self._leave_a_gap(view, offset, leader)
            slots.append(uid)
            lineage.append(uid)
            if offset < known and committed[offset] != uid:
                view.unexplained_offsets.add(offset)
                view.losses += 1
        if len(slots) <= batch.last_offset:
            self._leave_a_gap(view, batch.last_offset + 1, leader)
        if not batch.records:
            slots[batch.last_offset] = EMPTY
        if batch.delete_horizon_ms is not None:
            view.horizons[batch.base_offset] = batch.delete_horizon_ms
        view.last_batch = batch
        view.highest_epoch = max(view.highest_epoch, batch.epoch)
        contested = self.history.contested_offsets
        if contested and any(record.offset in contested for record in batch.records):
            self.history.find_disagreements()

    def _on_gap_learned(self, event: trace.GapLearned) -> bool:
        leader = self._replicas.get(event.leader)
        self._leave_a_gap(self._replicas[event.replica], event.log_end_offset, leader)
        return True

    def _leave_a_gap(self, view: ReplicaView, end: int, leader: ReplicaView | None) -> None:
        """The log of `view` goes on at `end`, and holds nothing below it."""
        start, known = len(view.slots), len(self._committed)
        view.losses += 1
        inherited = leader.lineage[start:end] if leader is not None else []
        view.slots += [HOLE] * (end - start)
        view.lineage += inherited + [0] * (end - start - len(inherited))
        for uid in inherited:
            if uid in self._written:
                view.highest_epoch = max(view.highest_epoch, self._written[uid].batch.epoch)
        for offset in range(start, end):
            if offset >= known:
                if leader is not None and offset in leader.unexplained_offsets:
                    view.unexplained_offsets.add(offset)
            elif not self.history.may_be_absent(self._committed[offset]):
                view.unexplained_offsets.add(offset)

    def _on_consumed(self, event: trace.Consumed) -> bool:
        committed, written = self._committed, self._written
        known, usual = len(committed), True
        self.history.uids_read = uids = []
        for record in event.records:
            offset, _, _, _, _, _, uid = record
            uids.append(uid)
            if offset >= known or committed[offset] != uid or written[uid].record is not record:
                usual = False
        if not usual:
            self.history.reads_deviate = True
        return self.history.reads_deviate

    # What is committed.

    def _on_high_watermark_moved(self, event: trace.HighWatermarkMoved) -> bool:
        name, mark, leading = event
        view, history = self._replicas[name], self.history
        previous = history.previous_high_watermark = view.high_watermark
        view.high_watermark = mark
        if history.recommitted:
            history.recommitted = []
        unusual = mark < previous or mark > len(view.slots) or bool(history.disagreements)
        if not leading or name != history.leader:
            # Who does not know yet that a newer epoch has a leader commits nothing by itself.
            return unusual
        known = len(self._committed)
        if previous < known:
            again = view.lineage[previous : min(mark, known)]
            if again != self._committed[previous : previous + len(again)]:
                history.commit_again(previous, again)
        everywhere = mark > known and history.commit(known, view.lineage[known:mark])
        return (
            unusual
            or known < history.snapshots_ahead
            or bool(history.recommitted)
            or (not everywhere and history.too_few_have_it())
        )

    # What is cleaned, cut and replaced.

    def _on_truncated(self, event: trace.Truncated) -> bool:
        view = self._replicas[event.replica]
        self.history.previous_high_watermark = view.high_watermark
        self.history.previous_log_start = view.log_start_offset
        target = min(event.target, view.log_end_offset)
        view.truncate_to(target)
        view.log_start_offset = min(view.log_start_offset, target)
        if event.kept_high_watermark:
            view.high_watermark = event.high_watermark
        if event.lowest is not None:
            self._lose(view, range(max(event.lowest, view.log_start_offset), target))
        return self._after_a_loss()

    def _lose(self, view: ReplicaView, offsets: range) -> None:
        """A cut took slots below its target: the rest of a batch that straddled it."""
        view.losses += 1
        for offset in offsets:
            view.slots[offset], view.lineage[offset] = HOLE, 0
            committed = offset < len(self._committed)
            if committed and not self.history.may_be_absent(self._committed[offset]):
                view.unexplained_offsets.add(offset)
            else:
                view.unexplained_offsets.discard(offset)

    def _on_cleaned(self, event: trace.Cleaned) -> bool:
        view, history = self._replicas[event.replica], self.history
        slots = view.slots
        view.log_end_offset_before = len(slots)
        history.previous_high_watermark = view.high_watermark
        committed_below = min(event.high_watermark, view.high_watermark)
        self._remove(view, event.removals)
        decisive = bool(
            history.removed_deletes or history.removed_markers or "tombstone" in history.removed
        )
        view.losses += decisive
        for offset in event.emptied:
            slots[offset] = EMPTY
        for offset in event.dropped:
            if slots[offset] == EMPTY:
                slots[offset] = HOLE
        history.moved_horizons = [
            (base, view.horizons[base], horizon)
            for base, horizon in event.horizons
            if view.horizons.get(base, horizon) != horizon
        ]
        view.horizons.update(event.horizons)
        view.first_dirty_offset = max(view.first_dirty_offset, event.upper_bound)
        if event.log_end_offset < len(slots):
            view.truncate_to(event.log_end_offset)
        if history.disagreements:
            history.find_disagreements()
        return (
            decisive
            or event.log_end_offset != view.log_end_offset_before
            or event.upper_bound > committed_below
            or history.removed_below > committed_below
            or view.high_watermark > len(slots)
            or bool(event.horizons)
        )

    def _remove(self, view: ReplicaView, removals: tuple[trace.Removal, ...]) -> None:
        """Take records out of a log, and note what they were."""
        history, written = self.history, self._written
        slots, committed = view.slots, self._committed
        known, highest = len(committed), -1
        removed: dict[str, list[trace.Removal]] = defaultdict(list)
        deletes: list[trace.Removal] = []
        markers: list[trace.Removal] = []
        earlier: list[trace.Removal] = []
        history.removed, history.removed_deletes = removed, deletes
        history.removed_markers, history.beaten_by_earlier = markers, earlier
        for removal in removals:
            offset, uid, _, reason, winner = removal
            slots[offset] = HOLE
            if offset > highest:
                highest = offset
            if winner is not None:
                if winner > highest:
                    highest = winner
                if winner < offset:
                    earlier.append(removal)
            appended = written.get(uid)
            if appended is not None:
                if appended.tombstone and history.is_winning_delete(uid):
                    deletes.append(removal)
                elif appended.batch.control is not None:
                    markers.append(removal)
            removed[reason].append(removal)
            if offset >= known or committed[offset] != uid or not history.may_be_absent(uid):
                view.unexplained_offsets.add(offset)
        history.removed_below = highest + 1

    def _on_segments_lost(self, event: trace.SegmentsLost) -> bool:
        view = self._replicas[event.replica]
        view.losses += 1
        for offset in event.offsets:
            view.slots[offset] = HOLE
            view.unexplained_offsets.add(offset)
        return self._after_a_loss()

    def _on_snapshot_taken(self, event: trace.SnapshotTaken) -> bool:
        self._keep_snapshot(self._replicas[event.replica], event)
        return True

    def _keep_snapshot(
        self, view: ReplicaView, event: trace.SnapshotTaken | trace.SnapshotInstalled
    ) -> None:
        view.snapshots[(event.end_offset, event.epoch)] = event.records
        if event.end_offset > len(self._committed):
            self.history.snapshots_ahead = max(self.history.snapshots_ahead, event.end_offset)

    def _on_snapshot_deleted(self, event: trace.SnapshotDeleted) -> bool:
        self._replicas[event.replica].snapshots.pop((event.end_offset, event.epoch), None)
        return True

    def _on_prefix_deleted(self, event: trace.PrefixDeleted | trace.LogStartMoved) -> bool:
        view = self._replicas[event.replica]
        view.losses += 1
        for offset in range(view.log_start_offset, event.log_start_offset):
            view.slots[offset] = HOLE
        view.log_start_offset = event.log_start_offset
        view.first_dirty_offset = max(view.first_dirty_offset, event.log_start_offset)
        return self._after_a_loss()

    def _on_log_start_moved(self, event: trace.LogStartMoved) -> bool:
        self.history.expired_below = max(self.history.expired_below, event.log_start_offset)
        return self._on_prefix_deleted(event)

    def _on_log_started_afresh(self, event: trace.LogStartedAfresh) -> bool:
        return self._replaced(ReplicaView(event.replica, starts_at=event.log_start_offset))

    def _on_snapshot_installed(self, event: trace.SnapshotInstalled) -> bool:
        self.history.previous_high_watermark = self._replicas[event.replica].high_watermark
        view = ReplicaView(event.replica, starts_at=event.end_offset)
        view.highest_epoch = event.epoch
        self._keep_snapshot(view, event)
        return self._replaced(view)

    # Where replicas disagree.

    def _after_a_loss(self) -> bool:
        """Records went from a replica: that can only end a disagreement. It is never usual."""
        if self.history.disagreements:
            self.history.find_disagreements()
        return True
