"""A pass does what its offset map allows, and all of that."""

from __future__ import annotations

from typing import Final

from sim.check.facts import EMPTY, ReplicaView, Written
from sim.protocol.events import Cleaned, ConfigChanged, ProducersForgotten
from sim.protocol.log.record import Control
from tests.audits.law import Law

_BEYOND = "{replica} removed {record} in a pass that mapped only what is below {upper_bound}."
_BEATEN_BEYOND = (
    "{replica} removed {record}, beaten by the record at {winner_offset}, in a pass that mapped "
    "only what is below {upper_bound}."
)
_NOT_FULL = (
    "{replica} ended a pass at {upper_bound} for a full offset map with {counted} keys; such a map "
    "had {needed} keys before."
)
_LEFT = "{replica} left {record} in a pass that mapped {winner} below {upper_bound}."
_UNSTAMPED = (
    "{replica} left the {record} without a delete horizon in a pass at {now_ms} ms; its map ended "
    "at {upper_bound}, within the batch."
)
_OTHER_TIME = (
    "{replica} gave the batch at {offset} the delete horizon {horizon_ms} ms in a pass at {now_ms} "
    "ms; delete.retention.ms is {retention_ms} ms."
)
_TIMES_NOTHING = (
    "{replica} gave the batch at {offset} a delete horizon ({horizon_ms} ms); neither a tombstone "
    "nor a marker is in it."
)
_NOT_LAST = (
    "{replica} kept the batch at {offset} empty for producer {producer}, whose last batch is at "
    "{last_offset}."
)
_BY_MAP: Final = ("superseded", "tombstone", "no key", "unmapped")
"""Why records go that the map has reached; aborted data and markers go without it."""
_BY_HORIZON: Final = ("horizon", "leo_gated", "coordinated")
"""Rules by which the batch of a tombstone gets a horizon."""


