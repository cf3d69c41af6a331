"""The log of one replica: segments, its offsets and its leader epochs.

The log end offset is a counter of its own: appends, truncation and loading move it, cleaning does
not (LocalLog.nextOffsetMetadata). That is what KIP-280's hazard is about. It is in memory
only: a restart reads it from the active segment (`Log.read_log_end`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Final

from sim.protocol.log.epochs import LeaderEpochCache
from sim.protocol.log.formats import OldBatch
from sim.protocol.log.producers import AbortedTransaction, ProducerSnapshots, ProducerStates
from sim.protocol.log.record import Batch
from sim.protocol.log.segment import Call, Segment

MAX_RELATIVE_OFFSET: Final = 2**31 - 1
"""Farthest a record may be from the base of its segment (LogSegment.canConvertToRelativeOffset)."""

_last_offset = attrgetter("last_offset")
_base_offset = attrgetter("base_offset")


def from_offset(segments: Sequence[Segment], offset: int) -> int:
    """Index of the segment that holds `offset`, else of the first one; the active one at most."""
    return max(bisect_right(segments, offset, key=_base_offset) - 1, 0)


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Limits at which a log rolls to a new segment (UnifiedLog.maybeRoll).

    Attributes:
        segment_bytes: `segment.bytes`; None = never by size.
        segment_ms: `segment.ms`, and for compacted topics at most `max.compaction.lag.ms`;
            None = never by time.
        flush_messages: `flush.messages`: number of unflushed offsets at which an append flushes
            them; None = never by number.
        aligned: True = cleaning passes end at the base of a segment, as in Kafka; so does the
            checkpoint after a truncation. False = they may end anywhere, as in stories.
        keeps_high_watermark: True = the high watermark is not lowered to a log end that moved
            below it (`high_watermark_cut: kept`).
        keeps_empty_epochs: True = a cut that takes no record takes no epoch (`epoch_cut: kept`).
        always_rereads: True = a cut looks for producers also where no producer was known
            (`producers_after_cut: always`).
        indexes_calls: True = all that is appended in one call gets one entry of the offset index at
            most (`index_entries: per_append`).
        time_index_bytes: `index.interval.bytes`, where the age of segments matters; None = time
            indexes are not read.
    """

    segment_bytes: int | None = None
    segment_ms: int | None = None
    aligned: bool = False
    keeps_high_watermark: bool = False
    keeps_empty_epochs: bool = False
    always_rereads: bool = False
    flush_messages: int | None = None
    indexes_calls: bool = False
    time_index_bytes: int | None = None


