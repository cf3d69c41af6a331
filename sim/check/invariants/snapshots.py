"""Snapshots: their content, when they are installed, and which prefix may go for them."""

from typing import Any

from sim.check.folding import differing_keys, state_of
from sim.check.invariant import Invariant, Kind
from sim.check.violation import Value
from sim.protocol import events
from sim.protocol.log.record import Control, Record


class SnapshotAtLogStart(Invariant):
    """A log that starts above 0 has a snapshot that ends exactly there.

    For a prefix of r deleted up to s > 0: r holds a snapshot with end = s.
    Judged: on prefix deletion. Excused: logs without snapshots, whose start retention moves.

    Source: SnapshotAtLogStart (RaftEventSimulationTest)
    Says: {replica} starts its log at {offset} without a snapshot that ends there.
    """

    explained_by = "event"

    def on_prefix_deleted(self, event: events.PrefixDeleted) -> None:
        """Looks for the snapshot."""
        ends = sorted([end for end, _ in self.replicas[event.replica].snapshots])
        start = event.log_start_offset
        if start > 0 and start not in ends:
            self.broken(event.replica, start, snapshot_ends=tuple(ends))


class SnapshotBound(Invariant):
    """A snapshot ends at or below the high watermark of the replica that takes it.

    For a snapshot that r takes: end <= hw(r).
    Judged: as it is taken. Excused: nothing.

    Source: KIP-630; KafkaMetadataLog.createNewSnapshot
    Says: {replica} took snapshot ({offset}, {epoch}) above its high watermark {high_watermark}.
    """

    explained_by = "event"

    def on_snapshot_taken(self, event: events.SnapshotTaken) -> None:
        """Compares end and high watermark."""
        mark, end = self.replicas[event.replica].high_watermark, event.end_offset
        if end > mark:
            self.broken(event.replica, end, epoch=event.epoch, high_watermark=mark)


_Snapshot = events.SnapshotTaken | events.SnapshotInstalled


def _contents(records: tuple[Record, ...]) -> dict[str, int]:
    return {record.key: record.uid for record in records if record.key is not None}


class SnapshotConsistency(Invariant):
    """Snapshots of one id are equal, and equal the fold of the committed history below their end.

    For all snapshots S of (end, epoch): S = any other one of that id that some replica has, and S =
    fold(committed below end).
    Judged: as a snapshot is taken or installed; with the fold as soon as the history reaches its
    end. Excused: the fold once an offset was committed twice; a snapshot that is gone by then.

    Source: KIP-630
    """

    explained_by = "snapshot_content"
    any_of = (events.SnapshotTaken, events.SnapshotInstalled)

    def begin(self) -> None:
        """Starts with no snapshots."""
        self._waiting: list[tuple[int, _Snapshot]] = []

    def on_any_of(self, event: _Snapshot) -> None:
        """Compares with the others of the same id and, if it is known already, with the fold."""
        for view in self.replicas.values():
            other = view.snapshots.get((event.end_offset, event.epoch))
            if other is not None and _contents(other) != _contents(event.records):
                self._differs(event, None, "differs from that of {other}.", None, other=view.name)
        self._waiting.append((self.history.at, event))
        self.on_high_watermark_moved()

    def on_high_watermark_moved(self, _: events.HighWatermarkMoved | None = None) -> None:
        """Judges the snapshots that end at or below what is committed now."""
        if not self._waiting:
            return
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
                evidence = {"held": values.get(key), "wanted": wanted.get(key)}
                self._differs(event, key, says, at, **evidence)
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
        self.broken(event.replica, end, key, says, began, epoch=epoch, **evidence)


PATIENCE = 3
"""Number of downloads lost in a row, to deletions at the leader, that is a violation."""

SNAPSHOT_NOT_FOUND = "SNAPSHOT_NOT_FOUND"
"""Reason of such a loss, as Kafka names it (Errors.SNAPSHOT_NOT_FOUND)."""

_LOST = (
    "{replica} lost {lost} snapshots in a row while it fetched them, the last one ({snapshot_end}, "
    "{epoch}): the leader deletes them faster than it reads."
)


