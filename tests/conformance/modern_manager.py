"""Kafka's `LogCleanerManager` of 4.1 and later: which log is due, from where, and up to where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conformance.cleaner_manager import CleanerManager
from tests.conformance.disk_log import Due
from tests.conformance.jvm import java_class, private_method
from tests.conformance.surroundings import Clock


class ModernManager(CleanerManager):
    """The manager of the logs in one folder, with its file of checkpoints. To be closed.

    Args:
        folder: Where the logs' own folders are.
        clock: The clock it decides by.
        failures: Kafka's `LogDirFailureChannel`.
    """

    def __init__(self, folder: Path, clock: Clock, failures: Any) -> None:
        internal = "storage.internals.log."
        manager = java_class(internal + "LogCleanerManager")
        self._clock = clock
        self._folder = java_class("java.io.File")(str(folder))
        self._optional = java_class("java.util.Optional")
        self._entry = java_class("java.util.Map").entry
        self._long = java_class("java.lang.Long")
        self._stats = java_class(internal + "PreCleanStats")
        self._log_to_clean = java_class(internal + "LogToClean")
        # In the order of partitions, so that it is known which of equals comes first.
        self._logs = java_class("java.util.concurrent.ConcurrentSkipListMap")(
            java_class("java.util.Comparator").comparing(_partition())
        )
        folders = java_class("java.util.List").of(self._folder)
        self._manager = manager(folders, self._logs, failures)
        log = java_class(internal + "UnifiedLog").class_
        number = self._long.TYPE
        self._offsets = private_method(
            manager, "cleanableOffsets", log, self._optional.class_, number
        )
        self._delay = private_method(manager, "maxCompactionDelay", log, number, number)

    def checkpoint(self, log: Any) -> int | None:
        """Where the next pass over a log has to begin; None = no pass was run yet."""
        known = self._manager.allCleanerCheckpoints().get(log.topicPartition())
        return None if known is None else int(known)

    def write_checkpoint(self, log: Any, offset: int) -> None:
        """Note where a pass ended."""
        entry = self._entry(log.topicPartition(), self._long.valueOf(offset))
        self._manager.updateCheckpoints(
            self._folder, self._optional.of(entry), self._optional.empty()
        )

    def due(self, log: Any, now_ms: int) -> Due:
        """What it makes of a log, whether or not it is selected; nothing is written down."""
        known = self.checkpoint(log)
        found = self._offsets.invoke(
            None, log, self._optional.ofNullable(known), self._long.valueOf(now_ms)
        )
        first = int(found.firstDirtyOffset())
        delay_ms = int(
            self._delay.invoke(None, log, self._long.valueOf(first), self._long.valueOf(now_ms))
        )
        end = int(found.firstUncleanableDirtyOffset())
        return Due.of(
            self._log_to_clean(log, first, end, delay_ms > 0),
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
        return selected.get() if selected.isPresent() else None

    def close(self) -> None:
        """Take its metrics back."""
        self._manager.removeMetrics()


def _partition() -> Any:
    """A Java function from a partition to its number."""
    from tests.conformance.jvm import proxy

    return proxy("java.util.function.Function", {"apply": lambda of: of.partition()})
