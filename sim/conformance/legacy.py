"""A log on disk and its cleaner, as the Scala classes of Kafka 2.8 have them, before KIP-534."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sim.conformance.disk_log import KafkaPass, PassParameters, counted
from sim.conformance.jvm import java_class, private_method, proxy
from sim.conformance.modern import (
    CLEAN_SHUTDOWN,
    NEVER_MS,
    NOT_OVERDUE,
    SLOT_BYTES,
)
from sim.conformance.surroundings import Clock, Housekeeping, settings

IO_BYTES = 2**18
"""Of either I/O buffer: what is written from one gets one entry of the offset index at most."""
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

    def open_log(self, folder: Path, topic: Mapping[str, int]) -> LegacyLog:
        """The log whose segment files are in `folder`."""
        return LegacyLog(self, folder, topic)

    def in_java(self, collection: Any) -> Any:
        """A collection of Scala as one that can be walked through."""
        return self.converters.asJava(collection)


class LegacyLog:
    """One log. To be closed."""

    def __init__(self, kafka: LegacyKafka, folder: Path, topic: Mapping[str, int]) -> None:
        self._kafka = kafka
        self._folder = folder
        self._config = kafka.log_config(settings(topic), kafka.no_overrides)
        self._log = self._load()

    def append(self, batch: bytes) -> None:
        """Append one batch as a follower does."""
        records = self._kafka.records.readableRecords(self._kafka.buffer.wrap(batch))
        self._log.appendAsFollower(records)

    def roll(self) -> None:
        """Start a new active segment at the log end offset, unless the active one is empty."""
        self._log.roll(self._kafka.none)

    def reload(self) -> None:
        """Close and open the log, and read all of it for the state of its producers."""
        self.close()
        for snapshot in self._folder.glob("*.snapshot"):
            snapshot.unlink()
        self._log = self._load()

    def clean(self, parameters: PassParameters, *, capacity: int) -> KafkaPass:
        """One pass over the log, with a map of its own making that takes `capacity` keys."""
        kafka = self._kafka
        self._touch(parameters)
        cleaner = self._cleaner(capacity)
        partition = self._log.topicPartition()
        bounds = (parameters.first_dirty_offset, parameters.upper_bound, NOT_OVERDUE)
        log = kafka.log_to_clean(partition, self._log, *bounds)
        if parameters.delete_horizon_ms is None:
            done = cleaner.clean(log)
        else:
            done = cleaner.doClean(log, parameters.delete_horizon_ms)
        kafka.housekeeping.run_due()
        next_dirty_offset, stats = kafka.in_java(done.productIterator())
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
            self._config.segmentSize(),
            self._config.maxIndexSize(),
            parameters.upper_bound,
        )
        horizon_ms = self._horizon(parameters)
        for group in kafka.in_java(groups):
            cleaner.cleanSegments(self._log, group, known, horizon_ms, stats, transactions)
        kafka.housekeeping.run_due()
        return counted(latest_offset + 1, stats)

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
            modified_ns = parameters.last_modified_ms * 1_000_000
            for base, _ in self.segments():
                os.utime(self._folder / f"{base:020}.log", ns=(modified_ns, modified_ns))

    def _load(self) -> Any:
        kafka = self._kafka
        log = kafka.log.apply(
            kafka.file(str(self._folder)),
            self._config,
            0,
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
        return log

    def _cleaner(self, capacity: int) -> Any:
        """A cleaner whose map is full when it holds `capacity` keys, which is half of its slots."""
        kafka = self._kafka
        slots = 2 * capacity
        offset_map = kafka.offset_map(slots * SLOT_BYTES, "MD5")
        load = (capacity + 0.5) / slots  # Kafka cuts the fraction off, and insists on more than 1
        surroundings = (kafka.throttler, kafka.clock.time, kafka.check_done)
        return kafka.cleaner(0, offset_map, IO_BYTES, IO_BYTES, load, *surroundings)
