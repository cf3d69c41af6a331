"""Offsets: each names one record on all replicas for ever, and no log gives it twice."""

from sim.check.facts import ReplicaView
from sim.check.invariant import LogInvariant, Writing
from sim.check.listening import WRITTEN
from sim.protocol import events

_ANOTHER = "{replica} gave offset {offset} to {record}, but another {first} was committed there."
"""Said of two records with the same text, such as two markers of a producer."""


class NoOffsetReuse(LogInvariant):
    """An offset that was committed is never assigned again.

    For all records x that a leader appends: x.offset >= N.
    Judged: on append. Excused: in simulated time an append by a deposed leader that does not know
    its successor: the record is never committed, and truncated by its epoch. Stories count it.

    Source: KIP-280; KAFKA-17076
    Says: {replica} gave offset {offset} to {record}, but it was committed as {first}.
    """

    def on_appended(self, event: events.Appended) -> None:
        """Compares with the committed history."""
        committed, batch = self.committed, event.batch
        if batch.base_offset >= len(committed):
            return
        if not self.history.zombies_count and batch.epoch < self.history.newest_epoch:
            return
        for record in batch.records:
            offset, uid = record.offset, record.uid
            if offset < len(committed) and committed[offset] != uid:
                first = self.describe(committed[offset])
                alike = str(first) == str(self.describe(uid))
                self.broken_by(event.replica, uid, offset, _ANOTHER if alike else "", first=first)


class OffsetEpochUniqueness(LogInvariant):
    """A pair of an offset and an epoch is assigned to one record only.

    For all appended records x, y: x.offset = y.offset and x.epoch = y.epoch implies x = y.
    Judged: on append. Excused: nothing; a tail that was lost counts as assigned.

    Source: KIP-595; QuorumState.initialize
    Says: {replica} gave offset {offset} in epoch {epoch} to {record}; it was given to {first}.
    """

    def on_appended(self, event: events.Appended) -> None:
        """Compares with the first record that got the same offset in the same epoch."""
        for record, first in self.history.reassigned:
            self.broken(
                event.replica,
                record.offset,
                record.key,
                epoch=event.batch.epoch,
                record=record.uid,
                first=first,
            )


class RecordOffsetUniqueness(LogInvariant):
    """A record is found at one offset only, on all replicas.

    For all copies x' of a record x, on any replica: x'.offset = x.offset.
    Judged: on each copy and push. Excused: nothing.

    Source: KIP-280
    Says: {record} stands at offset {offset} on {replica}.
    """

    any_of = (events.Copied, events.Pushed)

    def on_any_of(self, event: events.Copied | events.Pushed) -> None:
        """Compares each copy's offset with that of the append."""
        for copy in self.history.altered:
            if self.written[copy.uid].offset != copy.offset:
                self.broken_by(event.replica, copy.uid, copy.offset)


class SlotAgreement(LogInvariant):
    """No two replicas hold different records at an offset below both high watermarks.

    For all replicas r, s, offsets o < min(hw(r), hw(s)): if both hold a record at o it is the same.
    Judged: on what is written, on moves of a high watermark, at restarts; down replicas as well.
    Excused: empty batches and holes; offsets at or above one of both marks, where logs may differ
    for a while (Raft).

    Source: KIP-280
    Says: offset {offset} is {record} on {replica} and {other_record} on {other}, below both high
        watermarks ({high_watermark} and {other_high_watermark}).
    """

    any_of = (events.HighWatermarkMoved, events.ReplicaRestarted, *WRITTEN)

    def on_any_of(self, _: events.Event) -> None:
        """Looks for a disagreement that is below both high watermarks."""
        for offset, view, other in self.history.disagreements:
            if offset < view.high_watermark and offset < other.high_watermark:
                marks = {"high_watermark": view.high_watermark}
                marks["other_high_watermark"] = other.high_watermark
                self.broken_by_two(view, other, offset, **marks)


_TWO = (
    "offset {offset} was committed with two records {record} when {replica} moved its high"
    " watermark to {high_watermark}."
)


class StateMachineSafety(LogInvariant):
    """No offset is ever committed with two different records.

    For all offsets o, leaders l, m that commit o: the record at o that l commits = the one m
    commits, also where cleaning has removed it from the log since.
    Judged: when a leader's high watermark moves. Excused: nothing.

    Source: Raft 5.4.3
    Says: offset {offset} was committed as {first} and again as {record} when {replica} moved its
        high watermark to {high_watermark}.
    """

    def on_high_watermark_moved(self, event: events.HighWatermarkMoved) -> None:
        """Looks at the offsets that this advance committed again."""
        mark = event.high_watermark
        for offset, uid in self.history.recommitted:
            first, record = self.describe(self.committed[offset]), self.describe(uid)
            says = _TWO if str(first) == str(record) else ""
            self.broken(
                event.replica, offset, None, says, first=first, record=record, high_watermark=mark
            )


