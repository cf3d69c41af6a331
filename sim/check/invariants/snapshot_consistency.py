"""Snapshots hold what the committed history folds to."""

from __future__ import annotations

from sim.check.folding import delta_state, winners_of
from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Report
from sim.log.record import Record
from sim.trace import HighWatermarkMoved, SnapshotInstalled, SnapshotTaken


def _contents(records: tuple[Record, ...]) -> dict[str, int]:
    return {record.key: record.uid for record in records if record.key is not None}


class SnapshotConsistency(Invariant):
    """Snapshots of one id are equal, and equal the fold of the committed history below their end.

    For all snapshots S of (end, epoch): S = any other one of that id that some replica has, and S =
    fold(committed below end).
    Judged: as a snapshot is taken or installed; with the fold as soon as the history reaches its
    end. Excused: the fold once an offset was committed twice; a snapshot that is gone by then.
    """

    name = "snapshot-consistency"
    source = "KIP-630"
    explained_by = "snapshot_content"
    unusual_only = True

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """No snapshots yet."""
        super().__init__(queries, report)
        self._waiting: list[SnapshotTaken | SnapshotInstalled] = []

    def on_snapshot_taken(self, event: SnapshotTaken) -> None:
        """Compare with the others of the same id and, if it is known already, with the fold."""
        self._enter(event)

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """The same for what arrived."""
        self._enter(event)

    def _enter(self, event: SnapshotTaken | SnapshotInstalled) -> None:
        identity = (event.end_offset, event.epoch)
        for view in self.history.replicas.values():
            other = view.snapshots.get(identity)
            if other is not None and _contents(other) != _contents(event.records):
                self.violated(
                    event.replica,
                    event.end_offset,
                    None,
                    f"snapshot {identity} of {event.replica} differs from that of {view.name}.",
                )
        self._waiting.append(event)
        self._judge()

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """The history grew: some snapshot may be judged now."""
        if self._waiting:
            self._judge()

    def _judge(self) -> None:
        history = self.history
        known = len(history.committed)
        for event in [event for event in self._waiting if event.end_offset <= known]:
            self._waiting.remove(event)
            view = history.replicas.get(event.replica)  # it may have left since
            kept = None if view is None else view.snapshots.get((event.end_offset, event.epoch))
            if history.committed_twice or kept is None:
                continue
            if history.rules.snapshots.state_machine == "deltas":
                self._compare_deltas(event)
                continue
            expected = winners_of(history, history.committed[: event.end_offset])
            found = _contents(event.records)
            if found != expected:
                key = next(k for k in sorted(found | expected) if found.get(k) != expected.get(k))
                self.violated(
                    event.replica,
                    event.end_offset,
                    key,
                    f"snapshot ({event.end_offset}, {event.epoch}) of {event.replica} has "
                    f"{self.describe(found.get(key, 0))} for {key}; the committed history has "
                    f"{self.describe(expected.get(key, 0))}.",
                )

    def _compare_deltas(self, event: SnapshotTaken | SnapshotInstalled) -> None:
        history = self.history
        expected = delta_state(history, history.committed[: event.end_offset])
        found = {record.key or "": record.value or "" for record in event.records}
        if found != expected:
            key = next(k for k in sorted(found | expected) if found.get(k) != expected.get(k))
            self.violated(
                event.replica,
                event.end_offset,
                key,
                f"snapshot ({event.end_offset}, {event.epoch}) of {event.replica} has {key}="
                f"{found.get(key)}; the committed history has {expected.get(key)}.",
            )
