"""A log on disk and its cleaner, as the Scala classes of Kafka 2.8 have them, before KIP-534."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.disk_log import (
    IO_BYTES,
    LARGE_IO_BYTES,
    Due,
    KafkaPass,
    PassParameters,
    counted,
)
from tests.conformance.jvm import java_class, private_method, proxy
from tests.conformance.legacy_manager import LegacyManager
from tests.conformance.modern import (
    CLEAN_SHUTDOWN,
    NEVER_MS,
    NOT_OVERDUE,
    SLOT_BYTES,
)
from tests.conformance.surroundings import Clock, Housekeeping, set_modified, settings

KEEP_METADATA = True
SPEED_UP = False


class LegacyKafka:
    """The classes of a 2.8 release, and what all logs share."""

    preset = "kafka-2.8"

    def __init__(self) -> None:
        self.log = java_class("kafka.log.Log")
        self.log_config = java_class("kafka.log.LogConfig")
        self.log_to_clean = java_class("kafka.log.LogToClean")
        self.cleaner = java_class("kafka.log.Cleaner")
        self.cleaner_stats = java_class("kafka.log.CleanerStats")
        self.transactions = java_class("kafka.log.CleanedTransactionMetadata")
        self.offset_map = java_class("kafka.log.SkimpyOffsetMap")
        self.failures = java_class("kafka.server.LogDirFailureChannel")(1)
        self.stats = java_class("kafka.server.BrokerTopicStats")()
        self.partition = java_class("common.TopicPartition")
        self.records = java_class("common.record.MemoryRecords")
        self.file = java_class("java.io.File")
        self.buffer = java_class("java.nio.ByteBuffer")
        self.none = java_class("scala.Option").empty()
        self.no_overrides = self.log_config.apply().overriddenConfigs()
        self.converters = java_class("scala.jdk.javaapi.CollectionConverters")
        self.clock = Clock()
        self.housekeeping = Housekeeping("kafka.utils.Scheduler", run="apply")
        self.system_time = java_class("common.utils.Time").SYSTEM
        self.throttler = java_class("kafka.utils.Throttler")(
            math.inf, 2**62, SPEED_UP, "cleaner", "bytes", self.system_time
        )
        self.check_done = proxy("scala.Function1", {"apply": lambda _: None})
        self.rebuild = private_method(
            self.log,
            "rebuildProducerState",
            java_class("java.lang.Long").TYPE,
            java_class("java.lang.Boolean").TYPE,
            java_class("kafka.log.ProducerStateManager").class_,
        )

        self.deleted_by_client = getattr(java_class("kafka.log.ClientRecordDeletion$"), "MODULE$")

    def open_log(
        self,
        folder: Path,
        topic: Mapping[str, object],
        *,
        segment_bytes: int | None = None,
        io_bytes: int = IO_BYTES,
    ) -> LegacyLog:
        """The log whose segment files are in `folder`; the I/O buffers are always large."""
        del io_bytes
        return LegacyLog(self, folder, topic, segment_bytes=segment_bytes)

    def manager(self, folder: Path) -> LegacyManager:
        """A manager for the cleaner of the logs in a folder."""
        return LegacyManager(folder, self.clock, self.failures)

    def in_java(self, collection: Any) -> Any:
        """A collection of Scala as one that can be walked through."""
        return self.converters.asJava(collection)


class LegacyLog:
    """One log. To be closed."""

    def __init__(
        self,
        kafka: LegacyKafka,
        folder: Path,
        topic: Mapping[str, object],
        *,
        segment_bytes: int | None = None,
    ) -> None:
        self._kafka = kafka
        self._folder = folder
        self._config = kafka.log_config(settings(topic), kafka.no_overrides)
        self._when_cleaned = self._config
        if segment_bytes is not None:
            small = settings({**topic, "segment.bytes": segment_bytes})
            self._when_cleaned = kafka.log_config(small, kafka.no_overrides)
        self._manager = kafka.manager(folder.parent)
        self._log = self._load(log_start=0)

    def append(self, batch: bytes) -> None:
        """Append one batch as a follower does."""
        records = self._kafka.records.readableRecords(self._kafka.buffer.wrap(batch))
        self._log.appendAsFollower(records)

    def roll(self) -> None:
        """Start a new active segment at the log end offset, unless the active one is empty."""
        self._log.roll(self._kafka.none)

    def reload(self) -> None:
        """Close and open the log, and read all of it for the state of its producers."""
        log_start = int(self._log.logStartOffset())
        self._close_files()
        for snapshot in self._folder.glob("*.snapshot"):
            snapshot.unlink()
        self._manager.close()
        self._manager = self._kafka.manager(self._folder.parent)
        self._log = self._load(log_start=log_start)

    def clean(self, parameters: PassParameters, *, capacity: int) -> KafkaPass:
        """One pass over the log, with a map of its own making that takes `capacity` keys."""
        self._touch(parameters)
        bounds = (parameters.first_dirty_offset, parameters.upper_bound, NOT_OVERDUE)
        log = self._kafka.log_to_clean(self._log.topicPartition(), self._log, *bounds)
        return self._run(log, parameters, capacity)

    def due(self, parameters: PassParameters) -> Due:
        """What Kafka's manager makes of the log; the offsets of the parameters have no meaning."""
        self._touch(parameters)
        return self._manager.due(self._log, parameters.now_ms)

    def clean_if_due(self, parameters: PassParameters, *, capacity: int) -> KafkaPass | None:
        """One pass, if Kafka's manager selects the log; from where and up to where it says."""
        return self._manager.clean_selected(
            self._log,
            parameters.now_ms,
            lambda selected: self._run(selected, parameters, capacity),
        )

    def note_uncleanable(self) -> None:
        """A pass that the manager did not decide about failed."""
        self._manager.set_uncleanable(self._log)

    def _run(self, log: Any, parameters: PassParameters, capacity: int) -> KafkaPass:
        cleaner = self._cleaner(capacity)
        self._log.updateConfig(self._when_cleaned)
        try:
            if parameters.delete_horizon_ms is None:
                done = cleaner.clean(log)
            else:
                done = cleaner.doClean(log, parameters.delete_horizon_ms)
        finally:
            self._log.updateConfig(self._config)
        self._kafka.housekeeping.run_due()
        next_dirty_offset, stats = self._kafka.in_java(done.productIterator())
        return counted(int(next_dirty_offset), stats)

    def clean_by(
        self, parameters: PassParameters, offset_map: Mapping[bytes, int], latest_offset: int
    ) -> KafkaPass:
        """One pass with a map that is given: the second half of `Cleaner.doClean`."""
        kafka = self._kafka
        self._touch(parameters)
        cleaner = self._cleaner(len(offset_map) + 1)
        known = cleaner.offsetMap()
        for key, offset in offset_map.items():
            known.put(kafka.buffer.wrap(key), offset)
        known.updateLatestOffset(latest_offset)
        stats, transactions = kafka.cleaner_stats(kafka.system_time), kafka.transactions()
        groups = cleaner.groupSegmentsBySize(
            self._log.logSegments(0, min(latest_offset + 1, parameters.upper_bound)),
            self._when_cleaned.segmentSize(),
            self._config.maxIndexSize(),
            parameters.upper_bound,
        )
        horizon_ms = self._horizon(parameters)
        for group in kafka.in_java(groups):
            cleaner.cleanSegments(self._log, group, known, horizon_ms, stats, transactions)
        kafka.housekeeping.run_due()
        return counted(latest_offset + 1, stats)

    def note_checkpoint(self, offset: int) -> None:
        """A pass that the manager did not decide about ended at an offset."""
        self._manager.write_checkpoint(self._log, offset)

    def note_epochs(self, starts: Iterable[tuple[int, int]]) -> None:
        """Tell a log that was loaded for the first time which epoch starts where."""
        for epoch, start in starts:
            self._log.maybeAssignEpochStartOffset(epoch, start)

    def truncate(self, offset: int) -> None:
        """Cut the log at an offset, and lower the checkpoint as `LogManager.truncateTo` does."""
        reaches_cleaned = offset < int(self._log.activeSegment().baseOffset())
        self._log.truncateTo(offset)
        if reaches_cleaned:
            self._manager.lower_checkpoint(self._log)
        self._kafka.housekeeping.run_due()

    def truncate_fully(self, offset: int) -> None:
        """Empty the log; it starts and ends at an offset (`LogManager.truncateFullyAndStartAt`)."""
        self._log.truncateFullyAndStartAt(offset)
        self._manager.lower_checkpoint(self._log)
        self._kafka.housekeeping.run_due()

    def set_high_watermark(self, offset: int) -> None:
        """What is below an offset is committed."""
        self._log.updateHighWatermark(offset)

    def delete_records(self, before: int) -> None:
        """Let the log start at an offset, at the high watermark at most."""
        before = min(before, int(self._log.highWatermark()))
        self._log.maybeIncrementLogStartOffset(before, self._kafka.deleted_by_client)

    def delete_old_segments(self) -> None:
        """Delete what lies below the log start."""
        self._log.deleteOldSegments()
        self._kafka.housekeeping.run_due()

    def expire_producers(self, *, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that were silent for so long.

        This release takes its setting once for all, `NEVER_MS` here; so the clock is moved.
        """
        self._log.producerStateManager().removeExpiredProducers(now_ms - expiration_ms + NEVER_MS)

    def offsets(self) -> dict[str, Any]:
        """Log start, high watermark, last stable offset, checkpoint, and the epochs' starts."""
        log = self._log
        return {
            "log_start_offset": int(log.logStartOffset()),
            "high_watermark": int(log.highWatermark()),
            "last_stable_offset": int(log.lastStableOffset()),
            "checkpoint": self._manager.checkpoint(log),
            "epochs": [
                [int(entry.epoch()), int(entry.startOffset())]
                for entry in self._kafka.in_java(log.leaderEpochCache().get().epochEntries())
            ],
        }

    def segments(self) -> Iterator[tuple[int, Any]]:
        """Base offset and `FileRecords` of each segment, in order."""
        for segment in self._segments():
            yield int(segment.baseOffset()), segment.log()

    def aborted_transactions(self) -> list[Any]:
        """The entries of all transaction indexes, in the order of the segments."""
        return [
            entry
            for segment in self._segments()
            for entry in self._kafka.in_java(segment.txnIndex().allAbortedTxns())
        ]

    def log_end_offset(self) -> int:
        """The offset that the next batch would get."""
        return int(self._log.logEndOffset())

    def last_sequences(self) -> dict[int, int]:
        """Last sequence of each producer that the log knows."""
        known = self._kafka.in_java(self._log.activeProducersWithLastSequence())
        return {int(entry.getKey()): int(entry.getValue()) for entry in known.entrySet()}

    def duplicate(self, batch: bytes, *, producer_id: int) -> tuple[int, int] | None:
        """First and last offset of the batch in the log that this one repeats, if Kafka knows."""
        entry = self._log.producerStateManager().lastEntry(producer_id)
        if entry.isEmpty():
            return None
        records = self._kafka.records.readableRecords(self._kafka.buffer.wrap(batch))
        found = entry.get().findDuplicateBatch(next(iter(records.batches())))
        if found.isEmpty():
            return None
        return int(found.get().firstOffset()), int(found.get().lastOffset())

    def close(self) -> None:
        """Close all files."""
        self._close_files()
        self._manager.close()

    def _close_files(self) -> None:
        self._log.close()
        self._log.removeLogMetrics()
        self._kafka.housekeeping.run_due()

    def _segments(self) -> Iterable[Any]:
        segments: Iterable[Any] = self._kafka.in_java(self._log.logSegments())
        return segments

    def _horizon(self, parameters: PassParameters) -> int:
        """The horizon that is given, else what `Cleaner.clean` makes of modification times."""
        if parameters.delete_horizon_ms is not None:
            return parameters.delete_horizon_ms
        below = list(self._kafka.in_java(self._log.logSegments(0, parameters.first_dirty_offset)))
        retention_ms = self._config.deleteRetentionMs()
        return int(below[-1].lastModified()) - int(retention_ms) if below else 0

    def _touch(self, parameters: PassParameters) -> None:
        if parameters.last_modified_ms is not None:
            set_modified(self._folder, parameters.last_modified_ms)

    def _load(self, *, log_start: int) -> Any:
        kafka = self._kafka
        log = kafka.log.apply(
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
        self._manager.add(log)
        return log

    def _cleaner(self, capacity: int) -> Any:
        """A cleaner whose map is full when it holds `capacity` keys, which is half of its slots."""
        kafka = self._kafka
        slots = 2 * capacity
        offset_map = kafka.offset_map(slots * SLOT_BYTES, "MD5")
        load = (capacity + 0.5) / slots  # Kafka cuts the fraction off, and insists on more than 1
        surroundings = (kafka.throttler, kafka.clock.time, kafka.check_done)
        return kafka.cleaner(0, offset_map, LARGE_IO_BYTES, LARGE_IO_BYTES, load, *surroundings)
