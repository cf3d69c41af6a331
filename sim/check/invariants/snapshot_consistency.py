"""Snapshots hold what the committed history folds to."""

from sim.check.folding import differing_keys, state_of
from sim.check.invariant import Invariant
from sim.check.violation import Value
from sim.protocol.events import HighWatermarkMoved, SnapshotInstalled, SnapshotTaken
from sim.protocol.log.record import Record

_Snapshot = SnapshotTaken | SnapshotInstalled


def _contents(records: tuple[Record, ...]) -> dict[str, int]:
    return {record.key: record.uid for record in records if record.key is not None}


class SnapshotConsistency(Invariant):
    """Snapshots of one id are equal, and equal the fold of the committed history below their end.

    For all snapshots S of (end, epoch): S = any other one of that id that some replica has, and S =
    fold(committed below end).
    Judged: as a snapshot is taken or installed; with the fold as soon as the history reaches its
    end. Excused: the fold once an offset was committed twice; a snapshot that is gone by then.
    No usual event breaks it: no snapshot has waited for what a usual high watermark commits.
    """

    source = "KIP-630"
    explained_by = "snapshot_content"
    unusual_only = True
    any_of = (SnapshotTaken, SnapshotInstalled)

    def begin(self) -> None:
        """No snapshots yet."""
        self._waiting: list[tuple[int, _Snapshot]] = []

    def on_any_of(self, event: _Snapshot) -> None:
        """Compare with the others of the same id and, if it is known already, with the fold."""
        for view in self.replicas.values():
            other = view.snapshots.get((event.end_offset, event.epoch))
            if other is not None and _contents(other) != _contents(event.records):
                self._differs(event, None, "differs from that of {other}.", None, other=view.name)
        self._waiting.append((self.history.at, event))
        self.on_high_watermark_moved()

    def on_high_watermark_moved(self, _: HighWatermarkMoved | None = None) -> None:
        """The history grew: some snapshot may be judged now."""
        known = len(self.committed)
        for at, event in self._waiting:
            view = self.replicas.get(event.replica)  # it may have left since
            kept = view is not None and (event.end_offset, event.epoch) in view.snapshots
            if event.end_offset <= known and kept and not self.history.committed_twice:
                self._compare_with_fold(event, at)
        self._waiting = [each for each in self._waiting if each[1].end_offset > known]

    def _compare_with_fold(self, event: _Snapshot, at: int) -> None:
        wanted = state_of(self.history, self.committed[: event.end_offset])
        if self.history.deltas:
            values = {record.key or "": record.value or "" for record in event.records}
            for key in differing_keys(values, wanted)[:1]:
                says = "has {key}={held}; the committed history has {wanted}."
                told = {"held": values.get(key), "wanted": wanted.get(key)}
                self._differs(event, key, says, at, **told)
            return
        found = _contents(event.records)
        for key in differing_keys(found, wanted)[:1]:
            says = "has {held} for {key}; the committed history has {winner}."
            uid, winner = found.get(key, 0), wanted.get(key, 0)
            self._differs(event, key, says, at, held=uid, winner=winner)

    def _differs(
        self, event: _Snapshot, key: str | None, says: str, began: int | None, **evidence: Value
    ) -> None:
        says = "snapshot ({offset}, {epoch}) of {replica} " + says
        epoch, end = event.epoch, event.end_offset
        self.violated(event.replica, end, key, says, began, epoch=epoch, **evidence)
