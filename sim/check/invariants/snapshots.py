"""Snapshots: taken below the high watermark, equal everywhere, covering what was deleted."""

from __future__ import annotations

from sim.check.deltas import delta_state
from sim.check.ledger import Disk, Ledger
from sim.check.registry import Invariant, Reporter, invariant
from sim.log import Control, Record
from sim.trace import (
    HighWatermarkMoved,
    PrefixDeleted,
    SnapshotInstalled,
    SnapshotOffered,
    SnapshotTaken,
)


@invariant
class SnapshotBound(Invariant):
    """A snapshot ends at or below the high watermark of the replica that takes it."""

    name = "snapshot-bound"
    source = "KIP-630; KafkaMetadataLog.createNewSnapshot"

    def on_snapshot_taken(self, event: SnapshotTaken) -> None:
        """Compare end and high watermark."""
        hw = self.ledger.disks[event.replica].hw
        if event.end_offset > hw:
            self.violated(
                event.replica,
                event.end_offset,
                None,
                f"{event.replica} took snapshot ({event.end_offset}, {event.epoch}) above its "
                f"high watermark {hw}.",
            )


def fold_below(ledger: Ledger, end: int) -> dict[str, int]:
    """Key -> uid of the winner of the committed history below `end`; deleted keys are absent."""
    winners: dict[str, int] = {}
    pending: dict[int, list[int]] = {}
    for uid in ledger.committed[:end]:
        known = ledger.written.get(uid)
        if known is None:
            continue
        decided = [uid]
        if known.control is not None:
            data = pending.pop(known.producer_id, [])
            decided = data if known.control is Control.COMMIT else []
        elif known.transactional:
            pending.setdefault(known.producer_id, []).append(uid)
            decided = []
        for each in decided:
            key = ledger.written[each].record.key
            if key is not None and (key not in winners or ledger.beats(each, winners[key])):
                winners[key] = each
    return {key: uid for key, uid in winners.items() if not ledger.written[uid].tombstone}


@invariant
class SnapshotConsistency(Invariant):
    """Snapshots of one id are equal, and equal the fold of the committed history below their end.

    The fold is compared as soon as the history reaches the end of the snapshot.
    """

    name = "snapshot-consistency"
    source = "KIP-630"

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """No snapshots yet."""
        super().__init__(ledger, report)
        self._waiting: list[SnapshotTaken] = []

    def on_snapshot_taken(self, event: SnapshotTaken) -> None:
        """Compare with the others of the same id and, if it is known already, with the fold."""
        identity = (event.end_offset, event.epoch)
        for disk in self.ledger.disks.values():
            other = disk.snapshots.get(identity)
            if other is not None and _contents(other) != _contents(event.records):
                self.violated(
                    event.replica,
                    event.end_offset,
                    None,
                    f"snapshot {identity} of {event.replica} differs from that of {disk.name}.",
                )
        self._waiting.append(event)
        self._judge()

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """The history grew: some snapshot may be judged now."""
        if self._waiting:
            self._judge()

    def _judge(self) -> None:
        ledger = self.ledger
        known = len(ledger.committed)
        for event in [event for event in self._waiting if event.end_offset <= known]:
            self._waiting.remove(event)
            kept = ledger.disks[event.replica].snapshots.get((event.end_offset, event.epoch))
            if ledger.committed_twice or kept is None:
                continue
            if ledger.rules.snapshots.state_machine == "deltas":
                self._compare_deltas(event)
                continue
            expected = fold_below(ledger, event.end_offset)
            found = _contents(event.records)
            if found != expected:
                key = next(k for k in sorted(found | expected) if found.get(k) != expected.get(k))
                self.violated(
                    event.replica,
                    event.end_offset,
                    key,
                    f"snapshot ({event.end_offset}, {event.epoch}) of {event.replica} has "
                    f"{ledger.describe(found.get(key, 0))} for {key}; the committed history has "
                    f"{ledger.describe(expected.get(key, 0))}.",
                )

    def _compare_deltas(self, event: SnapshotTaken) -> None:
        ledger = self.ledger
        expected = delta_state(ledger, ledger.committed[: event.end_offset])
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


def _contents(records: tuple[Record, ...]) -> dict[str, int]:
    return {record.key: record.uid for record in records if record.key is not None}


@invariant
class SnapshotAtLogStart(Invariant):
    """A log that starts above 0 has a snapshot that ends exactly there."""

    name = "snapshot-at-log-start"
    source = "SnapshotAtLogStart (RaftEventSimulationTest)"

    def on_prefix_deleted(self, event: PrefixDeleted) -> None:
        """Look for the snapshot."""
        disk = self.ledger.disks[event.replica]
        start = event.log_start_offset
        if start > 0 and all(end != start for end, _ in disk.snapshots):
            self.violated(
                event.replica,
                start,
                None,
                f"{event.replica} starts its log at {start} without a snapshot that ends there.",
            )


@invariant
class PrefixDeletionSafety(Invariant):
    """A prefix goes only below a covering snapshot and the high watermark; laggards get one."""

    name = "prefix-deletion-safety"
    source = "KIP-630; KafkaMetadataLog.deleteBeforeSnapshot"

    def on_prefix_deleted(self, event: PrefixDeleted) -> None:
        """Judge the new log start."""
        disk = self.ledger.disks[event.replica]
        start = event.log_start_offset
        if start > event.high_watermark:
            self.violated(
                event.replica,
                start,
                None,
                f"{event.replica} deleted below {start}, above its high watermark "
                f"{event.high_watermark}.",
            )
        if not _covered(disk, start):
            self.violated(
                event.replica,
                start,
                None,
                f"{event.replica} deleted below {start} without a snapshot that covers it.",
            )

    def on_snapshot_offered(self, event: SnapshotOffered) -> None:
        """A follower below the log start has to be offered one."""
        if event.end_offset < 0:
            self.violated(
                event.replica,
                event.fetch_offset,
                None,
                f"{event.follower} fetched at {event.fetch_offset}, below the log start of "
                f"{event.replica}, which has no snapshot to offer.",
            )


def _covered(disk: Disk, start: int) -> bool:
    return any(end >= start for end, _ in disk.snapshots)


@invariant
class SnapshotNeverRegresses(Invariant):
    """Installing a snapshot never takes a replica back below its high watermark."""

    name = "snapshot-never-regresses"
    source = "KafkaMetadataLog.truncateToLatestSnapshot"
    in_stories = False

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """Compare its end with the high watermark before."""
        if event.end_offset < event.high_watermark:
            self.violated(
                event.replica,
                event.end_offset,
                None,
                f"{event.replica} installed snapshot ({event.end_offset}, {event.epoch}) although "
                f"its high watermark was {event.high_watermark}.",
            )
