"""A log on disk and its cleaner, as the Scala classes of Kafka 2.8 have them, before KIP-534."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.cleaner_manager import CleanerManager, KafkaPass
from tests.conformance.disk_log import (
    CLEAN_SHUTDOWN,
    IO_BYTES,
    NEVER_MS,
    DiskLog,
    Kafka,
    PassParameters,
)
from tests.conformance.jvm import Housekeeping, java_class, private_method, proxy, settings

KEEP_METADATA = True
SPEED_UP = False


class LegacyKafka(Kafka):
    """The classes of a 2.8 release, and objects that all logs share."""

    preset = "kafka-2.8"
    package = "kafka.log"

    def _prepare(self) -> None:
        self.unified_log = self.own("Log")
        self.log_config = self.own("LogConfig")
        self.failures = java_class("kafka.server.LogDirFailureChannel")(1)
        self.none = java_class("scala.Option").empty()
        self.no_overrides = self.log_config.apply().overriddenConfigs()
        self.stats = java_class("kafka.server.BrokerTopicStats")()
        self.housekeeping = Housekeeping("kafka.utils.Scheduler", run="apply")
        self.throttler = java_class("kafka.utils.Throttler")(
            math.inf, 2**62, SPEED_UP, "cleaner", "bytes", self.system_time
        )
        self.check_done = proxy("scala.Function1", {"apply": lambda _: None})
        self.in_java = java_class("scala.jdk.javaapi.CollectionConverters").asJava
        state = self.own("ProducerStateManager").class_
        flag = java_class("java.lang.Boolean").TYPE
        self.rebuild = private_method(
            self.unified_log, "rebuildProducerState", self.number, flag, state
        )
        self.deleted_by_client = getattr(self.own("ClientRecordDeletion$"), "MODULE$")

    def open_log(
        self,
        folder: Path,
        topic: Mapping[str, object],
        *,
        segment_bytes: int | None = None,
        io_bytes: int = IO_BYTES,
    ) -> DiskLog:
        """Opens the log whose segment files are in `folder`; the I/O buffers are always large."""
        del io_bytes
        small = {} if segment_bytes is None else {"segment.bytes": segment_bytes}
        return LegacyLog(self, folder, topic, small)

    def manager(self, folder: Path) -> CleanerManager:
        """A manager for the cleaner of the logs in a folder."""
        return LegacyManager(folder, self.clock, self.failures)

    def config(self, topic: Mapping[str, object]) -> Any:
        """Kafka's `LogConfig` of these settings."""
        return self.log_config(settings(topic), self.no_overrides)

    def _map(self, size_bytes: int) -> Any:
        return self.offset_map(size_bytes, "MD5")


