"""Epochs: each has one leader, they rise along a log, and replicas agree on where each ends."""

from collections import defaultdict
from typing import Any, NamedTuple

from sim.check.facts import ReplicaView
from sim.check.invariant import Kind, LogInvariant, Writing, batches_of
from sim.protocol import events


class ElectionSafety(LogInvariant):
    """At most one replica ever leads an epoch.

    For all elections of r in epoch e and of s in epoch e: r = s.
    Judged: at each election. Excused: one replica may be elected again in its own epoch; what that
    breaks is `offset-epoch-uniqueness`.

    Source: Raft 5.2; KIP-595
    Says: {replica} was elected in epoch {epoch}, which {leader} led already.
    """

    explained_by = "two_leaders"

    def begin(self) -> None:
        """Starts with no leaders."""
        self._leaders: dict[int, str] = {}

    def on_leader_elected(self, event: events.LeaderElected) -> None:
        """Compares with the first leader of the epoch."""
        first = self._leaders.setdefault(event.epoch, event.replica)
        if first != event.replica:
            self.broken(event.replica, event.epoch_start_offset, epoch=event.epoch, leader=first)


class EpochMonotonic(LogInvariant):
    """Epochs never fall along a log; a replica never comes back in an older epoch than it was in.

    For all replicas r, offsets o < p of its log: epoch(log(r)[o]) <= epoch(log(r)[p]), a snapshot
    at the log start stands for the records below it. And the epoch that r remembers after a restart
    is at least the one before.
    Judged: on what is appended, copied or pushed; at restarts. Excused: a new disk remembers
    nothing.

    Source: MonotonicEpoch (RaftEventSimulationTest)
    Says: {replica} holds epoch {epoch} at offset {offset} after epoch {before}.
    """

    explained_by = "event"
    in_stories = False

    def begin(self) -> None:
        """Starts with no crashed replicas."""
        self._epochs: dict[str, int] = {}

    def on_replica_crashed(self, event: events.ReplicaCrashed) -> None:
        """Notes the epoch that the replica should remember."""
        self._epochs[event.replica] = event.epoch

    def on_replica_wiped(self, event: events.ReplicaWiped) -> None:
        """Forgets the epoch: a new disk has none."""
        self._epochs.pop(event.replica, None)

    def on_replica_restarted(self, event: events.ReplicaRestarted) -> None:
        """Compares with the epoch at the crash."""
        before = self._epochs.get(event.replica, 0)
        if event.epoch < before:
            says = "{replica} came back in epoch {epoch}, having been in {before}."
            end, epoch = event.log_end_offset, event.epoch
            self.broken(event.replica, end, None, says, epoch=epoch, before=before)

    def on_written(self, event: Writing) -> None:
        """Compares each batch with the one before it, the first with what the log held."""
        batches = batches_of(event)
        before = self._epoch_below(self.replicas[event.replica], batches[0].base_offset)
        for batch in batches:
            if batch.epoch < before:
                self.broken(event.replica, batch.base_offset, epoch=batch.epoch, before=before)
            before = batch.epoch

    def _epoch_below(self, view: ReplicaView, base: int) -> int:
        """The epoch of the last record below `base`, or of the snapshot there; -1 with neither."""
        start = view.log_start_offset
        while base > start:
            base -= 1
            known = self.written.get(view.lineage[base])
            if known is not None:
                return known.batch.epoch
        return max((epoch for end, epoch in view.snapshots if end == start), default=-1)


class EpochAnswer(NamedTuple):
    """The largest known epoch up to the one asked for, and its end offset (exclusive)."""

    epoch: int
    end_offset: int


class EpochBook:
    """The epochs of one log, kept from events alone.

    Nothing of it is shared with the leader epoch cache of replicas, `sim.protocol.log.epochs`.

    Attributes:
        entries: Each epoch with the first offset (inclusive) that was written in it, both rising.
        end: Where the log ends (exclusive).
        installed: The entry that a snapshot left; it stays although no record follows it.
    """

    def __init__(self, end: int = 0, installed: tuple[int, int] | None = None) -> None:
        """Starts with the end of a log, and the entry that a snapshot brought, if any."""
        self.entries = [] if installed is None else [installed]
        self.end = end
        self.installed = installed

    @property
    def latest(self) -> int:
        """The newest known epoch; -1 without one."""
        return self.entries[-1][0] if self.entries else -1

    def begin(self, epoch: int, start: int) -> None:
        """Notes that an epoch starts at an offset, unless it is the newest and has started before.

        Entries that contradict that are dropped: those of this or later epochs, and those that
        start at this offset or above it.
        """
        if not self.entries or epoch != self.entries[-1][0] or start < self.entries[-1][1]:
            self.entries = [one for one in self.entries if one[0] < epoch and one[1] < start]
            self.entries.append((epoch, start))

    def drop_from(self, start: int) -> None:
        """Forgets the epochs that start at an offset or above."""
        self.entries = [one for one in self.entries if one[1] < start]

    def answer(self, epoch: int) -> EpochAnswer:
        """The largest known epoch at or below `epoch`, and where the next one starts.

        The newest ends at the log end. Below all known ones, and where none is known, the answer
        repeats the epoch that was asked for, with the start of the first one or the log end.
        """
        found = max((known for known, _ in self.entries if known <= epoch), default=epoch)
        end = min((start for known, start in self.entries if known > epoch), default=self.end)
        return EpochAnswer(found, end)