_BELOW = (
    "{replica} and {other} share {shared} at {shared_at} but differ at {offset}: {record} and "
    "{other_record}."
)


class LogMatching(LogInvariant):
    """Logs that share a record agree below it; one (offset, epoch) names one record.

    For all replicas r, s, offsets o at which both hold records x of r, y of s: if x.epoch = y.epoch
    then x = y; and if r and s hold one record at some p > o then x = y.
    Judged: on what is appended, copied or pushed. Excused: offsets at which one of them has no
    record (what is missing there `hole-justified` judges).

    Source: Raft 5.3, adapted to holes
    Says: {replica} holds {record} and {other} holds {other_record} at offset {offset}, both of
        epoch {epoch}.
    """

    def on_written(self, event: Writing) -> None:
        """Judges differing offsets: those of one epoch, and those below a shared record."""
        disagreements = self.history.disagreements
        if not disagreements:
            return
        for offset, view, other in disagreements:
            epoch = self.written[view.slots[offset]].batch.epoch
            if epoch == self.written[other.slots[offset]].batch.epoch:
                self.broken_by_two(view, other, offset, epoch=epoch)
        if isinstance(event, events.Copied):
            self._judge_below(self.replicas[event.replica], event.fetch_offset)
        elif isinstance(event, events.Pushed):
            self._judge_below(self.replicas[event.replica], event.batch.base_offset)

    def _judge_below(self, view: ReplicaView, start: int) -> None:
        """Looks for disagreements below the records that were copied from offset `start` on."""
        for offset, one, another in self.history.disagreements:
            if view is one or view is another:
                other = another if view is one else one
                copied = enumerate(view.slots[max(start, offset + 1) :], max(start, offset + 1))
                both = [at for at, uid in copied if uid > 0 and uid == other.uid_at(at)]
                for at in both[:1]:
                    evidence = {"shared": view.slots[at], "shared_at": at}
                    self.broken_by_two(view, other, offset, _BELOW, **evidence)


class LeaderAppendOnly(LogInvariant):
    """A leader never truncates or replaces its log while it leads.

    For all cuts of r: r does not lead.
    Judged: on each cut. Excused: what cleaning removes, which `compaction-bound` judges; an
    installed snapshot, which `leader-never-loads-snapshot` does.

    Source: Raft 5.3
    Says: {replica} truncated from {log_end} to {offset} while it was leading.
    """

    in_stories = False

    def on_truncated(self, event: events.Truncated) -> None:
        """Reports a leader that truncates its own log."""
        if event.leading:
            self.broken(event.replica, event.target, log_end=event.log_end_offset)


class LeoPreservation(LogInvariant):
    """Cleaning and a restart leave the log end offset where it was.

    For each pass and restart of r: end(r) after = end(r) before.
    Judged: after a pass; after a restart against the log that the crash left. Excused: the tail
    that a crash lost.

    Source: KIP-280; etcd #17780
    """

    in_stories = False
    says = " moved the log end offset of {replica} from {before} to {offset}."

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Compares with the log end before the pass."""
        self._judge(event.replica, event.log_end_offset, "a cleaning pass")

    def on_replica_restarted(self, event: events.ReplicaRestarted) -> None:
        """Compares with the log end that the crash left."""
        self._judge(event.replica, event.log_end_offset, "a restart")

    def _judge(self, replica: str, end: int, what: str) -> None:
        before = self.replicas[replica].log_end_offset_before
        if end != before:
            self.broken(replica, end, None, what + self.says, before=before)


class NoTruncationBelowHw(LogInvariant):
    """A replica never truncates below its own high watermark.

    For all cuts of r to t: t >= hw(r) before.
    Judged: on each cut. Excused: nothing. The rest of a batch that straddles t goes, too
    (UnifiedLog); that is left to `hole-justified`.

    Source: KIP-595; KafkaMetadataLog.truncateTo
    Says: {replica} truncated from {log_end} to {offset}, below its high watermark {high_watermark}.
    """

    def on_truncated(self, event: events.Truncated) -> None:
        """Compares target and high watermark."""
        mark = max(event.high_watermark, self.history.previous_high_watermark)
        if event.target < mark:
            self.broken(
                event.replica, event.target, log_end=event.log_end_offset, high_watermark=mark
            )


class TruncationBelowLogStart(LogInvariant):
    """A replica never truncates below its log start offset.

    For all cuts of r to t: t >= start(r).
    Judged: on each cut. Excused: nothing.

    Source: KIP-595; UnifiedLog.truncateTo
    Says: {replica} truncated to {offset}, below its log start offset {log_start}.
    """

    def on_truncated(self, event: events.Truncated) -> None:
        """Compares target and log start."""
        start = max(event.log_start_offset, self.history.previous_log_start)
        if event.target < start:
            self.broken(event.replica, event.target, log_start=start)