class LegacyLog(DiskLog):
    """A log of a 2.8 release. To be closed."""

    _kafka: LegacyKafka

    def _load(self, *, log_start: int) -> Any:
        kafka = self._kafka
        log = kafka.unified_log.apply(
            kafka.file(str(self._folder)),
            self._config,
            log_start,
            0,
            kafka.housekeeping.scheduler,
            kafka.stats,
            kafka.clock.time,
            NEVER_MS,
            NEVER_MS,
            kafka.failures,
            CLEAN_SHUTDOWN,
            KEEP_METADATA,
        )
        producers = log.producerStateManager()
        producers.truncateFullyAndStartAt(log.logStartOffset())
        kafka.rebuild.invoke(log, log.logEndOffset(), not CLEAN_SHUTDOWN, producers)
        self.manager.add(log)
        return log

    def append(self, batch: bytes) -> None:
        """Appends one batch as a follower does."""
        self.raw.appendAsFollower(self._kafka.read(batch))

    def roll(self) -> None:
        """Begins a new active segment at the log end offset, unless the active one begins there.

        No broker rolls such a segment; 2.8's Log.roll would delete its snapshot of producers, and
        take no other.
        """
        if self.raw.activeSegment().baseOffset() != self.raw.logEndOffset():
            self.raw.roll(self._kafka.none)

    def note_epochs(self, starts: Iterable[tuple[int, int]]) -> None:
        """Sets the leader epochs of a log that was loaded for the first time."""
        for epoch, start in starts:
            self.raw.maybeAssignEpochStartOffset(epoch, start)

    def expire_producers(self, *, now_ms: int, expiration_ms: int) -> None:
        """Forgets producers that were silent for `expiration_ms`.

        This release reads the setting once, here `NEVER_MS`; so the clock is moved instead.
        """
        self.raw.producerStateManager().removeExpiredProducers(now_ms - expiration_ms + NEVER_MS)

    def _repeated(self, producer: Any, batch: Any) -> Any:
        return producer.findDuplicateBatch(batch)

    def _pass(self, cleaner: Any, log: Any, parameters: PassParameters) -> KafkaPass:
        if parameters.delete_horizon_ms is None:
            done = cleaner.clean(log)
        else:
            done = cleaner.doClean(log, parameters.delete_horizon_ms)
        next_dirty_offset, stats = self._walked(done.productIterator())
        return KafkaPass.of(int(next_dirty_offset), stats)

    def _copy(self, cleaner: Any, known: Any, segments: Any, parameters: PassParameters) -> Any:
        kafka = self._kafka
        stats, transactions = kafka.cleaner_stats(kafka.system_time), kafka.transactions()
        limits = (self._when_cleaned.segmentSize(), self._config.maxIndexSize())
        groups = cleaner.groupSegmentsBySize(segments, *limits, parameters.upper_bound)
        horizon_ms = self._horizon(parameters)
        for group in self._walked(groups):
            cleaner.cleanSegments(self.raw, group, known, horizon_ms, stats, transactions)
        return stats

    def _horizon(self, parameters: PassParameters) -> int:
        """The given horizon, else the one that `Cleaner.clean` derives from modification times."""
        if parameters.delete_horizon_ms is not None:
            return parameters.delete_horizon_ms
        below = list(self._walked(self.raw.logSegments(0, parameters.first_dirty_offset)))
        retention_ms = self._config.deleteRetentionMs()
        return int(below[-1].lastModified()) - int(retention_ms) if below else 0

    def _truncate_fully(self, offset: int) -> None:
        self.raw.truncateFullyAndStartAt(offset)

    def _epoch_entries(self) -> Iterable[Any]:
        entries: Iterable[Any] = self._walked(self.raw.leaderEpochCache().get().epochEntries())
        return entries

    def _walked(self, collection: Any) -> Any:
        return self._kafka.in_java(collection)


class LegacyManager(CleanerManager):
    """The manager of the logs in one folder."""

    package = "kafka.log"

    def _made(self, folders: Any, failures: Any) -> Any:
        self._none = java_class("scala.Option").empty()
        self._some = java_class("scala.Some")
        self._logs = java_class("kafka.utils.Pool")(self._none)
        in_scala = java_class("scala.jdk.javaapi.CollectionConverters").asScala
        return self._class(in_scala(folders).toSeq(), self._logs, failures)

    def checkpoint(self, log: Any) -> int | None:
        """Offset at which the next pass over a log begins; None before the first pass."""
        known = self._manager.allCleanerCheckpoints().get(log.topicPartition())
        return None if known.isEmpty() else int(known.get())

    def write_checkpoint(self, log: Any, offset: int) -> None:
        """Stores the offset at which a pass ended."""
        pair = java_class("scala.Tuple2")(log.topicPartition(), self._long.valueOf(offset))
        self._manager.updateCheckpoints(self._folder, self._some(pair), self._none)

    def log_to_clean(self, log: Any, *bounds: object) -> Any:
        """Kafka's `LogToClean` with two bounds, and True if it is overdue."""
        return self._to_clean(log.topicPartition(), log, *bounds)

    def close(self) -> None:
        """Does nothing: this release keeps its metrics until the machine ends."""

    def _cleanable(self, log: Any, now_ms: int) -> Any:
        known = self.checkpoint(log)
        last = self._none if known is None else self._some(self._long.valueOf(known))
        return self._class.cleanableOffsets(log, last, now_ms)

    def _delay_ms(self, log: Any, first_dirty_offset: int, now_ms: int) -> int:
        return int(self._class.maxCompactionDelay(log, first_dirty_offset, now_ms))
