"""A log on disk and its cleaner, as the Java classes of Kafka 4.1 and later have them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.disk_log import IO_BYTES, Due, KafkaPass, PassParameters, counted
from tests.conformance.jvm import java_class, private_method, proxy
from tests.conformance.modern_manager import ModernManager
from tests.conformance.surroundings import Clock, Housekeeping, set_modified, settings

SLOT_BYTES = 24
"""An MD5 hash and an offset (SkimpyOffsetMap)."""
CLEAN_SHUTDOWN = True
NEVER_MS = 2**31 - 1
NO_VERIFICATION = False
NOT_OVERDUE = False


class ModernKafka:
    """The classes of a release from 4.1 on, and what all logs share."""

    preset = "kafka-4.0"

    def __init__(self) -> None:
        def internal(name: str) -> Any:
            return java_class(f"storage.internals.log.{name}")

        self.unified_log = internal("UnifiedLog")
        self.log_config = internal("LogConfig")
        self.log_to_clean = internal("LogToClean")
        self.cleaner = internal("Cleaner")
        self.cleaner_stats = internal("CleanerStats")
        self.transactions = internal("CleanedTransactionMetadata")
        self.offset_map = internal("SkimpyOffsetMap")
        self.failures = internal("LogDirFailureChannel")(1)
        self.producers = internal("ProducerStateManagerConfig")(NEVER_MS, NO_VERIFICATION)
        self.records = java_class(
            "common.record.internal.MemoryRecords", "common.record.MemoryRecords"
        )
        self.optional = java_class("java.util.Optional")
        self.file = java_class("java.io.File")
        self.buffer = java_class("java.nio.ByteBuffer")
        self.stats = java_class("storage.log.metrics.BrokerTopicStats")()
        self.clock = Clock()
        self.housekeeping = Housekeeping("server.util.Scheduler", run="run")
        self.system_time = java_class("common.utils.Time").SYSTEM
        self.throttler = java_class("storage.internals.utils.Throttler")(
            math.inf, 2**62, "cleaner", "bytes", self.system_time
        )
        self.check_done = proxy("java.util.function.Consumer", {"accept": lambda _: None})
        self.rebuild = private_method(
            self.unified_log,
            "rebuildProducerState",
            java_class("java.lang.Long").TYPE,
            internal("ProducerStateManager").class_,
        )
        self.find_duplicate = private_method(
            internal("ProducerStateEntry"),
            "findDuplicateBatch",
            java_class("common.record.internal.RecordBatch", "common.record.RecordBatch").class_,
        )

        self.deleted_by_client = internal("LogStartOffsetIncrementReason").ClientRecordDeletion

    def open_log(
        self,
        folder: Path,
        topic: Mapping[str, object],
        *,
        segment_bytes: int | None = None,
        io_bytes: int = IO_BYTES,
    ) -> ModernLog:
        """The log whose segment files are in `folder`."""
        return ModernLog(self, folder, topic, segment_bytes=segment_bytes, io_bytes=io_bytes)

    def manager(self, folder: Path) -> ModernManager:
        """A manager for the cleaner of the logs in a folder."""
        return ModernManager(folder, self.clock, self.failures)


class ModernLog:
    """One log. To be closed."""

    def __init__(
        self,
        kafka: ModernKafka,
        folder: Path,
        topic: Mapping[str, object],
        *,
        segment_bytes: int | None = None,
        io_bytes: int = IO_BYTES,
    ) -> None:
        self._kafka = kafka
        self._io_bytes = io_bytes
        self._folder = folder
        self._config = kafka.log_config(settings(topic))
        self._when_cleaned = self._config
        if segment_bytes is not None:
            small = {**topic, "internal.segment.bytes": segment_bytes}
            self._when_cleaned = kafka.log_config(settings(small))
        self._manager = kafka.manager(folder.parent)
        self._log = self._load(log_start=0)

    @property
    def unified_log(self) -> Any:
        """Kafka's `UnifiedLog`."""
        return self._log

    def append(self, batch: bytes) -> None:
        """Append one batch as a follower does."""
        records = self._kafka.records.readableRecords(self._kafka.buffer.wrap(batch))
        self._log.appendAsFollower(records, 2**31 - 1)

    def roll(self) -> None:
        """Start a new active segment at the log end offset, unless the active one is empty."""
        self._log.roll()

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
        bounds = (parameters.first_dirty_offset, parameters.upper_bound, NOT_OVERDUE)
        return self._run(self._kafka.log_to_clean(self._log, *bounds), parameters, capacity)

    def due(self, parameters: PassParameters) -> Due:
        """What Kafka's manager makes of the log; the offsets of the parameters have no meaning."""
        if parameters.last_modified_ms is not None:
            set_modified(self._folder, parameters.last_modified_ms)
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
        self._log.updateConfig(self._when_cleaned)
        try:
            done = self._cleaner(capacity).doClean(log, parameters.now_ms)
        finally:
            self._log.updateConfig(self._config)
        self._kafka.housekeeping.run_due()
        return counted(int(done.getKey()), done.getValue())

    def clean_by(
        self, parameters: PassParameters, offset_map: Mapping[bytes, int], latest_offset: int
    ) -> KafkaPass:
        """One pass with a map that is given: the second half of `Cleaner.doClean`."""
        kafka = self._kafka
        cleaner = self._cleaner(len(offset_map) + 1)
        known = cleaner.offsetMap()
        for key, offset in offset_map.items():
            known.put(kafka.buffer.wrap(key), offset)
        known.updateLatestOffset(latest_offset)
        stats, transactions = kafka.cleaner_stats(kafka.system_time), kafka.transactions()
        groups = cleaner.groupSegmentsBySize(
            self._log.logSegments(0, min(latest_offset + 1, parameters.upper_bound)),
            self._when_cleaned.segmentSize(),
            self._config.maxIndexSize,
            parameters.upper_bound,
        )
        below = list(self._log.logSegments(0, parameters.first_dirty_offset))
        retention_ms = int(self._config.deleteRetentionMs)
        legacy_horizon_ms = int(below[-1].lastModified()) - retention_ms if below else 0
        for group in groups:
            cleaner.cleanSegments(
                self._log,
                group,
                known,
                parameters.now_ms,
                stats,
                transactions,
                legacy_horizon_ms,
                parameters.upper_bound,
            )
        kafka.housekeeping.run_due()
        return counted(latest_offset + 1, stats)

    def note_checkpoint(self, offset: int) -> None:
        """A pass that the manager did not decide about ended at an offset."""
        self._manager.write_checkpoint(self._log, offset)

    def note_epochs(self, starts: Iterable[tuple[int, int]]) -> None:
        """Tell a log that was loaded for the first time which epoch starts where."""
        for epoch, start in starts:
            self._log.assignEpochStartOffset(epoch, start)

    def truncate(self, offset: int) -> None:
        """Cut the log at an offset, and lower the checkpoint as `LogManager.truncateTo` does."""
        reaches_cleaned = offset < int(self._log.activeSegment().baseOffset())
        self._log.truncateTo(offset)
        if reaches_cleaned:
            self._manager.lower_checkpoint(self._log)
        self._kafka.housekeeping.run_due()

    def truncate_fully(self, offset: int) -> None:
        """Empty the log; it starts and ends at an offset (`LogManager.truncateFullyAndStartAt`)."""
        self._log.truncateFullyAndStartAt(offset, self._kafka.optional.empty())
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
        """Forget producers that were silent for so long."""
        self._kafka.producers.setProducerIdExpirationMs(expiration_ms)
        self._log.removeExpiredProducers(now_ms)
        self._kafka.producers.setProducerIdExpirationMs(NEVER_MS)

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
                for entry in log.leaderEpochCache().epochEntries()
            ],
        }

    def segments(self) -> Iterator[tuple[int, Any]]:
        """Base offset and `FileRecords` of each segment, in order."""
        for segment in self._log.logSegments():
            yield int(segment.baseOffset()), segment.log()

    def aborted_transactions(self) -> list[Any]:
        """The entries of all transaction indexes, in the order of the segments."""
        return [
            entry
            for segment in self._log.logSegments()
            for entry in segment.txnIndex().allAbortedTxns()
        ]

    def log_end_offset(self) -> int:
        """The offset that the next batch would get."""
        return int(self._log.logEndOffset())

    def last_sequences(self) -> dict[int, int]:
        """Last sequence of each producer that the log knows."""
        known = self._log.activeProducersWithLastSequence()
        return {int(entry.getKey()): int(entry.getValue()) for entry in known.entrySet()}

    def duplicate(self, batch: bytes, *, producer_id: int) -> tuple[int, int] | None:
        """First and last offset of the batch in the log that this one repeats, if Kafka knows."""
        entry = self._log.producerStateManager().lastEntry(producer_id)
        if not entry.isPresent():
            return None
        records = self._kafka.records.readableRecords(self._kafka.buffer.wrap(batch))
        asked = next(iter(records.batches()))
        found = self._kafka.find_duplicate.invoke(entry.get(), asked)
        if not found.isPresent():
            return None
        metadata = found.get()
        last = metadata.lastOffset  # a field until 4.1, a method since
        return int(metadata.firstOffset()), int(last() if callable(last) else last)

    def close(self) -> None:
        """Close all files."""
        self._close_files()
        self._manager.close()

    def _close_files(self) -> None:
        self._log.close()
        self._log.removeLogMetrics()
        self._kafka.housekeeping.run_due()

    def _load(self, *, log_start: int) -> Any:
        kafka = self._kafka
        log = kafka.unified_log.create(
            kafka.file(str(self._folder)),
            self._config,
            log_start,
            0,
            kafka.housekeeping.scheduler,
            kafka.stats,
            kafka.clock.time,
            NEVER_MS,
            kafka.producers,
            NEVER_MS,
            kafka.failures,
            CLEAN_SHUTDOWN,
            kafka.optional.empty(),
        )
        producers = log.producerStateManager()
        producers.truncateFullyAndStartAt(log.logStartOffset())
        kafka.rebuild.invoke(log, log.logEndOffset(), producers)
        self._manager.add(log)
        return log

    def _cleaner(self, capacity: int) -> Any:
        """A cleaner whose map is full when it holds `capacity` keys, which is half of its slots."""
        kafka = self._kafka
        slots = 2 * capacity
        offset_map = kafka.offset_map(slots * SLOT_BYTES)
        load = (capacity + 0.5) / slots  # Kafka cuts the fraction off, and insists on more than 1
        surroundings = (kafka.throttler, kafka.clock.time, kafka.check_done)
        io = (self._io_bytes, self._io_bytes)
        return kafka.cleaner(0, offset_map, *io, load, *surroundings)
