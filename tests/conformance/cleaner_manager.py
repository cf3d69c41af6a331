"""Kafka's `LogCleanerManager`: which log is due, from where, and up to where."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.jvm import private_method
from tests.conformance.releases import Kafka


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

    Args:
        kafka: The classes of the release.
        folder: Parent of the logs' own folders.
    """

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self._kafka = kafka
        self._folder = kafka.file(str(folder))
        manager, log = kafka.own("LogCleanerManager"), kafka.unified_log.class_
        number, option = kafka.long.TYPE, kafka.option.class_
        self._offsets = private_method(manager, "cleanableOffsets", log, option, number)
        self._delay = private_method(manager, "maxCompactionDelay", log, number, number)
        self._logs = kafka.partition_logs()
        self._manager = manager(kafka.folders(self._folder), self._logs, kafka.failures)

    def checkpoint(self, log: Any) -> int | None:
        """Offset at which the next pass over a log begins; None before the first pass."""
        known = self._kafka.in_java(self._manager.allCleanerCheckpoints())
        found = known.get(log.topicPartition())
        return None if found is None else int(found)

    def write_checkpoint(self, log: Any, offset: int) -> None:
        """Stores the offset at which a pass ended."""
        kafka = self._kafka
        entry = kafka.pair(log.topicPartition(), kafka.long.valueOf(offset))
        self._manager.updateCheckpoints(self._folder, kafka.optional(entry), kafka.none)

    def close(self) -> None:
        """Removes the metrics of the manager; 2.8 keeps them until the machine ends."""
        getattr(self._manager, "removeMetrics", lambda: None)()

    def due(self, log: Any, now_ms: int) -> Due:
        """The verdict on a log, without selecting it; no checkpoint is written."""
        kafka, now = self._kafka, self._kafka.long.valueOf(now_ms)
        found = self._offsets.invoke(None, log, kafka.optional(self.checkpoint(log)), now)
        first, end = int(found.firstDirtyOffset()), int(found.firstUncleanableDirtyOffset())
        delay_ms = int(self._delay.invoke(None, log, kafka.long.valueOf(first), now))
        to_clean = kafka.log_to_clean(log, first, end, delay_ms > 0)
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
        kafka = self._kafka
        kafka.clock.now_ms = now_ms
        selected = self._manager.grabFilthiestCompactedLog(
            kafka.clock.time, kafka.pre_clean_stats()
        )
        kafka.clock.now_ms = 0
        return None if selected.isEmpty() else selected.get()

    def done_cleaning(self, log: Any, end: int) -> None:
        """Ends the progress of a selected log; the next pass over it begins at `end`."""
        self._manager.doneCleaning(log.topicPartition(), self._folder, end)