class PassAsMapped(Law):
    """What a pass removes, keeps and times is what its offset map and its clock say.

    For passes of r from f to u, f < u, begun at `now` of r's own clock, M the data with a key in
    [f, u) that was not aborted, as it was before the pass::

        x removed, not as aborted data or a marker  =>  x.offset < u; what beat x lies below u, too
        the map was full  =>  M has as many keys as in any other pass of the run that was full
        x stays, x.offset < u                       =>  no y in M beats x
        a tombstone stays in a batch that u divides =>  the batch has a delete horizon
        a batch gets the horizon h                  =>  h = now + delete.retention.ms, and a
                                                        tombstone or a marker stays in it
        a batch of a producer is emptied            =>  r has no later data of it, nor a newer epoch

    Judged: after each pass that gets on; one that was interrupted or failed need not have done all.
    Excused: what a fix protects; passes whose batches u divides though the map was not full, since
    a story may say so; keys of a full map in stories, where each step says how many fit; what
    follows from other rules (`ties`, `header_form`, `horizon_rebase`, `marker_lookup`,
    `late_versions: stub`, `map_reads_from: offset_index`, `horizon_stamp`, `tombstone_removal`);
    transactions that committed history has not decided, or that the log decides otherwise, since a
    marker went too early (`txn-marker-safety`); what a replica knew of a producer that it forgot,
    and knows again as an older snapshot has it (UnifiedLog.rebuildProducerState); a pass after
    which the log ends lower; and replicas whose settings are their own or change.
    """

    name = "pass-as-mapped"
    source = "Cleaner.buildOffsetMap, .cleanInto; MemoryRecords.filterTo"

    def begin(self) -> None:
        """No pass was seen."""
        rules, cleaner = self.history.rules, self.history.rules.cleaner
        early = rules.storage.cleaner_checkpoint == "before_work"
        self._judges = not early and not self.history.settings_change
        self._reach = cleaner.late_versions != "stub" and cleaner.marker_lookup == "never"
        times_stay = cleaner.horizon_rebase == "deltas_rewritten"
        as_read = cleaner.header_form == "last_long"
        self._order = times_stay and as_read and cleaner.ties == "latest"
        self._by_index = cleaner.map_reads_from == "offset_index"
        on_sight = cleaner.horizon_stamp != "mapped"
        self._stamps = on_sight and cleaner.tombstone_removal in _BY_HORIZON
        self._fixed = cleaner.fix != "none"
        self._retention_ms = rules.topic.delete_retention_ms
        self._own: set[str] = set()
        self._forgotten: dict[tuple[str, int], int] = {}
        self._keys: int | None = None

    def on_config_changed(self, event: ConfigChanged) -> None:
        """It goes by settings of its own."""
        self._own.add(event.replica)

    def on_producers_forgotten(self, event: ProducersForgotten) -> None:
        """What the log has of them by now, the replica need not know again."""
        end = self.replicas[event.replica].log_end_offset
        self._forgotten |= {(event.replica, producer): end for producer in event.producers}

    def on_cleaned(self, event: Cleaned) -> None:
        """Compare what went and what stays."""
        name, bound = event.replica, event.upper_bound
        if not self._judges or bound <= event.first_dirty_offset or name in self._own:
            return
        view = self.replicas[name]
        if self._reach:
            self._judge_reach(event)
        for base, horizon_ms in event.horizons:
            if horizon_ms != event.now_ms + self._retention_ms:
                told = {"horizon_ms": horizon_ms, "now_ms": event.now_ms}
                retention_ms = self._retention_ms
                self.broken(name, base, None, _OTHER_TIME, **told, retention_ms=retention_ms)
            if self._times_nothing(view, base):
                self.broken(name, base, None, _TIMES_NOTHING, horizon_ms=horizon_ms)
        if event.log_end_offset < view.log_end_offset_before:
            return  # the log end fell to the last record, and what the log had above is not known
        if self._stamps and event.partial:
            self._judge_divided(event, view)
        if event.emptied:
            self._judge_emptied(event, view)
        end = self._end_of_map(event, view)
        mapped = self._mapped(event, view, end)
        if mapped is not None:
            self._judge_left(event, view, mapped, end)
            if event.partial and self.history.unit == "ms":
                counted = len(mapped)
                self._keys = counted if self._keys is None else self._keys
                if counted != self._keys:
                    told = {"upper_bound": bound, "counted": counted, "needed": self._keys}
                    self.broken(name, bound, None, _NOT_FULL, **told)

    def _times_nothing(self, view: ReplicaView, base: int) -> bool:
        """Whether a batch is left of which nothing is to go later."""
        first = self.written.get(view.lineage[base])
        if first is None or first.batch.control is not None:
            return False
        uids = [uid for uid in view.slots[base : first.batch.last_offset + 1] if uid > 0]
        return bool(uids) and not any(self.written[uid].tombstone for uid in uids)

    def _judge_reach(self, event: Cleaned) -> None:
        """Nothing goes for what the map has not reached."""
        bound = event.upper_bound
        for removal in event.removals:
            winner = removal.winner_offset
            if removal.reason not in _BY_MAP:
                continue
            if winner is not None and winner >= bound:
                told = {"winner_offset": winner, "upper_bound": bound}
                self.broken_by(event.replica, removal.uid, None, _BEATEN_BEYOND, **told)
            elif removal.offset >= bound:
                self.broken_by(event.replica, removal.uid, None, _BEYOND, upper_bound=bound)

    def _end_of_map(self, event: Cleaned, view: ReplicaView) -> int:
        """Below which offset the map is to be complete; only a full one ends within a batch."""
        bound = event.upper_bound
        last = None if event.partial else self.written.get(view.lineage[bound - 1])
        divided = last is not None and last.batch.last_offset >= bound
        return last.batch.base_offset if last is not None and divided else bound

    def _mapped(self, event: Cleaned, view: ReplicaView, end: int) -> dict[str, int] | None:
        """Key -> uid of its winner in the dirty section; None = events do not tell."""
        first, history, written = event.first_dirty_offset, self.history, self.written
        if first < view.log_start_offset or history.committed_twice:
            return None
        uids = [uid for uid in view.slots[first:end] if uid > 0]
        uids += [gone.uid for gone in event.removals if first <= gone.offset < end]
        winners: dict[str, int] = {}
        verdicts: dict[int, bool] | None = None
        for uid in uids:
            known = written.get(uid)
            if known is None:
                return None
            if known.key is None:
                continue
            if not known.plain and known.batch.transactional:
                counts = history.status.get(uid)
                verdicts = self._verdicts(event, view) if verdicts is None else verdicts
                if counts is None or self._by_index or verdicts.get(uid) is not counts:
                    return None
                if not counts:
                    continue
            winner = winners.get(known.key)
            if winner is None or known.version > written[winner].version:
                winners[known.key] = uid
        return winners

    def _verdicts(self, event: Cleaned, view: ReplicaView) -> dict[int, bool]:
        """Uid of transactional data -> whether it counts by the markers that the log had."""
        written, first = self.written, event.first_dirty_offset
        held = {offset: uid for offset, uid in enumerate(view.slots[first:], first) if uid > 0}
        held |= {gone.offset: gone.uid for gone in event.removals if gone.offset >= first}
        counts: dict[int, bool] = {}
        found: dict[int, bool] = {}
        for offset in sorted(held, reverse=True):
            known = written.get(held[offset])
            if known is not None and known.batch.control is not None:
                counts[known.batch.producer_id] = known.batch.control is Control.COMMIT
            elif known is not None and known.batch.producer_id in counts:
                found[held[offset]] = counts[known.batch.producer_id]
        return found

    def _judge_left(
        self, event: Cleaned, view: ReplicaView, mapped: dict[str, int], end: int
    ) -> None:
        """Nothing stays that the map beats."""
        if not self._order or not mapped:
            return
        written = self.written
        for uid in [uid for uid in view.slots[view.log_start_offset : end] if uid > 0]:
            known = written.get(uid)
            winner = None if known is None or known.key is None else mapped.get(known.key)
            if known is None or winner is None or winner == uid:
                continue
            if known.version < written[winner].version and known.offset != event.protected_offset:
                told = {"winner": winner, "upper_bound": event.upper_bound}
                self.broken_by(event.replica, uid, None, _LEFT, **told)

    def _judge_divided(self, event: Cleaned, view: ReplicaView) -> None:
        """The batch in which the map was full is copied whole."""
        bound, horizon = event.upper_bound, event.now_ms + self._retention_ms
        before = self.written.get(view.lineage[bound - 1])
        if before is None or before.batch.last_offset < bound or not 0 <= horizon < 2**63:
            return
        base, end = before.batch.base_offset, before.batch.last_offset + 1
        for uid in view.slots[base:end]:
            known = self.written.get(uid)
            if known is not None and known.tombstone and known.record.flagged is not None:
                if base not in view.horizons:
                    told = {"now_ms": event.now_ms, "upper_bound": bound}
                    self.broken_by(event.replica, uid, None, _UNSTAMPED, **told)
                return

    def _judge_emptied(self, event: Cleaned, view: ReplicaView) -> None:
        """Of a producer the last batch alone is kept empty; a fix may keep the highest."""
        emptied = sorted(event.emptied)
        if self._fixed:
            emptied.pop()
        for offset in emptied:
            known = self.written.get(view.lineage[offset])
            if known is not None and known.batch.producer_id >= 0:
                producer, later = known.batch.producer_id, self._later(view, known)
                if later is not None and later >= self._forgotten.get((view.name, producer), 0):
                    told = {"producer": producer, "last_offset": later}
                    self.broken(event.replica, offset, None, _NOT_LAST, **told)

    def _later(self, view: ReplicaView, known: Written) -> int | None:
        """Where a log has later data of the producer of a batch, or a newer epoch of it."""
        slots, last = view.slots, known.batch
        for above in range(len(slots) - 1, last.last_offset, -1):
            uid = slots[above]
            if uid == EMPTY:
                uid = view.lineage[above]
            other = self.written.get(uid)
            if other is not None and other.batch.producer_id == last.producer_id:
                batch = other.batch
                if batch.control is None or batch.producer_epoch > last.producer_epoch:
                    return above
        return None