class SnapshotFetchProgress(Invariant):
    """A follower that stays connected to one leader gets its snapshot eventually.

    For all followers f: at rest f is fetching no snapshot; and before, f does not lose three
    downloads in a row because the leader deleted what it was reading.
    Judged: at rest after all replicas synced; and whenever a download is lost. Excused: as soon as
    another leader is elected, a fault or a crash hits f, or a record reaches it, counting starts
    over.

    Source: KIP-630
    Says: {replica} has {received} {unit} of the snapshot that ends at {offset} and does not get on.
    """

    kind = Kind.LIVENESS
    fairness = "one leader stays, and no fault hits the follower or its link"
    explained_by = "snapshot_fetch"
    in_stories = False
    any_of = (events.SnapshotInstalled, events.ReplicaCrashed, events.ReplicaRemoved)

    def begin(self) -> None:
        """Starts with no downloads."""
        self._fetching: dict[str, tuple[int, int, str, int]] = {}
        self._lost: dict[str, int] = {}

    def on_snapshot_chunk_fetched(self, event: events.SnapshotChunkFetched) -> None:
        """Notes how far a download has come."""
        size, unit = (event.size_bytes, "bytes") if event.in_bytes else (event.entries, "entries")
        received = event.position + size
        self._fetching[event.replica] = (event.end_offset, received, unit, self.history.at)

    def on_snapshot_fetch_dropped(self, event: events.SnapshotFetchDropped) -> None:
        """Counts downloads in a row that ended because the leader deleted the snapshot."""
        replica = event.replica
        begun = self._fetching.pop(replica, None) is not None
        if event.reason != SNAPSHOT_NOT_FOUND:
            self._lost.pop(replica, None)
            return
        self._lost[replica] = lost = self._lost.get(replica, 0) + begun
        if begun and lost == PATIENCE:
            end, epoch = event.end_offset, event.epoch
            self.broken(replica, None, None, _LOST, lost=lost, snapshot_end=end, epoch=epoch)

    def on_leader_elected(self, _: events.LeaderElected) -> None:
        """Excuses all followers: another leader was elected."""
        self._lost.clear()

    def on_copied(self, event: events.Copied) -> None:
        """Excuses the follower: it got records without a snapshot."""
        self._lost.pop(event.replica, None)

    def on_fault_injected(self, event: events.FaultInjected) -> None:
        """Excuses the follower: a fault hit it."""
        self._lost.pop(event.replica, None)

    def on_any_of(self, event: Any) -> None:
        """Ends a download: it is finished, or its follower crashed or left."""
        self._lost.pop(event.replica, None)
        self._fetching.pop(event.replica, None)

    def on_quiesced(self, event: events.Quiesced) -> None:
        """Reports downloads that are not finished at rest."""
        if event.synced:
            for replica, (end, received, unit, since) in self._fetching.items():
                self.broken(replica, end, None, "", since, received=received, unit=unit)


_PART = (
    "{replica} installed {installed} records as snapshot ({offset}, {epoch}), which has {counted}."
)


class SnapshotInstallAtomic(Invariant):
    """At every instant a replica has either its old log, or the whole snapshot and nothing else.

    For all r: its log is emptied only as a snapshot replaces it; what is installed as (end, epoch)
    is all that the leader it came from has under that id.
    Judged: as a log is emptied, and on install. Excused: an empty log has nothing to lose; a source
    that has deleted the snapshot since.

    Source: KIP-630; KafkaMetadataLog.truncateToLatestSnapshot, FileRawSnapshotWriter.freeze
    Says: {replica} emptied its log, which ended at {offset} (high watermark {high_watermark}),
        before snapshot ({snapshot_end}, {epoch}) was there; a crash now leaves it with neither.
    """

    explained_by = "event"
    in_stories = False

    def begin(self) -> None:
        """Starts with no downloads."""
        self._sources: dict[str, str] = {}

    def on_log_emptied(self, event: events.LogEmptied) -> None:
        """Reports a log that is emptied before the snapshot is there."""
        if event.log_end_offset > 0:
            mark, end = event.high_watermark, event.end_offset
            evidence = {"high_watermark": mark, "snapshot_end": end, "epoch": event.epoch}
            self.broken(event.replica, event.log_end_offset, **evidence)

    def on_snapshot_chunk_fetched(self, event: events.SnapshotChunkFetched) -> None:
        """Notes the leader from which the snapshot comes."""
        self._sources[event.replica] = event.leader

    def on_snapshot_installed(self, event: events.SnapshotInstalled) -> None:
        """Compares the installed snapshot with that of the leader, if the leader still has it."""
        source = self.replicas.get(self._sources.pop(event.replica, ""))
        whole = None if source is None else source.snapshots.get((event.end_offset, event.epoch))
        if whole is not None and whole != event.records:
            evidence = {
                "installed": len(event.records),
                "epoch": event.epoch,
                "counted": len(whole),
            }
            self.broken(event.replica, event.end_offset, None, _PART, **evidence)


class SnapshotNeverRegresses(Invariant):
    """Installing a snapshot never takes a replica back below its high watermark.

    For a snapshot that r installs: end >= hw(r) before.
    Judged: on install. Excused: an uncommitted tail above the end goes; the leader lacks it. Not
    judged: Kafka's precondition, which throws unless the epoch is above the log's newest, or the
    same and the end above the log end: after an unclean election a log of a later epoch that ends
    below the snapshot has to be replaced, too.

    Source: KafkaMetadataLog.truncateToLatestSnapshot
    Says: {replica} installed snapshot ({offset}, {epoch}) although its high watermark was
        {high_watermark}.
    """

    explained_by = "event"
    in_stories = False

    def on_snapshot_installed(self, event: events.SnapshotInstalled) -> None:
        """Compares its end with the high watermark before."""
        mark = max(event.high_watermark, self.history.previous_high_watermark)
        if event.end_offset < mark:
            self.broken(event.replica, event.end_offset, epoch=event.epoch, high_watermark=mark)


