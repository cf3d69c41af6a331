"""How each event changes the history of a cluster.

Of every event the keeper says whether it was usual. Usual are, while no two logs disagree:

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

Events of all other classes are never usual: what takes them in says nothing.
"""

from __future__ import annotations

from sim import trace
from sim.check.history import ClusterHistory
from sim.check.listening import handlers_of
from sim.check.replica_view import EMPTY, HOLE, ReplicaView
from sim.log.record import Batch, Control


class HistoryKeeper:
    """Keeps a history up to date.

    Attributes:
        history: The facts.
        handlers: Class of event -> what takes it in, and says whether the event is usual.
    """

    def __init__(self, history: ClusterHistory) -> None:
        """Nothing has happened."""
        self.history = history
        self._replicas = history.replicas
        self._written = history.written
        self._committed = history.committed
        self._whole: dict[int, tuple[Batch, list[int]]] = {}
        self.handlers = handlers_of(self, prefix="_")

    def apply(self, event: trace.Event) -> bool:
        """Take in what happened, and say whether it was usual."""
        take_in = self.handlers.get(type(event))
        if take_in is not None and take_in(event):
            return True
        if self.history.disagreements:
            self.history.find_disagreements()
        return False

    # Who is there, and who leads.

    def _on_replica_added(self, event: trace.ReplicaAdded) -> None:
        self._replicas[event.replica] = ReplicaView(event.replica)
        self.history.removed_replicas.discard(event.replica)

    def _on_replica_removed(self, event: trace.ReplicaRemoved) -> None:
        del self._replicas[event.replica]
        history = self.history
        history.removed_replicas.add(event.replica)
        if event.replica == history.leader:
            history.leader = None
        history.isr, history.voters = history.present(history.isr), history.present(history.voters)

    def _on_replica_crashed(self, event: trace.ReplicaCrashed) -> None:
        self._on_replica_restarted(event)
        view = self._replicas[event.replica]
        view.up, view.log_end_offset_before = False, len(view.slots)

    def _on_replica_restarted(self, event: trace.ReplicaRestarted | trace.ReplicaCrashed) -> None:
        view = self._replicas[event.replica]
        view.up, view.log_end_offset_before = True, len(view.slots)
        view.truncate_to(event.log_end_offset)
        view.high_watermark = event.high_watermark

    def _on_replica_wiped(self, event: trace.ReplicaWiped) -> None:
        self._replace(ReplicaView(event.replica))

    def _on_log_emptied(self, event: trace.LogEmptied) -> None:
        self._replace(ReplicaView(event.replica))

    def _on_log_started_afresh(self, event: trace.LogStartedAfresh) -> None:
        self._replace(ReplicaView(event.replica, starts_at=event.log_start_offset))

    def _on_snapshot_installed(self, event: trace.SnapshotInstalled) -> None:
        self.history.previous_high_watermark = self._replicas[event.replica].high_watermark
        view = ReplicaView(event.replica, starts_at=event.end_offset)
        view.highest_epoch = event.epoch
        self._replace(view)
        self._on_snapshot_taken(event)

    def _replace(self, view: ReplicaView) -> None:
        view.losses = self._replicas[view.name].losses + 1
        self._replicas[view.name] = view

    def _on_leader_elected(self, event: trace.LeaderElected) -> None:
        # Of two leaders the older may hear later of its election, and of a set that is no more.
        history = self.history
        if event.epoch >= history.newest_epoch:
            history.leader, history.newest_epoch = event.replica, event.epoch
            history.isr, history.voters = history.present(event.isr), history.present(event.voters)

    def _on_isr_changed(self, event: trace.IsrChanged) -> None:
        if event.replica == self.history.leader:
            self.history.isr = self.history.present(event.isr)

    def _on_position_recorded(self, event: trace.PositionRecorded) -> bool:
        _, follower, position = event
        return position <= len(self._replicas[follower].slots)

    # What is written, and read.

    def _on_appended(self, event: trace.Appended) -> bool:
        name, batch = event
        history, base = self.history, batch.base_offset
        uids = history.enter(batch)
        whole = len(uids) == batch.last_offset + 1 - base and batch.delete_horizon_ms is None
        if whole:
            self._whole[id(batch)] = (batch, uids)
        usual = self._write(self._replicas[name], batch, uids if whole else None, None)
        return usual and not history.reassigned and base >= len(self._committed)

    def _on_pushed(self, event: trace.Pushed) -> None:
        view = self._replicas[event.replica]
        self._write_rebuilt(view, event.batch, None)
        view.losses += 1

    def _on_copied(self, event: trace.Copied) -> bool:
        name, its_leader, _, batches, _ = event
        view, leader = self._replicas[name], self._replicas.get(its_leader)
        usual = Control.SNAPSHOT not in self.history.controls
        for batch in batches:
            whole = self._whole.get(id(batch))
            if whole is None:
                usual = self._write_rebuilt(view, batch, leader)
            else:
                usual = self._write(view, batch, whole[1], leader) and usual
        return usual

    def _write_rebuilt(self, view: ReplicaView, batch: Batch, leader: ReplicaView | None) -> bool:
        """Append a batch that is not as it was appended: a cleaner was there, or worse."""
        for record in batch.records:
            self.history.assign(record.offset, batch.epoch, record.uid)
        return self._write(view, batch, None, leader)

    def _write(
        self, view: ReplicaView, batch: Batch, uids: list[int] | None, leader: ReplicaView | None
    ) -> bool:
        """Append a batch, `uids` if it has a record at each offset; was that usual?

        Offsets without a record inherit what `leader` knows.
        """
        history, base, before = self.history, batch.base_offset, len(view.slots)
        if before > base:
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
        contested = history.contested_offsets
        if contested and not contested.isdisjoint(range(base, len(view.slots))):
            history.find_disagreements()
        rises = batch.epoch >= view.highest_epoch
        view.highest_epoch = max(view.highest_epoch, batch.epoch)
        return uids is not None and rises and before <= base and not history.disagreements

    def _put(
        self, view: ReplicaView, start: int, uids: list[int], leader: ReplicaView | None
    ) -> None:
        """Append records at the offsets from `start` on."""
        slots, committed = view.slots, self._committed
        if len(slots) < start:
            self._leave_a_gap(view, start, leader)
        slots += uids
        view.lineage += uids
        if start < len(committed):
            self.history.compare(view, start, committed[start : len(slots)])

    def _on_gap_learned(self, event: trace.GapLearned) -> None:
        leader = self._replicas.get(event.leader)
        self._leave_a_gap(self._replicas[event.replica], event.log_end_offset, leader)

    def _leave_a_gap(self, view: ReplicaView, end: int, leader: ReplicaView | None) -> None:
        """The log of `view` goes on at `end`, and holds nothing below it."""
        start = len(view.slots)
        if end <= start:
            return
        view.losses += 1
        inherited = leader.lineage[start:end] if leader is not None else []
        view.slots += [HOLE] * (end - start)
        view.lineage += inherited + [0] * (end - start - len(inherited))
        for uid in inherited:
            if uid in self._written:
                view.highest_epoch = max(view.highest_epoch, self._written[uid].batch.epoch)
        self.history.compare(view, start, self._committed[start:end])
        if leader is not None:
            view.unexplained_offsets |= leader.unexplained_offsets.intersection(range(start, end))

    def _on_consumed(self, event: trace.Consumed) -> bool:
        history, committed, written = self.history, self._committed, self._written
        known = len(committed)
        history.uids_read = uids = []
        for record in event.records:
            offset, _, _, _, _, _, uid = record
            uids.append(uid)
            if offset >= known or committed[offset] != uid or written[uid].record is not record:
                history.reads_deviate = True
        return not history.reads_deviate

    # What is committed.

    def _on_high_watermark_moved(self, event: trace.HighWatermarkMoved) -> bool:
        name, mark, leading = event
        view, history = self._replicas[name], self.history
        previous = history.previous_high_watermark = view.high_watermark
        view.high_watermark = mark
        history.recommitted = []
        usual = previous <= mark <= len(view.slots) and not history.disagreements
        if not leading or name != history.leader:
            # Who does not know yet that a newer epoch has a leader commits nothing by itself.
            return usual
        known = len(self._committed)
        if previous < known:
            again = view.lineage[previous : min(mark, known)]
            if again != self._committed[previous : previous + len(again)]:
                history.commit_again(previous, again)
        everywhere = mark > known and history.commit(known, view.lineage[known:mark])
        return (
            usual
            and known >= history.snapshots_ahead
            and not history.recommitted
            and (everywhere or not history.too_few_have_it())
        )

    # What is cleaned, cut and replaced.

    def _on_truncated(self, event: trace.Truncated) -> None:
        view, history = self._replicas[event.replica], self.history
        history.previous_high_watermark = view.high_watermark
        history.previous_log_start = view.log_start_offset
        target = min(event.target, view.log_end_offset)
        view.truncate_to(target)
        view.log_start_offset = min(view.log_start_offset, target)
        if event.kept_high_watermark:
            view.high_watermark = event.high_watermark
        if event.lowest is not None:  # the rest of a batch that straddled the target
            lowest = max(event.lowest, view.log_start_offset)
            view.lose(range(lowest, target))
            view.lineage[lowest:target] = [0] * (target - lowest)
            view.unexplained_offsets.difference_update(range(lowest, target))
            history.compare(view, lowest, self._committed[lowest:target])

    def _on_cleaned(self, event: trace.Cleaned) -> bool:
        view, history = self._replicas[event.replica], self.history
        slots = view.slots
        view.log_end_offset_before = before = len(slots)
        history.previous_high_watermark = view.high_watermark
        committed_below = min(event.high_watermark, view.high_watermark)
        usual = self._remove(view, event.removals, committed_below)
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
        if event.log_end_offset < before:
            view.truncate_to(event.log_end_offset)
        return (
            usual
            and not history.disagreements
            and event.log_end_offset == before
            and event.upper_bound <= committed_below
            and view.high_watermark <= len(slots)
            and not event.horizons
        )

    def _remove(
        self, view: ReplicaView, removals: tuple[trace.Removal, ...], committed_below: int
    ) -> bool:
        """Take records out of a log; are all, and what beat them, committed, and decide nothing?"""
        history, committed = self.history, self._committed
        known, decisive, usual = len(committed), False, True
        for offset, uid, _, reason, winner in removals:
            view.slots[offset] = HOLE
            if offset >= committed_below or (winner is not None and winner >= committed_below):
                usual = False
            if reason == "tombstone" or history.is_winning_delete(uid) or history.is_marker(uid):
                decisive = True
            if offset >= known or committed[offset] != uid or not history.may_be_absent(uid):
                view.unexplained_offsets.add(offset)
        view.losses += decisive
        return usual and not decisive

    def _on_segments_lost(self, event: trace.SegmentsLost) -> None:
        view = self._replicas[event.replica]
        view.lose(event.offsets)
        view.unexplained_offsets.update(event.offsets)

    def _on_snapshot_taken(self, event: trace.SnapshotTaken | trace.SnapshotInstalled) -> None:
        view, end, history = self._replicas[event.replica], event.end_offset, self.history
        view.snapshots[(end, event.epoch)] = event.records
        if end > len(self._committed):
            history.snapshots_ahead = max(history.snapshots_ahead, end)

    def _on_snapshot_deleted(self, event: trace.SnapshotDeleted) -> None:
        self._replicas[event.replica].snapshots.pop((event.end_offset, event.epoch), None)

    def _on_prefix_deleted(self, event: trace.PrefixDeleted | trace.LogStartMoved) -> None:
        view, start = self._replicas[event.replica], event.log_start_offset
        self.history.previous_log_start = view.log_start_offset
        view.lose(range(view.log_start_offset, start))
        view.log_start_offset = start
        view.first_dirty_offset = max(view.first_dirty_offset, start)

    def _on_log_start_moved(self, event: trace.LogStartMoved) -> None:
        self.history.expired_below = max(self.history.expired_below, event.log_start_offset)
        self._on_prefix_deleted(event)
