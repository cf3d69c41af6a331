"""Kafka's `LogCleanerManager`: which log is due, from where, and up to where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jpype

from tests.conformance.jvm import Clock, java_class, private_method, proxy


class KafkaPass(NamedTuple):
    """Kafka's report on a cleaning pass; it counts records that were copied, not those of the map.

    `ran` is false when there was no pass, because nothing was due.
    """

    next_dirty_offset: int
    messages_read: int
    messages_written: int
    invalid_messages: int
    ran: bool = True

    @classmethod
    def of(cls, next_dirty_offset: int, stats: Any) -> KafkaPass:
        """The pass with the counts of Kafka's `CleanerStats`."""
        read, written = int(stats.messagesRead()), int(stats.messagesWritten())
        return cls(next_dirty_offset, read, written, int(stats.invalidMessagesRead()))


class Due(NamedTuple):
    """Verdict of Kafka's cleaner manager on a log.

    Attributes:
        first_dirty_offset: Start of the dirty section.
        first_uncleanable_offset: Offset that no pass may reach (exclusive bound).
        effective_upper_bound: The same, rounded down to a segment's base.
        force_update_checkpoint: True for an invalid checkpoint.
        clean_bytes: Bytes of segments that start below the dirty section.
        cleanable_bytes: Bytes of the segments that a pass would read for its map.
        cleanable_ratio: Cleanable / (clean + cleanable) bytes; None when both are 0.
        compaction_delay_ms: Time by which it is overdue, in ms.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    effective_upper_bound: int
    force_update_checkpoint: bool
    clean_bytes: int
    cleanable_bytes: int
    cleanable_ratio: float | None
    compaction_delay_ms: int


class CleanerManager:
    """The manager of the logs in one folder, with its file of checkpoints. To be closed.

    This is that of releases from 4.1 on; a subclass overrides what another release does otherwise.

    Args:
        folder: Parent of the logs' own folders.
        clock: Clock by which it decides.
        failures: Kafka's `LogDirFailureChannel`.
    """

    package = "storage.internals.log"
    """Package of the classes around the cleaner."""

    def __init__(self, folder: Path, clock: Clock, failures: Any) -> None:
        self._clock = clock
        self._folder = java_class("java.io.File")(str(folder))
        self._long = java_class("java.lang.Long")
        self._stats = java_class(f"{self.package}.PreCleanStats")
        self._to_clean = java_class(f"{self.package}.LogToClean")
        self._class = java_class(f"{self.package}.LogCleanerManager")
        self._manager = self._made(java_class("java.util.List").of(self._folder), failures)

    def _made(self, folders: Any, failures: Any) -> Any:
        """Kafka's own manager; sets `_logs`, its logs by partition."""
        self._optional = java_class("java.util.Optional")
        log, number = java_class(f"{self.package}.UnifiedLog").class_, self._long.TYPE
        self._offsets = private_method(
            self._class, "cleanableOffsets", log, self._optional.class_, number
        )
        self._delay = private_method(self._class, "maxCompactionDelay", log, number, number)
        # In the order of partitions, so that it is known which of equals comes first.
        partition = proxy("java.util.function.Function", {"apply": lambda of: of.partition()})
        in_order = java_class("java.util.Comparator").comparing(partition)
        self._logs = java_class("java.util.concurrent.ConcurrentSkipListMap")(in_order)
        return self._class(folders, self._logs, failures)

    def checkpoint(self, log: Any) -> int | None:
        """Offset at which the next pass over a log begins; None before the first pass."""
        known = self._manager.allCleanerCheckpoints().get(log.topicPartition())
        return None if known is None else int(known)

    def write_checkpoint(self, log: Any, offset: int) -> None:
        """Stores the offset at which a pass ended."""
        entry = java_class("java.util.Map").entry(log.topicPartition(), self._long.valueOf(offset))
        none = self._optional.empty()
        self._manager.updateCheckpoints(self._folder, self._optional.of(entry), none)

    def log_to_clean(self, log: Any, *bounds: object) -> Any:
        """Kafka's `LogToClean` with two bounds, and True if it is overdue."""
        return self._to_clean(log, *bounds)

    def close(self) -> None:
        """Removes the metrics of the manager."""
        self._manager.removeMetrics()

    def _cleanable(self, log: Any, now_ms: int) -> Any:
        """Kafka's `OffsetsToClean` of a log."""
        known = self._optional.ofNullable(self.checkpoint(log))
        return self._offsets.invoke(None, log, known, self._long.valueOf(now_ms))

    def _delay_ms(self, log: Any, first_dirty_offset: int, now_ms: int) -> int:
        """Time by which a log is overdue, in ms."""
        first, now = self._long.valueOf(first_dirty_offset), self._long.valueOf(now_ms)
        return int(self._delay.invoke(None, log, first, now))

    def due(self, log: Any, now_ms: int) -> Due:
        """The verdict on a log, without selecting it; no checkpoint is written."""
        found = self._cleanable(log, now_ms)
        first = int(found.firstDirtyOffset())
        delay_ms = self._delay_ms(log, first, now_ms)
        end = int(found.firstUncleanableDirtyOffset())
        to_clean = self.log_to_clean(log, first, end, delay_ms > 0)
        is_empty = int(to_clean.totalBytes()) == 0
        return Due(
            first_dirty_offset=int(to_clean.firstDirtyOffset()),
            first_uncleanable_offset=end,
            effective_upper_bound=int(to_clean.firstUncleanableOffset()),
            force_update_checkpoint=bool(found.forceUpdateCheckpoint()),
            clean_bytes=int(to_clean.cleanBytes()),
            cleanable_bytes=int(to_clean.cleanableBytes()),
            cleanable_ratio=None if is_empty else float(to_clean.cleanableRatio()),
            compaction_delay_ms=delay_ms,
        )

    def add(self, log: Any) -> None:
        """Adds a log, or replaces it by the same one that was opened again."""
        self._logs.put(log.topicPartition(), log)

    def lower_checkpoint(self, log: Any) -> None:
        """Lowers the checkpoint as `LogManager` does after a truncation of cleaned segments."""
        base = log.activeSegment().baseOffset()
        self._manager.maybeTruncateCheckpoint(self._folder, log.topicPartition(), base)

    def set_in_progress(self, log: Any) -> None:
        """Marks a log as being cleaned."""
        self._manager.abortAndPauseCleaning(log.topicPartition())

    def set_uncleanable(self, log: Any) -> None:
        """Marks a log as uncleanable, as after an unexpected error of a pass."""
        self._manager.markPartitionUncleanable(log.parentDir(), log.topicPartition())

    def select(self, now_ms: int) -> Any | None:
        """Selects the log that is due first, as `LogToClean`; None if no log is due.

        The log is in progress from then on; invalid checkpoints are replaced.
        """
        self._clock.now_ms = now_ms
        selected = self._manager.grabFilthiestCompactedLog(self._clock.time, self._stats())
        self._clock.now_ms = 0
        return None if selected.isEmpty() else selected.get()

    def clean_selected(
        self, log: Any, now_ms: int, run: Callable[[Any], KafkaPass]
    ) -> KafkaPass | None:
        """Runs a pass over its only log if it selects that; None if it does not.

        A pass that fails leaves the log uncleanable, and its checkpoint where it was.
        """
        selected = self.select(now_ms)
        if selected is None:
            return None
        end = int(selected.firstDirtyOffset())
        try:
            done = run(selected)
            end = done.next_dirty_offset
        except jpype.JException:
            self.set_uncleanable(log)
            raise
        finally:
            self._manager.doneCleaning(log.topicPartition(), self._folder, end)
        return done
