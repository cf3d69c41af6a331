"""The log of one replica, with its checkpoint and high watermark, between steps of a log file."""

from __future__ import annotations

from dataclasses import replace

from sim.protocol.compaction import PassFailed
from sim.protocol.log import Batch, Log, Segment
from sim.simulate.logfile.eligible import DescribedLog, LogEligibility, look_at
from sim.simulate.logfile.rules import TopicOfLog


class LogReplica:
    """The log of one replica, with its checkpoint and high watermark.

    Attributes:
        log: The log.
        checkpoint: Offset at which the next pass has to begin (LogCleanerManager's file
            `cleaner-offset-checkpoint`); None before the first pass.
        legacy: True for passes as in 2.8, which may go beyond the high watermark, though not beyond
            an unstable transaction (before KAFKA-13194).
        failed: Failure of a pass, after which none is run until the log is loaded again; None
            without one.
    """

    def __init__(self, log: Log, *, legacy: bool, committed: int | None = None) -> None:
        """Starts with all of `log` committed, or what is below `committed` (exclusive)."""
        self.log = log
        self.checkpoint: int | None = None
        self.legacy = legacy
        self.failed: PassFailed | None = None
        self._learnt: int | None = None
        self._read_below = log.log_end_offset
        if committed is not None:
            self.learn_high_watermark(committed)
        self.look()

    def look(self) -> None:
        """Lets the high watermark follow a log that grew or shrank."""
        log = self.log
        end = log.log_end_offset
        log.high_watermark = end if self._learnt is None else min(self._learnt, end)
        if self._learnt is not None:
            self._learnt = log.high_watermark
        log.producers.first_unstable_offset(log.high_watermark)  # forgets what is decided below it

    def last_stable_offset(self) -> int:
        """Exclusive end of the records that readers of committed records get.

        Source: UnifiedLog.fetchLastStableOffsetMetadata, .maybeIncrementFirstUnstableOffset.
        """
        unstable = self._first_unstable()
        committed = self.log.high_watermark
        return committed if unstable is None else min(unstable, committed)

    def _first_unstable(self) -> int | None:
        """The first offset of a transaction that is not decided below the high watermark.

        For a transaction that was read from disk or began below the log start, the position is
        looked up. That gives the base offset of the first batch that is there, or the log end
        offset where none is. 2.8 looks, too, but takes the position instead of that base offset.

        Source: UnifiedLog.maybeIncrementFirstUnstableOffset, LogSegment.read.
        """
        log = self.log
        unstable = log.producers.first_unstable_offset(log.high_watermark)
        if unstable is None:
            return None
        inside = max(unstable, log.log_start_offset)
        if unstable >= max(self._read_below, log.log_start_offset):
            return inside
        there = log.read(inside, max_batches=1)
        if not there:
            return log.log_end_offset
        return inside if self.legacy else there[0].base_offset

    def decide(self, topic: TopicOfLog, *, now_ms: int) -> LogEligibility:
        """Decides whether the log would be cleaned now, from where, and how far.

        An invalid checkpoint is replaced. A log over which a pass failed is left as it is.

        Source: LogCleanerManager.grabFilthiestCompactedLog, .cleanableOffsets.
        """
        log = self.log
        unstable = log.producers.first_unstable_offset(log.high_watermark)
        began = sorted(
            one.open_since for one in log.producers.producers.values() if one.open_since is not None
        )
        undecided = unstable in began
        ends = undecided and (self.legacy or began[0] < log.high_watermark)
        described = DescribedLog(
            topic.config,
            tuple(log.segments),
            log.log_start_offset,
            log.log_end_offset,
            log.log_end_offset if self.legacy else log.high_watermark,
            self._cleanable_end(),
            self.checkpoint,
            in_progress=False,
            uncleanable=self.failed is not None,
            compacts=topic.compacts,
            committed=log.high_watermark,
            undecided=undecided,
            stable_later=min([log.log_end_offset, *began[ends:]]),
        )
        # Kafka's manager asks a segment for its times once, and the segment remembers that. What is
        # asked later, when the log would be due, is asked of copies.
        found = look_at(described, now_ms=now_ms)
        if found.dirty.force_update and self.failed is None:
            self.checkpoint = found.dirty.offset
        copies = tuple(
            Segment(
                one.base_offset,
                one.last_modified_ms,
                size_bytes=one.size_bytes,
                first_timestamp_ms=one.first_timestamp_ms,
                largest_ms=one.largest_ms,
            )
            for one in log.segments
        )
        return replace(found, log=replace(described, segments=copies))

    def _cleanable_end(self) -> int:
        if not self.legacy:
            return self.last_stable_offset()
        unstable = self._first_unstable()
        return self.log.log_end_offset if unstable is None else unstable

    def append(self, batch: Batch) -> None:
        """Appends a batch at no particular time."""
        self.log.append(batch, now_ms=0)

    def roll(self) -> None:
        """Begins a new active segment, unless one begins at the log end already (LocalLog.roll)."""
        if self.log.active.base_offset < self.log.log_end_offset:
            self.log.roll(now_ms=0)

    def truncate_fully(self, offset: int) -> None:
        """Empties the log, which then starts and ends at `offset`.

        Nothing in it counts as read from disk from now on.
        """
        self.log.reset_to(offset)
        self._read_below = offset
        self._learnt = None if self._learnt is None else offset
        self._lower_checkpoint()

    def learn_high_watermark(self, offset: int) -> None:
        """Notes that all below `offset` is committed, which `look` puts in force.

        From now on appends alone commit nothing.
        """
        self._learnt = max(offset, self.log.log_start_offset)

    def truncate(self, offset: int) -> None:
        """Truncates the log; a cut below the active segment lowers the checkpoint, too.

        Source: LogManager.truncateTo.
        """
        reaches_cleaned = offset < self.log.active.base_offset
        if offset < self.log.log_end_offset:  # else nothing is read again
            self._read_below = offset
        self.log.truncate_to(offset)
        if reaches_cleaned:
            self._lower_checkpoint()

    def _lower_checkpoint(self) -> None:
        """Lowers the checkpoint to the base of the active segment at most.

        Source: LogCleanerManager.maybeTruncateCheckpoint.
        """
        if self.checkpoint is not None:
            self.checkpoint = min(self.checkpoint, self.log.active.base_offset)

    def start_at(self, offset: int) -> None:
        """Moves the log start up to `offset`, at most to the high watermark; never down."""
        log = self.log
        offset = min(offset, log.high_watermark)
        if offset > log.log_start_offset:
            log.log_start_offset = offset
            log.epochs.truncate_to_start(offset)
            log.snapshots.start_at(offset)

    def reload(self) -> None:
        """Reads the log from disk, without a snapshot of its producers.

        The log ends where its active segment does (`Log.read_log_end`).

        Source: LogLoader.load.
        """
        self.failed = None
        log = self.log
        log.reopen()
        log.read_log_end()
        log.epochs.truncate_from(log.log_end_offset)
        log.epochs.truncate_to_start(log.log_start_offset)
        log.rescan_producers()
        self._read_below = log.log_end_offset
