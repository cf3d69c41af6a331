"""Tombstones and markers go when they have to (KIP-534)."""

from typing import Final

from sim.check.facts import HOLE, ReplicaView, Written
from sim.check.listening import REPLACED
from sim.protocol.events import (
    Cleaned,
    ConfigChanged,
    RemovalBoundMoved,
    ReplicaRemoved,
    ReplicaWiped,
)
from sim.protocol.log.record import Control
from tests.audits.law import Law

_LEFT = (
    "{replica} left the {record} in a pass at {now_ms} ms that reached {upper_bound}; its delete "
    "horizon was {horizon_ms} ms."
)
_AT_ONCE = (
    "{replica} left the {record} in a pass at {now_ms} ms that reached {upper_bound}; under "
    "tombstone_removal: immediate it was to go."
)
_UNSTAMPED = (
    "{replica} left the {record} without a delete horizon in a pass at {now_ms} ms that reached "
    "{upper_bound}; without one it stays for ever."
)
_BY_HORIZON: Final = ("horizon", "leo_gated", "coordinated")
"""Rules by which a tombstone goes at the horizon of its batch, if nothing else holds it back."""
_ENDS: Final = (Control.COMMIT, Control.ABORT)
_MAX_HORIZON_MS: Final = 2**63 - 1