@dataclass(slots=True, eq=False)
class Log:
    """An append-only sequence of batches with gaps, cut into segments.

    Promise: log_start_offset <= log_end_offset; batches ascend and do not overlap; there is always
    an active segment.

    Attributes:
        segments: All segments in order; the last one is active.
        log_start_offset: First offset the log answers for (inclusive).
        log_end_offset: Next offset to be given (exclusive end).
        high_watermark: Everything below is committed as far as this replica knows (exclusive).
        flushed_end: Everything below is on disk and survives a loss of power (exclusive; Kafka's
            recovery point).
        acknowledged_end: Everything below has been acknowledged to a leader (exclusive).
        epochs: The leader epoch cache.
        producers: State of producers and of open transactions.
        snapshots: Snapshots of that state at the bases of segments.
        aborted_ever: Every aborted transaction whose marker was appended, cleaned away or not.
        config: When to roll.
    """

    config: LogConfig = field(default_factory=LogConfig)
    segments: list[Segment] = field(default_factory=lambda: [Segment(0)])
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = 0
    flushed_end: int = 0
    acknowledged_end: int = 0
    epochs: LeaderEpochCache = field(default_factory=LeaderEpochCache)
    producers: ProducerStates = field(default_factory=ProducerStates)
    snapshots: ProducerSnapshots = field(default_factory=ProducerSnapshots)
    aborted_ever: list[AbortedTransaction] = field(default_factory=list)

    @property
    def active(self) -> Segment:
        """The segment that is appended to; the cleaner never touches it in simulated time."""
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""
        return sum([segment.size_bytes for segment in self.segments])

    def batches(self) -> Iterator[Batch]:
        """All batches in offset order."""
        return chain.from_iterable([segment.batches for segment in self.segments])

    def last_batch(self) -> Batch | None:
        """The batch with the highest offsets; None for a log without batches."""
        for segment in reversed(self.segments):
            if segment.batches:
                return segment.batches[-1]
        return None

    def append(self, batch: Batch, now_ms: int) -> None:
        """Adds a batch at or above the log end offset; a gap is accepted, going back is not.

        One before magic 2 has no epoch, and clears the leader epoch cache: truncation then goes by
        the high watermark, as before KIP-101 (UnifiedLog.append).

        Raises:
            ValueError: The batch starts below the log end offset
                (UnexpectedAppendOffsetException in UnifiedLog.append).
        """
        base, last = batch.base_offset, batch.last_offset
        if base < self.log_end_offset:
            raise ValueError(
                f"batch at offset {base} is below the log end offset {self.log_end_offset}"
            )
        active, epochs = self.segments[-1], self.epochs.entries
        if self._must_roll(active, batch, now_ms):
            # A batch before magic 2 tells its last offset alone (UnifiedLog.maybeRoll).
            first = last - MAX_RELATIVE_OFFSET if isinstance(batch, OldBatch) else base
            self.roll(max(first, self.log_end_offset), now_ms=now_ms)
            active = self.segments[-1]
        active.append(batch, now_ms)
        if batch.producer_id >= 0:
            aborted = self.producers.note(batch)
            if aborted is not None:
                active.aborted.append(aborted)
                self.aborted_ever.append(aborted)
        if not epochs or epochs[-1].epoch != batch.epoch or epochs[-1].start_offset > base:
            if isinstance(batch, OldBatch):
                epochs.clear()
            else:
                self.epochs.assign(batch.epoch, base)
        self.log_end_offset = end = last + 1
        limit = self.config.flush_messages
        if limit is not None and end - self.flushed_end >= limit:
            self.flushed_end = end

    def note_call(self, first_offset: int) -> None:
        """Notes that the batches from `first_offset` on came in one call, as at a follower.

        A segment that begins with them counts from their largest timestamp (LogSegment.append).
        Simplification: Kafka rolls before such a call, never within it.
        """
        if not self.config.indexes_calls:
            return
        for segment in reversed(self.segments):
            batches = segment.batches
            start = bisect_left(batches, first_offset, key=_base_offset)
            if len(batches) - start > 1:
                last = batches[-1].last_offset
                segment.index.calls.append(Call(batches[start].base_offset, last, last))
                if start == 0:
                    segment.first_timestamp_ms = segment.largest_ms
            if start > 0 or segment.base_offset <= first_offset:
                return

    def reopen(self, *, recovered_from: int | None = None) -> None:
        """Forgets the in-memory state of indexes and timestamps, as a restart does.

        Args:
            recovered_from: Indexes are rebuilt from the segment that holds this offset on
                (LogLoader.recoverLog), as after an unclean shutdown; None = a clean one.
        """
        if self.config.time_index_bytes is not None:
            for segment in self.segments:
                segment.close()
        if recovered_from is not None:
            for segment in self.segments[from_offset(self.segments, recovered_from) :]:
                segment.index.rebuild()
                if self.config.time_index_bytes is not None:
                    segment.recover_time_index()
        self.active.index.restart(self.log_end_offset)
        for segment in self.segments:
            segment.reload_first_timestamp()

    def read_log_end(self, *, at_least: int = 0) -> None:
        """Takes the log end from the active segment, as a restart does once its index is rebuilt.

        It is the end of the last batch, else the base offset: where a truncation, or a lost tail,
        left a hole at the end, the log ends before the hole. A log that would end below its start
        is emptied, and begins there.

        Source: LogLoader.recoverLog, .deleteSegmentsIfLogStartGreaterThanLogEnd;
        LogSegment.readNextOffset.

        Args:
            at_least: The log end that is stored elsewhere, if that is higher.
        """
        before, self.log_end_offset = self.log_end_offset, max(self.active.next_offset, at_least)
        if self.log_end_offset < self.log_start_offset:
            self.reset_to(self.log_start_offset)
        elif self.log_end_offset < before:
            self.active.index.restart(self.log_end_offset)
            self._lower_to_log_end()

    def _must_roll(self, segment: Segment, batch: Batch, now_ms: int) -> bool:
        """Decides whether a batch begins a segment of its own (UnifiedLog.maybeRoll)."""
        if batch.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if not segment.batches:
            return False
        config = self.config
        limit_bytes, limit_ms = config.segment_bytes, config.segment_ms
        if limit_bytes is not None and segment.size_bytes + batch.size_bytes > limit_bytes:
            return True
        return limit_ms is not None and segment.waited_ms(batch.timestamp_ms, now_ms) > limit_ms

    def roll_if_waited(self, *, now_ms: int) -> bool:
        """Closes the active segment when its first record is older than `segment_ms`; True if so.

        KIP-354 describes it so; Kafka checks only when something is appended (`roll: on_append`).
        """
        segment, limit = self.segments[-1], self.config.segment_ms
        if limit is None or not segment.batches:
            return False
        if segment.waited_ms(now_ms, now_ms=now_ms) <= limit:
            return False
        self.roll(now_ms=now_ms)
        return True

    def roll(self, base_offset: int | None = None, *, now_ms: int) -> None:
        """Starts a new active segment at `base_offset` or at the log end offset.

        What is below is flushed, and a snapshot of the producers is taken (UnifiedLog.roll).
        """
        base = self.log_end_offset if base_offset is None else base_offset
        self.flushed_end = max(self.flushed_end, base)
        if self.config.time_index_bytes is not None:
            self.segments[-1].become_inactive()
        self.segments.append(Segment(base, now_ms, created_ms=now_ms))
        self.snapshots.take(base, self.producers)

    def read(self, offset: int, *, max_batches: int | None = None) -> list[Batch]:
        """Batches from the first one that ends at or above `offset`, at most `max_batches`."""
        if offset >= self.log_end_offset:
            return []
        index = from_offset(self.segments, offset)
        batches = self.segments[index].batches
        found = batches[bisect_left(batches, offset, key=_last_offset) :]
        for segment in self.segments[index + 1 :]:
            if max_batches is not None and len(found) >= max_batches:
                break
            found += segment.batches
        return found if max_batches is None else found[:max_batches]

    def read_below(self, offset: int, end: int, *, max_batches: int | None = None) -> list[Batch]:
        """The batches of `read` that end below `end` (exclusive), without one that straddles it."""
        found = self.read(offset, max_batches=max_batches)
        while found and found[-1].last_offset >= end:
            found.pop()
        return found

    def truncate_to(self, offset: int) -> int:
        """Removes everything at or above `offset`; the log then ends there at the latest.

        A batch that straddles `offset` goes whole (LogSegment.truncateTo); the result is the lowest
        offset that went, at most `offset`. A segment that begins at `offset` stays, empty
        (LocalLog.truncateTo); below the first segment the whole log goes. A log start above the
        log end comes down to it. Epochs that start at or above the remaining log end are forgotten
        (UnifiedLog.truncateTo); with `keeps_empty_epochs` not when nothing is removed.
        """
        if offset < self.log_end_offset or not self.config.keeps_empty_epochs:
            self.epochs.truncate_from(min(offset, self.log_end_offset))
        if offset >= self.log_end_offset:
            return offset
        self.producers.forget_decided(below=self.high_watermark)
        if offset < self.segments[0].base_offset:
            self._begin_anew(offset)
            self._lower_to_log_end()
            return offset
        lowest = offset
        gone = []
        while len(self.segments) > 1 and self.segments[-1].base_offset > offset:
            gone.append(self.segments.pop().base_offset)
        self.snapshots.forget(gone)
        active = self.segments[-1]
        keep = bisect_left(active.batches, offset, key=_last_offset)
        if keep < len(active.batches):
            lowest = min(lowest, active.batches[keep].base_offset)
        interval_bytes, left = self.config.time_index_bytes, None
        if interval_bytes is not None and active.index.calls:
            left = active.index.left_by_cut(
                active.batches, keep, offset, interval_bytes=interval_bytes
            )
        active.truncate(keep, offset, interval_bytes=interval_bytes)
        active.index.truncate(lowest)
        if left is not None:
            active.index.dangling = left, active.size_bytes
        active.aborted = [entry for entry in active.aborted if entry.last_offset < lowest]
        self.aborted_ever = [entry for entry in self.aborted_ever if entry.last_offset < lowest]
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self._lower_to_log_end()
        known = bool(self.producers.producers or self.producers.ended)
        self._restore_producers(self.log_end_offset, reads=known or self.config.always_rereads)
        return lowest

    def _lower_to_log_end(self) -> None:
        """Lowers high watermark, flushed and acknowledged end to the log end.

        Source: UnifiedLog.truncateTo; after a restart LogLoader.recoverLog, Partition.createLog.
        """
        end = self.log_end_offset
        if not self.config.keeps_high_watermark:
            self.high_watermark = min(self.high_watermark, end)
        self.flushed_end = min(self.flushed_end, end)
        self.acknowledged_end = min(self.acknowledged_end, end)

    def flush(self) -> None:
        """Notes that the whole log is on disk."""
        self.flushed_end = self.log_end_offset

    def reload_producers(self) -> None:
        """Restores the producers' state as a restart after a crash does.

        The active segment may not have been flushed, so it is read again, and no snapshot above
        its base is believed (LogLoader.recoverSegment). Of the others those stay at which a segment
        begins (LogLoader.load). The indexes of aborted transactions do not change.
        Simplification: of each producer the batches in the active segment are remembered, five at
        most; Kafka then reads the snapshot of the log end, which has the newest batch alone. Nor
        does Kafka know any more of transactions that were decided above the high watermark.
        """
        self._restore_producers(self.active.base_offset, reads=True)
        self.snapshots.remove_strays([segment.base_offset for segment in self.segments])
        if any(segment.transactional for segment in self.segments):
            read = ProducerStates()
            for batch in self.batches():
                read.note(batch)
            read.forget_decided(below=self.high_watermark)
            self.producers.ended = read.ended

    def rescan_producers(self) -> None:
        """Forgets the producers and all snapshots of them, and reads the log again from its start.

        A broker that finds no snapshot does the same; batches below the log start are not read.
        """
        self.snapshots = ProducerSnapshots(self.log_start_offset)
        self.producers = ProducerStates()
        self._read_producers(self.log_start_offset)
        self.snapshots.take(self.log_end_offset, self.producers)

    def _restore_producers(self, believed_end: int, *, reads: bool) -> None:
        """Restores the newest snapshot of the producers up to `believed_end` and reads on from it.

        Not `reads`: the batches above it are not read. A truncation where no producer was known,
        and no marker at or above the high watermark, does so unless the rules say otherwise (a bug
        of Kafka's: reports/kafka_cut_marker.md). A restart, which knows of nothing, always reads.
        Source: UnifiedLog.rebuildProducerState, ProducerStateManager.truncateAndReload, .isEmpty.
        """
        covered, self.producers = self.snapshots.restored(self.log_start_offset, believed_end)
        if reads:
            self._read_producers(covered)
        self.snapshots.take(self.log_end_offset, self.producers)

    def _read_producers(self, start: int) -> None:
        """Adds the producers of the batches from `start` on (inclusive).

        Snapshots are taken where the last two segments begin.
        """
        snapshot_bases = [segment.base_offset for segment in self.segments[-2:]]
        for segment in self.segments[from_offset(self.segments, start) :]:
            if segment.base_offset >= self.log_end_offset:
                break
            start = max(segment.base_offset, start)
            if segment.base_offset in snapshot_bases:
                self.snapshots.take(start, self.producers)
            for batch in segment.batches[bisect_left(segment.batches, start, key=_last_offset) :]:
                self.producers.note(batch)

    def lose_tail(self, batches: int) -> None:
        """Loses the last `batches` batches, as a crash before a flush does."""
        surviving = list(self.batches())
        if batches and surviving:
            self.truncate_to(surviving[-min(batches, len(surviving))].base_offset)

    def replace_segments(self, replaced: int, cleaned: list[Segment]) -> None:
        """Swaps the first `replaced` segments for `cleaned` ones (UnifiedLog.replaceSegments)."""
        left = [segment.base_offset for segment in cleaned]
        gone = [s.base_offset for s in self.segments[:replaced] if s.base_offset not in left]
        self.snapshots.forget(gone)
        self.segments[:replaced] = cleaned
        if self.config.time_index_bytes is not None:
            for segment in cleaned:
                segment.become_inactive()
        if not self.segments:
            self.segments.append(Segment(self.log_end_offset))

    def delete_prefix(self, offset: int) -> None:
        """Moves the log start offset up to `offset` (at most the log end); batches below it go."""
        offset = min(offset, self.log_end_offset)
        self.log_start_offset = max(self.log_start_offset, offset)
        while len(self.segments) > 1 and self.segments[1].base_offset <= offset:
            self.segments.pop(0)
        first = self.segments[0]
        drop = bisect_left(first.batches, offset, key=_last_offset)
        if drop:
            gone = first.batches[:drop]
            first.index.below_start += [(b.base_offset, b.last_offset, b.size_bytes) for b in gone]
            del first.batches[:drop]
            first.refresh()
            first.aborted = [entry for entry in first.aborted if entry.last_offset >= offset]

    def reset_to(self, offset: int, epoch: int | None = None) -> None:
        """Empties the log; start, end and high watermark become `offset`.

        With an `epoch` the epoch cache holds just (epoch, offset), as after installing a snapshot
        (KafkaMetadataLog.truncateToLatestSnapshot).
        """
        self._begin_anew(offset)
        self.high_watermark = self.flushed_end = self.acknowledged_end = offset
        if epoch is not None:
            self.epochs.assign(epoch, offset)

    def _begin_anew(self, offset: int) -> None:
        """Empties the log, which starts and ends at `offset` then."""
        self.segments = [Segment(offset)]
        self.log_start_offset = self.log_end_offset = offset
        self.producers = ProducerStates()
        self.snapshots = ProducerSnapshots(offset)
        self.aborted_ever = []
        self.epochs = LeaderEpochCache()

    def advance_to(self, offset: int) -> None:
        """Moves the log end up to `offset`, with no record in between.

        A new active segment starts there, so that a restart finds the log end again.
        """
        self.log_end_offset = self.flushed_end = offset
        if self.active.batches:
            self.roll(now_ms=self.active.last_modified_ms)
        else:
            modified_ms = self.active.last_modified_ms
            self.segments[-1] = Segment(offset, modified_ms, created_ms=modified_ms)

    def recompute_log_end_offset(self, *, at_least: int = 0) -> None:
        """Derives the log end offset from the last surviving batch (`leo_source: last_record`).

        It is at least the log start, and `at_least`, the log end that is stored elsewhere. The
        active segment begins there at the latest, since a segment holds nothing below its base
        offset.
        """
        last = self.last_batch()
        found = 0 if last is None else last.last_offset + 1
        self.log_end_offset = end = max(found, at_least, self.log_start_offset)
        while len(self.segments) > 1 and self.segments[-2].base_offset >= end:
            del self.segments[-2]
        active = self.segments[-1]
        active.base_offset = min(active.base_offset, end)
        self._lower_to_log_end()
