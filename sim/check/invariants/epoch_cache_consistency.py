"""Epoch caches: what replicas answer when they are asked where an epoch ends."""

from typing import Any, NamedTuple

from sim import trace
from sim.check.invariant import Kind, LogInvariant
from sim.log.record import Batch


class EpochStart(NamedTuple):
    """An epoch and the first offset (inclusive) that was written in it."""

    epoch: int
    start_offset: int


class EpochAnswer(NamedTuple):
    """The largest known epoch up to the one asked for, and its end offset (exclusive)."""

    epoch: int
    end_offset: int


class EpochBook:
    """What events say about the epochs of one log, by the oracle's own book-keeping.

    Nothing of it is shared with the leader epoch cache of replicas, `sim.log.epochs`.

    Attributes:
        entries: In ascending order of epochs and of start offsets.
        end: Where the log ends (exclusive).
        installed: What a snapshot left: it has no record above, and stays all the same.
    """

    def __init__(self, end: int = 0) -> None:
        """Nothing is known of a log that ends at `end`."""
        self.entries: list[EpochStart] = []
        self.end = end
        self.installed: EpochStart | None = None

    @property
    def latest(self) -> int:
        """The newest epoch; -1 when nothing is known."""
        return self.entries[-1].epoch if self.entries else -1

    def begin(self, epoch: int, start_offset: int) -> None:
        """Note that an epoch starts at an offset, unless it has started before.

        What contradicts that is forgotten: entries of later epochs, and those at or above.
        """
        entries = self.entries
        if entries:
            last = entries[-1]
            if last.epoch == epoch and last.start_offset <= start_offset:
                return
            if last.epoch >= epoch or last.start_offset >= start_offset:
                self.entries = entries = [
                    one for one in entries if one.epoch < epoch and one.start_offset < start_offset
                ]
        entries.append(EpochStart(epoch, start_offset))

    def write(self, batches: tuple[Batch, ...], end: int) -> None:
        """The log has got batches, and ends at `end`."""
        for batch in batches:
            self.begin(batch.epoch, batch.base_offset)
        self.end = end

    def cut(self, end: int) -> None:
        """The log ends at `end` if it ended above: what starts there or above has not begun."""
        if end < self.end:
            self.end = end
            self.drop_from(end)

    def drop_from(self, start: int) -> None:
        """Forget the epochs that start at an offset or above."""
        self.entries = [one for one in self.entries if one.start_offset < start]

    def answer(self, epoch: int) -> EpochAnswer:
        """The largest known epoch at or below `epoch`, and where the next one starts.

        The newest ends at the log end. Below all known ones, and where none is known, the answer
        repeats the epoch that was asked for, with the start of the first one or the log end.
        """
        found, end = epoch, self.end
        for one in reversed(self.entries):
            if one.epoch <= epoch:
                found = one.epoch
                break
            end = one.start_offset
        return EpochAnswer(found, end)


