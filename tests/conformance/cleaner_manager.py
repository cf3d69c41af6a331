"""Kafka's `LogCleanerManager`: which log is due, from where, and up to where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jpype

from tests.conformance.jvm import Clock, java_class, private_method, proxy


class KafkaPass(NamedTuple):
    """What Kafka reports of one cleaning pass; counts are those of the copying, not of the map.

    `ran` is false when there was no pass, because nothing was due.
    """

    next_dirty_offset: int
    messages_read: int
    messages_written: int
    invalid_messages: int
    ran: bool = True

    @classmethod
    def of(cls, next_dirty_offset: int, stats: Any) -> KafkaPass:
        """The pass that Kafka's `CleanerStats` were kept of."""
        read, written = int(stats.messagesRead()), int(stats.messagesWritten())
        return cls(next_dirty_offset, read, written, int(stats.invalidMessagesRead()))


class Due(NamedTuple):
    """What Kafka's manager of the cleaner makes of a log.

    Attributes:
        first_dirty_offset: Where the dirty section begins.
        first_uncleanable_offset: What no pass may reach (exclusive bound).
        effective_upper_bound: The same, rounded down to a segment's base.
        force_update_checkpoint: The checkpoint is invalid.
        clean_bytes: Bytes of segments that start below the dirty section.
        cleanable_bytes: Bytes of the segments that a pass would read for its map.
        cleanable_ratio: Cleanable / (clean + cleanable) bytes; None when both are 0.
        compaction_delay_ms: How long it is overdue.
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

    As releases from 4.1 on have it; what others do otherwise, they override.

    Args:
        folder: Where the logs' own folders are.
        clock: The clock it decides by.
        failures: Kafka's `LogDirFailureChannel`.
    """

    package = "storage.internals.log"
    """Where Kafka has the classes around the cleaner."""

    def __init__(self, folder: Path, clock: Clock, failures: Any) -> None:
        self._clock = clock
        self._folder = java_class("java.io.File")(str(folder))
        self._long = java_class("java.lang.Long")
        self._stats = java_class(f"{self.package}.PreCleanStats")
        self._to_clean = java_class(f"{self.package}.LogToClean")
        self._class = java_class(f"{self.package}.LogCleanerManager")
        self._manager = self._made(java_class("java.util.List").of(self._folder), failures)

    def _made(self, folders: Any, failures: Any) -> Any:
        """Kafka's own manager, and `_logs`, its logs by partition."""
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
        """Where the next pass over a log has to begin; None = no pass was run yet."""
        known = self._manager.allCleanerCheckpoints().get(log.topicPartition())
        return None if known is None else int(known)

    def write_checkpoint(self, log: Any, offset: int) -> None:
        """Note where a pass ended."""
        entry = java_class("java.util.Map").entry(log.topicPartition(), self._long.valueOf(offset))
        none = self._optional.empty()
        self._manager.updateCheckpoints(self._folder, self._optional.of(entry), none)

    def log_to_clean(self, log: Any, *bounds: object) -> Any:
        """Kafka's `LogToClean`, between bounds, and whether it is overdue."""
        return self._to_clean(log, *bounds)

    def close(self) -> None:
        """Take its metrics back."""
        self._manager.removeMetrics()

    def _cleanable(self, log: Any, now_ms: int) -> Any:
        """Kafka's `OffsetsToClean` of a log."""
        known = self._optional.ofNullable(self.checkpoint(log))
        return self._offsets.invoke(None, log, known, self._long.valueOf(now_ms))

    def _delay_ms(self, log: Any, first_dirty_offset: int, now_ms: int) -> int:
        """How long a log is overdue."""
        first, now = self._long.valueOf(first_dirty_offset), self._long.valueOf(now_ms)
        return int(self._delay.invoke(None, log, first, now))

    def due(self, log: Any, now_ms: int) -> Due:
        """What it makes of a log, whether or not it is selected; nothing is written down."""
        found = self._cleanable(log, now_ms)
        first = int(found.firstDirtyOffset())
        delay_ms = self._delay_ms(log, first, now_ms)
        end = int(found.firstUncleanableDirtyOffset())
        told = self.log_to_clean(log, first, end, delay_ms > 0)
        is_empty = int(told.totalBytes()) == 0
        return Due(
            first_dirty_offset=int(told.firstDirtyOffset()),
            first_uncleanable_offset=end,
            effective_upper_bound=int(told.firstUncleanableOffset()),
            force_update_checkpoint=bool(found.forceUpdateCheckpoint()),
            clean_bytes=int(told.cleanBytes()),
            cleanable_bytes=int(told.cleanableBytes()),
            cleanable_ratio=None if is_empty else float(told.cleanableRatio()),
            compaction_delay_ms=delay_ms,
        )

    def add(self, log: Any) -> None:
        """Let it know a log, or the same one after it was opened again."""
        self._logs.put(log.topicPartition(), log)

    def lower_checkpoint(self, log: Any) -> None:
        """What `LogManager` asks for after a truncation that reaches what may have been cleaned."""
        base = log.activeSegment().baseOffset()
        self._manager.maybeTruncateCheckpoint(self._folder, log.topicPartition(), base)

    def set_in_progress(self, log: Any) -> None:
        """Let it believe that somebody cleans a log."""
        self._manager.abortAndPauseCleaning(log.topicPartition())

    def set_uncleanable(self, log: Any) -> None:
        """Let it know that a pass over a log ended in an unexpected error."""
        self._manager.markPartitionUncleanable(log.parentDir(), log.topicPartition())

    def select(self, now_ms: int) -> Any | None:
        """The log that is due before all others, as `LogToClean`; None = none is.

        It is in progress from then on; checkpoints that are invalid are written anew.
        """
        self._clock.now_ms = now_ms
        selected = self._manager.grabFilthiestCompactedLog(self._clock.time, self._stats())
        self._clock.now_ms = 0
        return None if selected.isEmpty() else selected.get()

    def clean_selected(
        self, log: Any, now_ms: int, run: Callable[[Any], KafkaPass]
    ) -> KafkaPass | None:
        """Run a pass over the only log it knows, if it selects that; None = it does not.

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