class RemovedWhenDue(Law):
    """A pass takes each tombstone and each marker whose time has come, and times all others.

    For passes of r that move the first dirty offset up to u, begun at `now` of r's own clock,
    records x that stay at offset o < u, x a tombstone, or a marker below which r held no data of
    its producer when the pass began, h(x) the delete horizon of x's batch before the pass::

        h(x) is none or h(x) > now;  and after the pass x's batch has a delete horizon

    (KIP-534, Proposed Changes; Cleaner.shouldRetainRecord, .shouldDiscardBatch). Under
    `tombstone_removal: immediate` no tombstone stays at all.
    Judged: after each pass that gets on; one that was interrupted, failed, or found nothing dirty
    has not copied all that is below the first dirty offset.
    Excused: what a fix protects; what `leo_gated` keeps for a log that ends at or below it, and
    `coordinated` at or above the bound that it was told; tombstones under the other rules, which
    go by times that no event tells, or never; markers that go by them, too; a format without
    delete horizons; a batch that reaches above u; a marker whose transaction began below the log
    start, since its segment may have that still; and replicas whose settings are their own or
    change, since the promise is that of the newest.
    """

    name = "removed-when-due"
    source = "KIP-534, Proposed Changes; Cleaner.shouldRetainRecord, .shouldDiscardBatch"
    any_of = (*REPLACED, ReplicaRemoved)

    def begin(self) -> None:
        """No pass was seen."""
        rules = self.history.rules
        cleaner = rules.cleaner
        self._removal = cleaner.tombstone_removal
        by_segment = self._removal == "last_modified"
        self._marked = not by_segment or cleaner.marker_removal != "as_tombstones"
        self._coordinated = self._removal == "coordinated"
        self._retention_ms = rules.topic.delete_retention_ms
        early = rules.storage.cleaner_checkpoint == "before_work"
        self._judges = not early and not self.history.settings_change
        self._own: set[str] = set()
        self._bounds: dict[str, tuple[int, int]] = {}
        self._waiting: dict[str, dict[int, int]] = {}
        self._kept_by: dict[tuple[str, int], int] = {}
        self._before: dict[int, int] = {}
        self._fresh: set[int] = set()

    def on_config_changed(self, event: ConfigChanged) -> None:
        """It goes by settings of its own."""
        self._own.add(event.replica)

    def on_removal_bound_moved(self, event: RemovalBoundMoved) -> None:
        """Note how far it may remove under `coordinated`."""
        self._bounds[event.replica] = (event.offset, event.marker_offset)

    def on_any_of(self, event: ReplicaWiped) -> None:
        """It waits to be told again."""
        self._bounds.pop(event.replica, None)

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at what stays below the bound."""
        name, bound = event.replica, event.upper_bound
        if not self._judges or bound <= event.first_dirty_offset or name in self._own:
            return
        view = self.replicas[name]
        waiting, slots = self._waiting.setdefault(name, {}), view.slots
        self._meet(view, event, waiting)
        if not waiting:
            return
        self._before = {base: before for base, before, _ in self.history.moved_horizons}
        self._fresh = {base for base, _ in event.horizons}
        limits = self._limits(view)
        for offset, uid in list(waiting.items()):
            if offset >= len(slots) or slots[offset] != uid:
                del waiting[offset]
            elif offset < bound and offset != event.protected_offset:
                known = self.written[uid]
                if known.tombstone:
                    self._judge_tombstone(event, view, known, limits[0])
                elif self._marked:
                    self._judge(event, view, known, limits[1])

    def _meet(self, view: ReplicaView, event: Cleaned, waiting: dict[int, int]) -> None:
        """Note the tombstones and markers that a pass met for the first time, and left."""
        written, first = self.written, event.first_dirty_offset
        for offset, uid in enumerate(view.slots[first : event.upper_bound], first):
            known = written.get(uid)
            if known is not None and (known.tombstone or known.batch.control in _ENDS):
                waiting[offset] = uid

    def _limits(self, view: ReplicaView) -> tuple[int, int]:
        """Below which offsets a replica may remove tombstones, and markers (exclusive)."""
        end = len(view.slots)
        if self._coordinated:
            return self._bounds.get(view.name, (0, 0))
        if self._removal == "leo_gated":
            return min([len(each.slots) for each in self.replicas.values()]), end
        return end, end

    def _judge_tombstone(
        self, event: Cleaned, view: ReplicaView, known: Written, below: int
    ) -> None:
        """A tombstone stayed."""
        if self._removal == "immediate":
            self._tell(event, known, _AT_ONCE)
        elif self._removal in _BY_HORIZON and known.record.flagged is not None:
            self._judge(event, view, known, below)

    def _judge(self, event: Cleaned, view: ReplicaView, known: Written, below: int) -> None:
        """What goes at the delete horizon of its batch stayed; it may go below `below`."""
        base, now_ms = known.batch.base_offset, event.now_ms
        before = self._before.get(base)
        if before is None and base not in self._fresh:
            before = view.horizons.get(base)
        if before is not None:
            if before <= now_ms and known.offset < below and self._is_last(event, view, known):
                self._tell(event, known, _LEFT, horizon_ms=before)
        elif (
            base not in self._fresh
            and known.batch.last_offset < event.upper_bound
            and 0 <= now_ms + self._retention_ms <= _MAX_HORIZON_MS
            and self._is_last(event, view, known)
        ):
            self._tell(event, known, _UNSTAMPED)

    def _is_last(self, event: Cleaned, view: ReplicaView, known: Written) -> bool:
        """A tombstone, or a marker below which there was no data of its producer at the start."""
        if known.tombstone:
            return True
        producer, name, marker = known.batch.producer_id, view.name, known.record.uid
        kept_by = self._kept_by.get((name, marker))
        if kept_by is not None and self._is_data(view, kept_by, producer):
            return False
        taken = [*[removal.offset for removal in event.removals], *event.dropped]
        if any(o < known.offset and self._was_data(view.lineage[o], producer) for o in taken):
            return False
        for offset in range(view.log_start_offset, known.offset):
            if self._is_data(view, offset, producer):
                self._kept_by[name, marker] = offset
                return False
        return self._begins_in_log(view, producer)

    def _begins_in_log(self, view: ReplicaView, producer: int) -> bool:
        """Whether no transaction of a producer reaches across the log start of a replica.

        A segment may still have its data: it is deleted as a whole.
        """
        for offset in range(view.log_start_offset - 1, -1, -1):
            known = self.written.get(view.lineage[offset])
            batch = None if known is None else known.batch
            if batch is not None and batch.transactional and batch.producer_id == producer:
                return batch.control is not None
        return True

    def _is_data(self, view: ReplicaView, offset: int, producer: int) -> bool:
        """Whether a log has data of a transaction of a producer there, or the batch it was in."""
        uid = view.uid_at(offset)
        return uid != HOLE and self._was_data(uid if uid > 0 else view.lineage[offset], producer)

    def _was_data(self, uid: int, producer: int) -> bool:
        known = self.written.get(uid)
        if known is None or known.batch.control is not None:
            return False
        return bool(known.batch.transactional and known.batch.producer_id == producer)

    def _tell(
        self, event: Cleaned, known: Written, says: str, horizon_ms: int | None = None
    ) -> None:
        told = {"now_ms": event.now_ms, "upper_bound": event.upper_bound}
        uid, replica = known.record.uid, event.replica
        if horizon_ms is None:
            self.broken_by(replica, uid, None, says, **told)
        else:
            self.broken_by(replica, uid, None, says, horizon_ms=horizon_ms, **told)