class PrefixDeletionSafety(Invariant):
    """A deleted prefix is committed and in a snapshot; followers below it are offered a snapshot.

    For a prefix of r deleted up to s: s <= hw(r), and r holds a snapshot with end >= s. For a
    follower that fetches below the log start, or is due one otherwise: it is offered a snapshot
    with end >= start(r).
    Judged: on deletion, and on such a fetch. Excused: nothing.

    Source: KIP-630; KafkaMetadataLog.deleteBeforeSnapshot
    """

    explained_by = "event"
    says = "{follower} fetched at {offset}, below the log start of {replica}, which has "

    def on_prefix_deleted(self, event: events.PrefixDeleted) -> None:
        """Judges the new log start."""
        view, start = self.replicas[event.replica], event.log_start_offset
        mark = min(event.high_watermark, view.high_watermark)
        if start > mark:
            above = "{replica} deleted below {offset}, above its high watermark {high_watermark}."
            self.broken(event.replica, start, None, above, high_watermark=mark)
        newest = max((end for end, _ in view.snapshots), default=-1)
        if newest < start:
            bare = "{replica} deleted below {offset} without a snapshot that covers it."
            self.broken(event.replica, start, None, bare, snapshot_end=newest)

    def on_snapshot_offered(self, event: events.SnapshotOffered) -> None:
        """Reports an offer of no snapshot, or of one that ends below the leader's log start."""
        end = event.end_offset
        if end < self.replicas[event.replica].log_start_offset:
            has = "no snapshot" if end < 0 else "only one up to {snapshot_end}"
            says = self.says + has + " to offer."
            follower, at = event.follower, event.fetch_offset
            self.broken(event.replica, at, None, says, follower=follower, snapshot_end=end)


class LeaderNeverLoadsSnapshot(Invariant):
    """An active leader's state machine is never replaced by a snapshot.

    For all snapshots that r installs: r does not lead.
    Judged: on each install. Excused: nothing.

    Source: LeaderNeverLoadSnapshot (RaftEventSimulationTest)
    Says: {replica} installed snapshot ({offset}, {epoch}) while it was leading.
    """

    explained_by = "event"
    in_stories = False

    def on_snapshot_installed(self, event: events.SnapshotInstalled) -> None:
        """Reports a leader that installs a snapshot."""
        if event.leading:
            self.broken(event.replica, event.end_offset, epoch=event.epoch)


_IN_LOG = (
    "{replica} was sent a snapshot of {size_bytes} bytes in the log at offset {offset}; it has "
    "every record below."
)


class TrafficAccounting(Invariant):
    """Each byte of a snapshot is sent once, and only to replicas that lack it.

    For all chunks a follower receives of one download: position = sum of the sizes before, from 0.
    No follower copies a snapshot as a record of the log, as it has every record below.
    Judged: on each chunk and copy. Excused: after an install, a dropped download, a crash, a new
    disk or its own election a follower starts at 0 again.

    Source: KIP-630, Amount of Data Replicated; Rejected Alternatives
    Says: {replica} was sent snapshot ({offset}, {epoch}) from {position} on, having it up to
        {received}.
    """

    explained_by = "event"
    in_stories = False
    any_of = (
        events.SnapshotInstalled,
        events.SnapshotFetchDropped,
        events.ReplicaCrashed,
        events.ReplicaWiped,
        events.LeaderElected,
    )

    def begin(self) -> None:
        """Starts with no downloads."""
        self._received: dict[str, int] = {}

    def on_copied(self, event: events.Copied) -> None:
        """Reports a snapshot within the log: its follower has every record below."""
        for batch in event.batches if Control.SNAPSHOT in self.history.controls else ():
            if batch.control is Control.SNAPSHOT:
                base, size = batch.base_offset, batch.size_bytes
                self.broken(event.replica, base, None, _IN_LOG, size_bytes=size)

    def on_snapshot_chunk_fetched(self, event: events.SnapshotChunkFetched) -> None:
        """Compares the position of the chunk with the end of the chunk before."""
        expected, position = self._received.get(event.replica, 0), event.position
        if position != expected:
            evidence = {"epoch": event.epoch, "position": position, "received": expected}
            self.broken(event.replica, event.end_offset, **evidence)
        size = event.size_bytes if event.in_bytes else event.entries
        self._received[event.replica] = position + size

    def on_any_of(self, event: Any) -> None:
        """Ends a download; the next one starts at 0."""
        self._received.pop(event.replica, None)
