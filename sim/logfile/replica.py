"""The log of a log file with what its broker keeps beside it: checkpoint and high watermark."""

from __future__ import annotations

from typing import NamedTuple

from sim.compaction.eligibility import (
    Eligibility,
    EligibilityConfig,
    FirstDirty,
    eligibility,
    first_dirty,
    select,
)
from sim.log import Log
from sim.logfile.steps import (
    DeleteOldSegments,
    DeleteRecords,
    HighWatermark,
    Move,
    Truncate,
    TruncateFully,
)
from sim.replication.retention import delete_below_start

DECIDED = (
    "first_dirty_offset",
    "first_uncleanable_offset",
    "effective_upper_bound",
    "force_update_checkpoint",
    "clean_bytes",
    "cleanable_bytes",
    "cleanable_ratio",
    "compaction_delay_ms",
)
"""What answers say of a decision, beside whether the log was selected."""


class Decision(NamedTuple):
    """What the cleaner's manager makes of the log.

    Attributes:
        dirty: Where its dirty section begins.
        found: The numbers, and how far a pass would go.
        selected: Whether a pass is run.
    """

    dirty: FirstDirty
    found: Eligibility
    selected: bool


class LogReplica:
    """One replica's log, and what lies beside it.

    Attributes:
        log: The log.
        checkpoint: Where the next pass has to begin (LogCleanerManager's file
            `cleaner-offset-checkpoint`); None = no pass was run yet.
        legacy: True = as in 2.8: passes may go beyond the high watermark, though not beyond an
            unstable transaction (before KAFKA-13194).
    """

    def __init__(self, log: Log, *, legacy: bool) -> None:
        """All of `log` is committed."""
        self.log = log
        self.checkpoint: int | None = None
        self.legacy = legacy
        self._told: int | None = None
        self._read_below = log.log_end_offset
        self.look()

    def look(self) -> None:
        """Let the high watermark follow a log that grew or shrank."""
        log = self.log
        end = log.log_end_offset
        log.high_watermark = end if self._told is None else min(self._told, end)
        if self._told is not None:
            self._told = log.high_watermark
        log.producers.first_unstable_offset(log.high_watermark)  # what is decided below it is

    def last_stable_offset(self) -> int:
        """Up to where readers of committed records may read (exclusive).

        Source: UnifiedLog.fetchLastStableOffsetMetadata, .maybeIncrementFirstUnstableOffset.
        """
        unstable = self._first_unstable()
        committed = self.log.high_watermark
        return committed if unstable is None else min(unstable, committed)

    def _first_unstable(self) -> int | None:
        """The first offset of a transaction that is not decided below the high watermark.

        Of a transaction that was read from disk or began below the log start the position is
        looked up, and with it comes the base offset of the first batch that is there, or the log
        end offset where none is. 2.8 does not take that base offset.

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

    def decide(
        self, config: EligibilityConfig, *, now_ms: int, uncleanable: bool = False
    ) -> Decision:
        """Would the log be cleaned now, from where, and how far?

        An invalid checkpoint is replaced. A log that is `uncleanable`, since a pass over it failed,
        is left as it is.

        Source: LogCleanerManager.grabFilthiestCompactedLog, .cleanableOffsets.
        """
        log = self.log
        dirty = first_dirty(
            self.checkpoint,
            log_start_offset=log.log_start_offset,
            log_end_offset=log.log_end_offset,
        )
        if dirty.force_update and not uncleanable:
            self.checkpoint = dirty.offset
        found = eligibility(
            log.segments,
            config,
            first_dirty_offset=dirty.offset,
            stable_offset=self._cleanable_end(),
            now_ms=now_ms,
        )
        selected = found.dirty_ratio is not None and select({"": found}) is not None
        selected = selected and not uncleanable
        return Decision(dirty, found, selected)

    def _cleanable_end(self) -> int:
        if not self.legacy:
            return self.last_stable_offset()
        unstable = self._first_unstable()
        return self.log.log_end_offset if unstable is None else unstable

    def move(self, step: Move) -> None:
        """Do a step that moves an end of the log."""
        match step:
            case Truncate():
                self._truncate(step.offset)
            case TruncateFully():
                self.log.reset_to(step.offset)
                self._told = None if self._told is None else step.offset
                self._lower_checkpoint()
            case HighWatermark():
                self._told = max(step.offset, self.log.log_start_offset)
            case DeleteRecords():
                self._start_at(step.before)
            case DeleteOldSegments():
                delete_below_start(self.log)

    def _truncate(self, offset: int) -> None:
        """Only a cut below the active segment lowers the checkpoint (LogManager.truncateTo)."""
        reaches_cleaned = offset < self.log.active.base_offset
        if offset < self.log.log_end_offset:  # else nothing is read again
            self._read_below = offset
        self.log.truncate_to(offset)
        if reaches_cleaned:
            self._lower_checkpoint()

    def _lower_checkpoint(self) -> None:
        """To the base of the active segment (LogCleanerManager.maybeTruncateCheckpoint)."""
        if self.checkpoint is not None:
            self.checkpoint = min(self.checkpoint, self.log.active.base_offset)

    def _start_at(self, offset: int) -> None:
        """At the high watermark at most: a log that was read from disk may end lower by then."""
        log = self.log
        offset = min(offset, log.high_watermark)
        if offset > log.log_start_offset:
            log.log_start_offset = offset
            log.epochs.truncate_to_start(offset)
            log.snapshots.start_at(offset)

    def reload(self) -> None:
        """Read the log from disk, without a snapshot of its producers.

        It ends where its active segment does. One that would end below its start begins anew
        there. Source: LogLoader.recoverLog, .deleteSegmentsIfLogStartGreaterThanLogEnd.
        """
        log = self.log
        batches = log.active.batches
        end = batches[-1].last_offset + 1 if batches else log.active.base_offset
        if end < log.log_start_offset:
            log.reset_to(log.log_start_offset)
            return
        log.log_end_offset = end
        log.reopen()
        log.epochs.truncate_from(end)
        log.epochs.truncate_to_start(log.log_start_offset)
        log.rescan_producers()
        self._read_below = end