class EpochCacheConsistency(LogInvariant):
    """Of an epoch up to the older of their newest two replicas say alike which it is and its end.

    For all replicas r, s, epochs e <= min(newest(r), newest(s)): answer(r, e) = answer(s, e), where
    an answer is (largest known epoch <= e, start of the next one, else the log end offset).
    Judged: when an epoch, a high watermark or a cache changes. Excused: where an end is above one
    of both high watermarks or log ends (a log whose end counts here is committed whole), or at or
    below a log start. Where it does not hold a follower may be told to cut what is committed.
    """

    kind = Kind.FINDING
    source = "KIP-101, KIP-279; LeaderEpochFileCache.endOffsetFor"
    explained_by = "epoch_answers"
    in_stories = False
    says = (
        "Asked for epoch {epoch}, {replica} answers ({answered}, {offset}) and {other} "
        "({other_answered}, {other_end}); both are committed up to {committed_below}."
    )
    any_of = (trace.ReplicaWiped, trace.LogEmptied, trace.LogStartedAfresh)

    def begin(self) -> None:
        """Nobody knows an epoch yet."""
        self._known: dict[str, EpochBook] = {}
        rules = self.history.rules.replication
        self._cuts_unwritten = rules.epoch_cut == "dropped" and rules.truncation != "none"

    def answer(self, replica: str, epoch: int) -> EpochAnswer:
        """Where `replica` says that `epoch` ends, as far as events tell."""
        return self._of(replica).answer(epoch)

    def _of(self, replica: str) -> EpochBook:
        known = self._known.get(replica)
        if known is None:
            known = self._known[replica] = EpochBook()
        return known

    def on_leader_elected(self, event: trace.LeaderElected) -> None:
        """A new epoch ends the one before."""
        known = self._of(event.replica)
        known.begin(event.epoch, event.epoch_start_offset)
        known.end = event.epoch_start_offset
        self._judge(event.replica)

    def on_high_watermark_moved(self, event: trace.HighWatermarkMoved) -> None:
        """More epochs may have ended below it; of one who does not know the newest, any."""
        known, before = self._of(event.replica), self.history.previous_high_watermark
        latest = known.latest
        crossed = known.entries and known.entries[-1].start_offset > before
        if crossed or any(other.latest != latest for other in self._known.values()):
            self._judge(event.replica)

    def on_appended(self, event: trace.Appended) -> None:
        """A batch brings its epoch."""
        self._of(event.replica).write((event.batch,), event.batch.last_offset + 1)

    def on_copied(self, event: trace.Copied) -> None:
        """So do copied ones. An epoch that it led without a record is gone before it copies."""
        known = self._of(event.replica)
        if self._cuts_unwritten and known.entries and known.entries[-1] != known.installed:
            known.drop_from(known.end)
        known.write(event.batches, event.log_end_offset)

    def on_pushed(self, event: trace.Pushed) -> None:
        """And pushed ones."""
        self._of(event.replica).write((event.batch,), event.batch.last_offset + 1)

    def on_gap_learned(self, event: trace.GapLearned) -> None:
        """The leader tells the epochs that start in the gap."""
        known = self._of(event.replica)
        for entry in self._of(event.leader).entries:
            if event.fetch_offset <= entry.start_offset <= event.log_end_offset:
                known.begin(entry.epoch, entry.start_offset)
        known.end = event.log_end_offset

    def on_epoch_cache_changed(self, event: trace.EpochCacheChanged) -> None:
        """What else it knows, or does not know any more."""
        self._of(event.replica).entries = [EpochStart(*one) for one in event.epochs]
        self._judge(event.replica)

    def on_truncated(self, event: trace.Truncated) -> None:
        """Epochs go with what they wrote."""
        self._of(event.replica).cut(event.target)

    def on_replica_crashed(self, event: trace.ReplicaCrashed) -> None:
        """As with a truncation, if a tail was lost."""
        self._of(event.replica).cut(event.log_end_offset)

    def on_replica_restarted(self, event: trace.ReplicaRestarted) -> None:
        """A log end that comes from the last record may be lower (`leo_source: last_record`)."""
        self._of(event.replica).end = event.log_end_offset

    def on_any_of(self, event: Any) -> None:
        """A log that begins anew knows nothing, nor does a new disk."""
        self._known[event.replica] = EpochBook(self.replicas[event.replica].log_end_offset)

    def on_replica_removed(self, event: trace.ReplicaRemoved) -> None:
        """Nobody asks who has left for good."""
        self._known.pop(event.replica, None)

    def on_snapshot_installed(self, event: trace.SnapshotInstalled) -> None:
        """A snapshot brings the epoch of its last record."""
        known = self._known[event.replica] = EpochBook(event.end_offset)
        known.begin(event.epoch, event.end_offset)
        known.installed = known.entries[-1]

    def _judge(self, replica: str) -> None:
        """Compare one replica with each other one, epoch by epoch."""
        mine, view = self._of(replica), self.replicas[replica]
        for name, theirs in self._known.items():
            if name == replica:
                continue
            other = self.replicas[name]
            newest = min(mine.latest, theirs.latest)
            epochs = {entry.epoch for entry in (*mine.entries, *theirs.entries)}
            committed = min(view.high_watermark, other.high_watermark, mine.end, theirs.end)
            start = max(view.log_start_offset, other.log_start_offset)
            for epoch in sorted(epochs):
                one, another = mine.answer(epoch), theirs.answer(epoch)
                ends = (one.end_offset, another.end_offset)
                if (
                    epoch <= newest
                    and one != another
                    and start < min(ends) <= max(ends) <= committed
                ):
                    self.violated(
                        replica,
                        one.end_offset,
                        epoch=epoch,
                        answered=one.epoch,
                        other=name,
                        other_answered=another.epoch,
                        other_end=another.end_offset,
                        committed_below=committed,
                    )
