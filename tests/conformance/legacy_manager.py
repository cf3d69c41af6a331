"""Kafka's `LogCleanerManager` as the Scala classes of 2.8 have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conformance.cleaner_manager import CleanerManager
from tests.conformance.disk_log import Due
from tests.conformance.jvm import java_class
from tests.conformance.surroundings import Clock


class LegacyManager(CleanerManager):
    """The manager of the logs in one folder, with its file of checkpoints. To be closed.

    Args:
        folder: Where the logs' own folders are.
        clock: The clock it decides by.
        failures: Kafka's `LogDirFailureChannel`.
    """

    def __init__(self, folder: Path, clock: Clock, failures: Any) -> None:
        self._clock = clock
        self._folder = java_class("java.io.File")(str(folder))
        self._none = java_class("scala.Option").empty()
        self._some = java_class("scala.Some")
        self._pair = java_class("scala.Tuple2")
        self._long = java_class("java.lang.Long")
        self._stats = java_class("kafka.log.PreCleanStats")
        self._log_to_clean = java_class("kafka.log.LogToClean")
        self._decides = java_class("kafka.log.LogCleanerManager")
        self._logs = java_class("kafka.utils.Pool")(self._none)
        folders = java_class("java.util.List").of(self._folder)
        in_scala = java_class("scala.jdk.javaapi.CollectionConverters").asScala
        self._manager = self._decides(in_scala(folders).toSeq(), self._logs, failures)

    def checkpoint(self, log: Any) -> int | None:
        """Where the next pass over a log has to begin; None = no pass was run yet."""
        known = self._manager.allCleanerCheckpoints().get(log.topicPartition())
        return None if known.isEmpty() else int(known.get())

    def write_checkpoint(self, log: Any, offset: int) -> None:
        """Note where a pass ended."""
        entry = self._some(self._pair(log.topicPartition(), self._long.valueOf(offset)))
        self._manager.updateCheckpoints(self._folder, entry, self._none)

    def due(self, log: Any, now_ms: int) -> Due:
        """What it makes of a log, whether or not it is selected; nothing is written down."""
        known = self.checkpoint(log)
        last = self._none if known is None else self._some(self._long.valueOf(known))
        found = self._decides.cleanableOffsets(log, last, now_ms)
        first = int(found.firstDirtyOffset())
        delay_ms = int(self._decides.maxCompactionDelay(log, first, now_ms))
        end = int(found.firstUncleanableDirtyOffset())
        return Due.of(
            self._log_to_clean(log.topicPartition(), log, first, end, delay_ms > 0),
            first_uncleanable_offset=end,
            force_update_checkpoint=bool(found.forceUpdateCheckpoint()),
            compaction_delay_ms=delay_ms,
        )

    def select(self, now_ms: int) -> Any | None:
        """The log that is due before all others, as `LogToClean`; None = none is.

        It is in progress from then on; checkpoints that are invalid are written anew.
        """
        self._clock.now_ms = now_ms
        selected = self._manager.grabFilthiestCompactedLog(self._clock.time, self._stats())
        self._clock.now_ms = 0
        return None if selected.isEmpty() else selected.get()

    def close(self) -> None:
        """Nothing: this release keeps its gauges until the machine ends."""