class EpochCacheConsistency(LogInvariant):
    """Two replicas agree on where an epoch ends, up to the older of their newest epochs.

    For all replicas r, s, epochs e <= min(newest(r), newest(s)): answer(r, e) = answer(s, e), where
    an answer is (largest known epoch <= e, start of the next one, else the log end offset).
    Judged: when an epoch, a high watermark or a cache changes. Excused: where an end is above one
    of the two high watermarks or log ends (so a log's own end counts only if all of it is
    committed), or at or below a log start. Where it does not hold, a follower may truncate
    committed records.

    Source: KIP-101, KIP-279; LeaderEpochFileCache.endOffsetFor
    Says: Asked for epoch {epoch}, {replica} answers ({answered}, {offset}) and {other}
        ({other_answered}, {other_end}); both are committed up to {committed_below}.
    """

    kind = Kind.FINDING
    explained_by = "epoch_answers"
    in_stories = False

    def begin(self) -> None:
        """Starts with no known epochs."""
        self._known: defaultdict[str, EpochBook] = defaultdict(EpochBook)
        rules = self.history.rules.replication
        self._cuts_unwritten = rules.epoch_cut == "dropped" and rules.truncation != "none"

    def known(self, replica: str) -> list[tuple[int, int]]:
        """The epochs in the cache of a replica, with their first offsets, as events show."""
        return self._known[replica].entries

    def on_leader_elected(self, event: events.LeaderElected) -> None:
        """Notes the new epoch, which ends the one before."""
        self._known[event.replica].begin(event.epoch, event.epoch_start_offset)
        self._judge(event.replica)

    def on_high_watermark_moved(self, event: events.HighWatermarkMoved) -> None:
        """Judges a replica whose newest epoch starts above its old mark, or is not that of all."""
        known, before = self._known[event.replica], self.history.previous_high_watermark
        latest = known.latest
        crossed = known.entries and known.entries[-1][1] > before
        if crossed or any(other.latest != latest for other in self._known.values()):
            self._judge(event.replica)

    def on_written(self, event: Writing) -> None:
        """Notes the epochs of batches; a copy first drops an epoch in which nothing was written."""
        known = self._known[event.replica]
        led_last = known.entries[-1:] != [known.installed]
        if isinstance(event, events.Copied) and self._cuts_unwritten and led_last:
            known.drop_from(known.end)
        for batch in batches_of(event):
            known.begin(batch.epoch, batch.base_offset)
        known.end = self.replicas[event.replica].log_end_offset

    def on_gap_learned(self, event: events.GapLearned) -> None:
        """Notes the epochs of the leader that start in the gap, or at its end."""
        known = self._known[event.replica]
        for epoch, start in self._known[event.leader].entries:
            if event.fetch_offset <= start <= event.log_end_offset:
                known.begin(epoch, start)
        known.end = event.log_end_offset

    def on_epoch_cache_changed(self, event: events.EpochCacheChanged) -> None:
        """Takes over the changed entries of the cache."""
        self._known[event.replica].entries = [*event.epochs]
        self._judge(event.replica)

    def on_cut(self, event: Any) -> None:
        """Drops the epochs whose records are gone."""
        known, end = self._known[event.replica], self.replicas[event.replica].log_end_offset
        if end < known.end:
            known.drop_from(end)
        known.end = end

    def on_replica_restarted(self, event: events.ReplicaRestarted) -> None:
        """Takes the log end after the restart, which may be lower than before."""
        self._known[event.replica].end = event.log_end_offset

    def on_replaced(self, event: Any) -> None:
        """Forgets all epochs of a log that was replaced."""
        self._known[event.replica] = EpochBook(self.replicas[event.replica].log_end_offset)

    def on_snapshot_installed(self, event: events.SnapshotInstalled) -> None:
        """Notes the epoch of the snapshot's last record."""
        end = event.end_offset
        self._known[event.replica] = EpochBook(end, installed=(event.epoch, end))

    def on_replica_removed(self, event: events.ReplicaRemoved) -> None:
        """Forgets a replica that has left for good."""
        self._known.pop(event.replica, None)

    def _judge(self, replica: str) -> None:
        """Compares one replica with each other one, epoch by epoch."""
        mine, view = self._known[replica], self.replicas[replica]
        for name, theirs in self._known.items():
            other = self.replicas[name]
            committed = min(view.high_watermark, other.high_watermark, mine.end, theirs.end)
            start = max(view.log_start_offset, other.log_start_offset)
            newest = min(mine.latest, theirs.latest)
            known = {epoch for epoch, _ in mine.entries + theirs.entries if epoch <= newest}
            for epoch in sorted(known):
                one, another = mine.answer(epoch), theirs.answer(epoch)
                ends = (one.end_offset, another.end_offset)
                if one != another and start < min(ends) <= max(ends) <= committed:
                    self.broken(
                        replica,
                        one.end_offset,
                        epoch=epoch,
                        answered=one.epoch,
                        other=name,
                        other_answered=another.epoch,
                        other_end=another.end_offset,
                        committed_below=committed,
                    )
