"""Epoch caches: what replicas answer when they are asked where an epoch ends."""

from __future__ import annotations

from typing import Any

from sim import trace
from sim.check.epochs import EpochAnswer, EpochBook, EpochStart
from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant, Kind
from sim.log.record import Batch


class _KnownEpochs:
    """What the events say about one replica's epoch cache, and where its log ends."""

    def __init__(self, end: int = 0) -> None:
        self.cache = EpochBook()
        self.end = end
        self.installed: EpochStart | None = None
        """What a snapshot left: it has no record above, and stays all the same."""

    def answer(self, epoch: int) -> EpochAnswer:
        return self.cache.answer(epoch, self.end)

    def write(self, batches: tuple[Batch, ...], end: int) -> None:
        for batch in batches:
            self.cache.begin(batch.epoch, batch.base_offset)
        self.end = end

    def drop_unwritten(self) -> None:
        """Forget the epoch that starts at the log end, as a cut there does that takes no record."""
        entries = self.cache.entries
        if entries and entries[-1] != self.installed:
            self.cache.cut(self.end)

    def cut(self, end: int) -> None:
        if end < self.end:
            self.end = end
            self.cache.cut(end)


class EpochCacheConsistency(Invariant):
    """Of an epoch up to the older of their newest two replicas say alike which it is and its end.

    For all replicas r, s, epochs e <= min(newest(r), newest(s)): answer(r, e) = answer(s, e), where
    an answer is (largest known epoch <= e, start of the next one, else the log end offset).
    Judged: when an epoch, a high watermark or a cache changes. Excused: where an end is above one
    of both high watermarks or log ends (a log whose end counts here is committed whole), or at or
    below a log start. Where it does not hold a follower may be told to cut what is committed.
    """

    name = "epoch-cache-consistency"
    kind = Kind.FINDING
    source = "KIP-101, KIP-279; LeaderEpochFileCache.endOffsetFor"
    family = LOG_DIVERGENCE
    explained_by = "epoch_answers"
    in_stories = False
    says = (
        "Asked for epoch {epoch}, {replica} answers ({answered}, {offset}) and {other} "
        "({other_answered}, {other_end}); both are committed up to {committed_below}."
    )
    any_of = (trace.ReplicaWiped, trace.LogEmptied, trace.LogStartedAfresh)

    def begin(self) -> None:
        """Nobody knows an epoch yet."""
        self._known: dict[str, _KnownEpochs] = {}
        rules = self.history.rules.replication
        self._cuts_unwritten = rules.epoch_cut == "dropped" and rules.truncation != "none"

    def answer(self, replica: str, epoch: int) -> EpochAnswer:
        """Where `replica` says that `epoch` ends, as far as events tell."""
        return self._of(replica).answer(epoch)

    def _of(self, replica: str) -> _KnownEpochs:
        known = self._known.get(replica)
        if known is None:
            known = self._known[replica] = _KnownEpochs()
        return known

    def on_leader_elected(self, event: trace.LeaderElected) -> None:
        """A new epoch ends the one before."""
        known = self._of(event.replica)
        known.cache.begin(event.epoch, event.epoch_start_offset)
        known.end = event.epoch_start_offset
        self._judge(event.replica)

    def on_high_watermark_moved(self, event: trace.HighWatermarkMoved) -> None:
        """More epochs may have ended below it; of one who does not know the newest, any."""
        cache = self._of(event.replica).cache
        latest = cache.latest
        crossed = (
            cache.entries and cache.entries[-1].start_offset > self.history.previous_high_watermark
        )
        if crossed or any(other.cache.latest != latest for other in self._known.values()):
            self._judge(event.replica)

    def on_appended(self, event: trace.Appended) -> None:
        """A batch brings its epoch."""
        self._of(event.replica).write((event.batch,), event.batch.last_offset + 1)

    def on_copied(self, event: trace.Copied) -> None:
        """So do copied ones. An epoch that it led without a record is gone before it copies."""
        known = self._of(event.replica)
        if self._cuts_unwritten:
            known.drop_unwritten()
        known.write(event.batches, event.log_end_offset)

    def on_pushed(self, event: trace.Pushed) -> None:
        """And pushed ones."""
        self._of(event.replica).write((event.batch,), event.batch.last_offset + 1)

    def on_gap_learned(self, event: trace.GapLearned) -> None:
        """The leader tells the epochs that start in the gap."""
        known = self._of(event.replica)
        for entry in self._of(event.leader).cache.entries:
            if event.fetch_offset <= entry.start_offset <= event.log_end_offset:
                known.cache.begin(entry.epoch, entry.start_offset)
        known.end = event.log_end_offset

    def on_epoch_cache_changed(self, event: trace.EpochCacheChanged) -> None:
        """What else it knows, or does not know any more."""
        self._of(event.replica).cache.entries = [EpochStart(*one) for one in event.epochs]
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
        self._known[event.replica] = _KnownEpochs(self.replicas[event.replica].log_end_offset)

    def on_replica_removed(self, event: trace.ReplicaRemoved) -> None:
        """Nobody asks who has left for good."""
        self._known.pop(event.replica, None)

    def on_snapshot_installed(self, event: trace.SnapshotInstalled) -> None:
        """A snapshot brings the epoch of its last record."""
        known = self._known[event.replica] = _KnownEpochs(event.end_offset)
        known.cache.begin(event.epoch, event.end_offset)
        known.installed = known.cache.entries[-1]

    def _judge(self, replica: str) -> None:
        """Compare one replica with each other one, epoch by epoch."""
        mine, view = self._of(replica), self.replicas[replica]
        for name, theirs in self._known.items():
            if name == replica:
                continue
            other = self.replicas[name]
            newest = min(mine.cache.latest, theirs.cache.latest)
            epochs = {entry.epoch for entry in (*mine.cache.entries, *theirs.cache.entries)}
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
