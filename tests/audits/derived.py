"""What a replica keeps beside its batches, compared with what the batches themselves say.

Sequence numbers, open and aborted transactions, epochs and the recovery point are derived as
batches come and go, and each has its own way of being taken back. Here all of it is read off the
log once more, by code that shares nothing with what derived it. The log does not say everything:

* Producers (ProducerStateManager). What the log shows has to be known: the newest batch with its
  numbers, an epoch that is not older, the first offset of an open transaction. What is known may be
  newer than what the log shows, if nothing lies there any more: a cleaner took the batch. One that
  was forgotten (`producer.id.expiration.ms`) is unknown up to where the log ended then, or known
  as an older snapshot has it: a cut that finds nobody goes back to one, and reads no further
  (UnifiedLog.rebuildProducerState). A cleaning pass leaves the last batch of who is known, perhaps
  without its records, for a restart to find (UnifiedLog.lastRecordsOfActiveProducers).
* Decided transactions that hold back the last stable offset. Those whose marker is not below the
  high watermark have to be known. After a cut those that a snapshot of producers covers are not
  (ProducerStateManager.truncateAndReload takes them for replicated).
* Indexes of aborted transactions (TransactionIndex). Each ABORT marker has an entry as long as the
  log has data of its transaction. An entry may outlive data and marker, but names no other batch.
  Where markers were cleaned away, data of several transactions of a producer looks like one.
* The leader epoch cache (LeaderEpochFileCache): a batch lies in the epoch it was appended in.
  Cleaning never edits the cache, so it may have epochs of which no batch is left, and leaders that
  wrote nothing; epochs rise from entry to entry, and so do their first offsets. Where the epochs of
  batches fall, entries contradict each other and are dropped.
* The recovery point lies within the active segment (UnifiedLog.roll flushes what is below).
* The log start is within the log, and some segment reaches down to it (LogLoader.load), but where
  a crash lost the first one.
* Nothing above the log end is acknowledged, compacted (but where others are), or begun to be
  cleaned; batches lie in order in the segments (LogSegment), whose sizes are theirs.
* A batch that a pass has rewritten has the largest timestamp of its records, unless their deltas
  stay (`horizon_rebase`); one that it has emptied keeps its own, which is some time (a clock that
  is slow may say one before 1970), and no delete horizon (MemoryRecords.filterTo,
  DefaultRecordBatch.writeEmptyHeader).
* The cleaner's checkpoint is not above the log end; where passes end with segments, not above the
  active one (LogCleanerManager.maybeTruncateCheckpoint). It is a file of its own: what a crash did
  to the log it learns when the cleaner looks, so a restart is no time to compare it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from sim.protocol import events as on
from sim.protocol.log import AbortedTransaction, Batch, Control, Log
from sim.protocol.log.producers import MAX_SEQUENCE, ProducerEntry
from sim.protocol.replication.replica import Replica
from sim.protocol.rules.rules import Rules

LOOKED_AFTER: Final = frozenset(
    {
        on.Truncated,
        on.ReplicaRestarted,
        on.ReplicaWiped,
        on.LogEmptied,
        on.LogStartedAfresh,
        on.LogStartMoved,
        on.PrefixDeleted,
        on.SnapshotInstalled,
        on.Cleaned,
        on.SegmentsLost,
        on.ProducersForgotten,
        on.Quiesced,
    }
)
"""Events after which somebody looks; all others change what is derived one batch at a time."""

_NOTHING: Final = "nothing"
_NO_TIME: Final = -1
"""The timestamp of a batch that has none (RecordBatch.NO_TIMESTAMP)."""


class Differs(NamedTuple):
    """What a replica keeps beside its log, where it is not what the batches of the log say.

    Attributes:
        replica: Whose log.
        what: What differs, such as `last sequence`.
        about: The producer id it is about; None = it is about none.
        offset: Where the log says so, or what is kept points to.
        kept: What the replica keeps; `nothing` = nothing.
        by_log: What the batches say; `nothing` = nothing.
    """

    replica: str
    what: str
    about: int | None
    offset: int
    kept: str
    by_log: str


@dataclass(slots=True)
class Gone:
    """What the log of one replica does not show any more.

    Attributes:
        forgotten: Producer id -> where the log ended when it was forgotten (exclusive).
        markers_below: Markers of transactions were cleaned away below it (exclusive).
        cut_at: Where the log ended after its last cut (exclusive); 0 = read whole since.
        lost_segments: Whether a crash lost segments, perhaps the first one.
    """

    forgotten: dict[int, int] = field(default_factory=dict)
    markers_below: int = 0
    cut_at: int = 0
    lost_segments: bool = False


@dataclass(slots=True)
class Shown:
    """What the batches of a log say of one producer.

    Attributes:
        newest: Its last batch of data.
        last: Its last batch of data or marker that has its record.
        open_since: Base offset of its open transaction; None without one.
        emptied_marker: Offset of its last marker without a record, which decides nothing; -1 =
            there is none.
    """

    newest: Batch | None = None
    last: Batch | None = None
    open_since: int | None = None
    emptied_marker: int = -1


@dataclass(slots=True)
class Ended:
    """A transaction with data and a marker in the log; offsets are inclusive."""

    producer_id: int
    first_offset: int
    marker_offset: int
    aborted: bool
    after_emptied: bool


class Audit:
    """Looks at replicas after certain events, and tells what differs."""

    def __init__(self, rules: Rules) -> None:
        """Nothing has happened under these rules."""
        self._by_high_watermark = rules.cleaner.cleaner_bound == "hw"
        self._times_stay = rules.cleaner.horizon_rebase == "deltas_rewritten"
        self._end_is_stored = rules.storage.leo_source == "stored"
        self._gone: dict[str, Gone] = {}

    def after(self, events: Iterable[on.Event], replicas: Mapping[str, Replica]) -> list[Differs]:
        """What differs now that these things have happened: to a replica, or at rest to anybody.

        `replicas` are as they are after all of them.
        """
        names: dict[str, bool] = {}
        thoroughly: set[str] = set()
        found: list[Differs] = []
        for event in events:
            if type(event) in LOOKED_AFTER:
                if isinstance(event, on.Quiesced):
                    names |= dict.fromkeys(replicas, False)
                    thoroughly |= replicas.keys()
                else:
                    self._note(event, replicas)
                    names[event.replica] = isinstance(event, on.Truncated | on.Cleaned)
                    if not isinstance(event, on.Cleaned):
                        thoroughly.add(event.replica)
                    elif replicas[event.replica].up:
                        found += last_batches_taken(event, replicas[event.replica].log)
                        if self._times_stay:
                            found += rewritten_otherwise(event, replicas[event.replica].log)
        for name, checkpoint_counts in names.items():
            replica = replicas.get(name)
            if replica is not None and replica.up:
                found += self._look(
                    replica,
                    thoroughly=name in thoroughly or has_transactions(replica.log),
                    checkpoint_counts=checkpoint_counts,
                )
        return found

    def _note(self, event: on.Event, replicas: Mapping[str, Replica]) -> None:
        """Remember what the log will not show."""
        gone = self._gone.setdefault(event.replica or "", Gone())
        if isinstance(event, on.ProducersForgotten):
            end = replicas[event.replica].log.log_end_offset
            gone.forgotten |= dict.fromkeys(event.producers, end)
        elif isinstance(event, on.Cleaned):
            for removal in event.removals:
                if removal.key is None and removal.reason in ("marker", "superseded"):
                    gone.markers_below = max(gone.markers_below, removal.offset + 1)
        elif isinstance(event, on.Truncated):
            gone.cut_at = event.target
        elif isinstance(event, on.ReplicaRestarted):
            gone.cut_at = 0
        elif isinstance(event, on.SegmentsLost):
            gone.lost_segments = True
        elif not isinstance(event, on.LogStartMoved | on.PrefixDeleted):
            self._gone[event.replica or ""] = Gone()

    def _look(
        self, replica: Replica, *, thoroughly: bool, checkpoint_counts: bool
    ) -> list[Differs]:
        """Compare one replica with its log; the cleaner's checkpoint if that counts now.

        A cleaning pass of a log without transactions can change nothing but places.
        """
        looked = _Look(replica, self._gone.get(replica.name, Gone()))
        if thoroughly:
            looked.read()
            looked.compare_producers()
            looked.compare_ended(by_high_watermark=self._by_high_watermark)
            looked.compare_aborted()
            looked.compare_epochs(end_is_stored=self._end_is_stored)
        looked.compare_places()
        looked.compare_segments()
        if checkpoint_counts:
            looked.compare_checkpoint(replica.first_dirty_offset)
        return looked.found


def last_batches_taken(pass_: on.Cleaned, log: Log) -> list[Differs]:
    """What a pass took that is the last batch of a producer whom the log still knows."""
    taken = {removal.offset for removal in pass_.removals}.union(pass_.dropped)
    found: list[Differs] = []
    for producer_id, producer in log.producers.producers.items() if taken else ():
        newest = producer.batches[-1] if producer.batches else None
        if newest is None or taken.isdisjoint(range(newest.first_offset, newest.last_offset + 1)):
            continue
        left = log.read(newest.last_offset, max_batches=1)
        if not left or left[0].base_offset > newest.last_offset:
            told = (producer_id, newest.last_offset, str(newest.last_sequence), _NOTHING)
            found.append(Differs(pass_.replica, "last batch", *told))
    return found


def rewritten_otherwise(pass_: on.Cleaned, log: Log) -> list[Differs]:
    """Batches whose largest timestamp, or delete horizon, a pass has written wrongly."""
    found: list[Differs] = []
    for offset in (*[base for base, _ in pass_.rewritten], *pass_.emptied):
        for batch in log.read(offset, max_batches=1):
            kept, horizon_ms, base = batch.timestamp_ms, batch.delete_horizon_ms, batch.base_offset
            times = [record.timestamp_ms for record in batch.records] or [
                0 if kept == _NO_TIME else kept
            ]
            if base <= offset and kept != max(times):
                told = ("largest timestamp", None, base, str(kept), str(max(times)))
                found.append(Differs(pass_.replica, *told))
            if base <= offset and not batch.records and horizon_ms is not None:
                told = ("delete horizon", None, base, str(horizon_ms), _NOTHING)
                found.append(Differs(pass_.replica, *told))
    return found


def has_transactions(log: Log) -> bool:
    """Whether some segment is known to have batches of transactions."""
    return any(segment.transactional for segment in log.segments)


class _Look:
    """One look at one replica."""

    def __init__(self, replica: Replica, gone: Gone) -> None:
        self.name = replica.name
        self.replica = replica
        self.log: Log = replica.log
        self.gone = gone
        self.shown: dict[int, Shown] = {}
        self.ended: list[Ended] = []
        self.found: list[Differs] = []

    def differs(self, what: str, about: int | None, offset: int, kept: object, by: object) -> None:
        """Note a difference."""
        self.found.append(Differs(self.name, what, about, offset, str(kept), str(by)))

    def read(self) -> None:
        """Read what the batches say of producers and transactions."""
        for segment in self.log.segments:
            transactional = False
            for batch in segment.batches:
                transactional = transactional or batch.transactional
                if batch.producer_id >= 0:
                    self._read(batch)
            if transactional and not segment.transactional:
                base = segment.base_offset
                self.differs("segment with transactions", None, base, "no", "yes")

    def _read(self, batch: Batch) -> None:
        shown = self.shown.setdefault(batch.producer_id, Shown())
        base = batch.base_offset
        if batch.control is None:
            shown.newest = shown.last = batch
            if batch.transactional and shown.open_since is None:
                shown.open_since = base
        elif not batch.records:
            shown.emptied_marker = base
        else:
            shown.last = batch
            first = shown.open_since
            if first is not None:
                aborted, unclear = batch.control is Control.ABORT, shown.emptied_marker > first
                self.ended.append(Ended(batch.producer_id, first, base, aborted, unclear))
                shown.open_since = None

    def _was_forgotten(self, producer_id: int, offset: int) -> bool:
        """Whether a producer was forgotten after what the log has of it at an offset.

        What lies below the log start is read by nobody who rebuilds it
        (UnifiedLog.rebuildProducerState).
        """
        start = self.log.log_start_offset
        return offset < max(start, self.gone.forgotten.get(producer_id, 0))

    def _at(self, offset: int) -> Batch | None:
        """The batch that stands for an offset; None = nothing is there."""
        found = self.log.read(offset, max_batches=1)
        return found[0] if found and found[0].base_offset <= offset else None

    def compare_producers(self) -> None:
        """Last batches, epochs and open transactions."""
        kept = self.log.producers.producers
        for producer_id, shown in self.shown.items():
            last = shown.last
            if last is None:
                continue
            producer, end, epoch = kept.get(producer_id), last.last_offset, last.producer_epoch
            if producer is None or producer.epoch < epoch:
                if not self._was_forgotten(producer_id, end):
                    known = _NOTHING if producer is None else producer.epoch
                    self.differs("producer epoch", producer_id, end, known, epoch)
                continue
            self._compare_newest(producer_id, producer, shown.newest)
            self._compare_open(producer_id, producer.open_since, shown)
        for producer_id, producer in kept.items():
            if producer_id not in self.shown:
                self._compare_newest(producer_id, producer, None)
                self._compare_open(producer_id, producer.open_since, Shown())

    def _compare_newest(
        self, producer_id: int, producer: ProducerEntry, data: Batch | None
    ) -> None:
        if data is not None and data.producer_epoch != producer.epoch:
            data = None
        end = -1 if data is None else data.last_offset
        if data is not None and self._was_forgotten(producer_id, end):
            return
        if not producer.batches:
            if data is not None:
                self.differs("last sequence", producer_id, end, _NOTHING, _last_sequence(data))
            return
        newest = producer.batches[-1]
        kept, offset = newest.last_sequence, newest.last_offset
        if data is not None and offset <= end:
            told = (_last_sequence(data), data.base_offset, end)
            if told != (kept, newest.first_offset, offset):
                self.differs("last sequence", producer_id, end, kept, told[0])
        elif offset >= self.log.log_end_offset or self._at(offset) is not None:
            self.differs("last sequence", producer_id, offset, kept, _NOTHING)

    def _compare_open(self, producer_id: int, kept: int | None, shown: Shown) -> None:
        """Where the open transaction of a producer begins."""
        first, cleaned_below = shown.open_since, self.gone.markers_below
        if kept == first or any(
            offset is not None and self._was_forgotten(producer_id, offset)
            for offset in (kept, first)
        ):
            return
        if first is None:
            assert kept is not None
            ends = shown.last is not None and shown.last.base_offset > kept
            if ends or kept >= self.log.log_end_offset or self._at(kept) is not None:
                self.differs("open transaction", producer_id, kept, kept, _NOTHING)
        elif kept is None or kept > first:
            if shown.emptied_marker <= first and first >= cleaned_below:
                said = _NOTHING if kept is None else kept
                self.differs("open transaction", producer_id, first, said, first)
        elif self._at(kept) is not None:
            self.differs("open transaction", producer_id, kept, kept, first)

    def compare_ended(self, *, by_high_watermark: bool) -> None:
        """Decided transactions whose marker may not be replicated yet."""
        log, gone = self.log, self.gone
        kept = [marker for _, marker in log.producers.ended]
        for marker in kept:
            at = self._at(marker) if marker < log.log_end_offset else None
            if marker >= log.log_end_offset or (at is not None and at.control is None):
                self.differs("unreplicated transaction", None, marker, marker, _NOTHING)
        for ended in self.ended if by_high_watermark else ():
            marker = ended.marker_offset
            if (
                marker >= log.high_watermark
                and marker >= gone.cut_at
                and marker not in kept
                and not self._was_forgotten(ended.producer_id, ended.first_offset)
            ):
                said = (_NOTHING, ended.first_offset)
                self.differs("unreplicated transaction", ended.producer_id, marker, *said)

    def compare_aborted(self) -> None:
        """The index of aborted transactions."""
        index: dict[int, AbortedTransaction] = {}
        for segment in self.log.segments:
            for entry in segment.aborted:
                index[entry.last_offset] = entry
        for ended in self.ended:
            if ended.aborted and ended.marker_offset >= self.log.log_start_offset:
                self._compare_entry(ended, index.get(ended.marker_offset))
        for marker, entry in index.items():
            at = self._at(marker)
            wrong = at is not None and (at.control is None or at.producer_id != entry.producer_id)
            if wrong or marker >= self.log.log_end_offset:
                kept = entry.first_offset
                self.differs("aborted transaction", entry.producer_id, marker, kept, _NOTHING)

    def _compare_entry(self, ended: Ended, entry: AbortedTransaction | None) -> None:
        producer_id, first, marker = ended.producer_id, ended.first_offset, ended.marker_offset
        cleaned_below = self.gone.markers_below
        if self._was_forgotten(producer_id, first):
            return
        if entry is None:
            self.differs("aborted transaction", producer_id, marker, _NOTHING, first)
        elif entry.first_offset > first and not ended.after_emptied and first >= cleaned_below:
            self.differs("aborted transaction", producer_id, marker, entry.first_offset, first)

    def compare_epochs(self, *, end_is_stored: bool) -> None:
        """The leader epoch cache."""
        log, entries = self.log, self.log.epochs.entries
        for (epoch, begins), (newer, at) in pairwise(entries):
            if not (epoch < newer and begins < at):
                self.differs("leader epoch", None, at, f"{epoch} from {begins}", newer)
        start, at, epoch = log.log_start_offset, 0, -1
        found: list[tuple[int, int, int]] = []
        for segment in log.segments:
            for batch in segment.batches:
                if batch.epoch < epoch:
                    return
                epoch, base = batch.epoch, batch.base_offset
                while at < len(entries) and entries[at].start_offset <= base:
                    at += 1
                known = entries[at - 1].epoch if at else -1
                if known != epoch and base >= start and not found:
                    found.append((base, known, epoch))
        for base, known, epoch in found:
            self.differs("leader epoch", None, base, known, epoch)
        if end_is_stored and entries and entries[-1].start_offset > log.log_end_offset:
            last = entries[-1]
            self.differs("leader epoch", None, last.start_offset, last.epoch, _NOTHING)

    def compare_places(self) -> None:
        """What counts as flushed, and where the log begins."""
        log, first = self.log, self.log.segments[0].base_offset
        self._compare_place("recovery point", log.flushed_end, log.segments[-1].base_offset)
        self._compare_place(
            "log start", log.log_start_offset, 0 if self.gone.lost_segments else first
        )
        self._compare_place("acknowledged end", log.acknowledged_end, 0)
        self._compare_place("mark of a begun pass", self.replica.begun_offset, 0)
        compacted, end = self.replica.cleanly_compacted_offset, log.log_end_offset
        if compacted > max(end, self.replica.removal_bound):
            self.differs("compacted", None, compacted, compacted, f"up to {end}")

    def compare_segments(self) -> None:
        """Batches lie in order in their segments, whose sizes are theirs."""
        segments = self.log.segments
        ends = [segment.base_offset for segment in segments[1:]] + [self.log.log_end_offset]
        for segment, end in zip(segments, ends, strict=True):
            size, at = 0, min(segment.base_offset, self.log.log_start_offset)
            for batch in segment.batches:
                size += batch.size_bytes
                if not at <= batch.base_offset <= batch.last_offset < end:
                    base = batch.base_offset
                    self.differs("batch", None, base, base, f"from {at} on and below {end}")
                at = batch.last_offset + 1
            if size != segment.size_bytes:
                base = segment.base_offset
                self.differs("size of a segment", None, base, segment.size_bytes, size)

    def compare_checkpoint(self, kept: int) -> None:
        """How far the log is cleaned."""
        log = self.log
        end = log.segments[-1].base_offset if log.config.aligned else log.log_end_offset
        if kept > max(end, log.log_start_offset):
            self.differs("cleaner checkpoint", None, kept, kept, f"up to {end}")

    def _compare_place(self, what: str, kept: int, lowest: int) -> None:
        """A place lies in a part of the log that reaches to its end."""
        highest = self.log.log_end_offset
        if not lowest <= kept <= highest:
            self.differs(what, None, kept, kept, f"{lowest} to {highest}")


def _last_sequence(data: Batch) -> int:
    """The number of its last record, as it was appended; -1 without numbers."""
    first = data.base_sequence
    if first < 0:
        return first
    return (first + data.last_offset - data.base_offset) % (MAX_SEQUENCE + 1)
