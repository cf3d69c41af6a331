"""The classes of a log and its cleaner in Kafka 4.1 and later, and in 2.8, before KIP-534."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tests.conformance.jvm import (
    Clock,
    Housekeeping,
    java_class,
    private_method,
    proxy,
    record_class,
    settings,
)

IO_BYTES = 2**10
"""Size of each I/O buffer; many batches are larger, for which Kafka grows its buffers."""

LARGE_IO_BYTES = 2**18
"""Size of the buffers where it matters which batches are written in one call: their largest
timestamp is the first of a segment (LogSegment.append), and until 4.0 they get one entry of the
offset index at most."""

SLOT_BYTES = 24
"""An MD5 hash and an offset (SkimpyOffsetMap)."""
NEVER_MS = 2**31 - 1
NO_VERIFICATION = False
SPEED_UP = False


class Kafka:
    """The classes of a release from 4.1 on, and objects that all logs share.

    Attributes:
        preset: The preset of Replog's rules that this release is the origin of.
        package: Where Kafka has the classes around the cleaner.
        segment_bytes: Name of the setting `segment.bytes` without a lower limit.
        io_bytes: Size of each I/O buffer of the cleaner, if it does not matter.
    """

    preset = "kafka-4.0"
    package = "storage.internals.log"
    segment_bytes = "internal.segment.bytes"
    io_bytes = IO_BYTES

    def __init__(self) -> None:
        self.cleaner_class = self.own("Cleaner")
        self.cleaner_stats = self.own("CleanerStats")
        self.pre_clean_stats = self.own("PreCleanStats")
        self.transactions = self.own("CleanedTransactionMetadata")
        self.offset_map = self.own("SkimpyOffsetMap")
        self.to_clean = self.own("LogToClean")
        self.log_config = self.own("LogConfig")
        self.records = record_class("MemoryRecords")
        self.file = java_class("java.io.File")
        self.buffer = java_class("java.nio.ByteBuffer")
        self.long = java_class("java.lang.Long")
        self.system_time = java_class("common.utils.Time").SYSTEM
        self.clock = Clock()
        self._prepare()
        self.none = self.optional(None)
        batch = record_class("RecordBatch")
        entry = self.own("ProducerStateEntry")
        self.find_duplicate = private_method(entry, "findDuplicateBatch", batch.class_)

    def _prepare(self) -> None:
        """Sets up the classes that differ between releases."""
        self.unified_log = self.own("UnifiedLog")
        self.failures = self.own("LogDirFailureChannel")(1)
        self.producers = self.own("ProducerStateManagerConfig")(NEVER_MS, NO_VERIFICATION)
        self.option = java_class("java.util.Optional")
        self.optional = self.option.ofNullable
        self.pair = java_class("java.util.Map").entry
        self.stats = java_class("storage.log.metrics.BrokerTopicStats")()
        self.housekeeping = Housekeeping("server.util.Scheduler", run="run")
        self.throttler = java_class("storage.internals.utils.Throttler")(
            math.inf, 2**62, "cleaner", "bytes", self.system_time
        )
        self.check_done = proxy("java.util.function.Consumer", {"accept": lambda _: None})
        state = self.own("ProducerStateManager").class_
        self.rebuild = private_method(
            self.unified_log, "rebuildProducerState", self.long.TYPE, state
        )
        self.deleted_by_client = self.own("LogStartOffsetIncrementReason").ClientRecordDeletion

    def own(self, name: str) -> Any:
        """A class of the package around the cleaner."""
        return java_class(f"{self.package}.{name}")

    def config(self, topic: Mapping[str, object]) -> Any:
        """Kafka's `LogConfig` of these settings."""
        return self.log_config(settings(topic))

    def in_java(self, collection: Any) -> Any:
        """A collection of the release as one of Java."""
        return collection

    def folders(self, folder: Any) -> Any:
        """A folder as the only one of a list."""
        return java_class("java.util.List").of(folder)

    def partition_logs(self) -> Any:
        """An empty map for the logs of a manager by their partitions.

        It has the order of partitions, so that it is known which of equals comes first.
        """
        partition = proxy("java.util.function.Function", {"apply": lambda of: of.partition()})
        in_order = java_class("java.util.Comparator").comparing(partition)
        return java_class("java.util.concurrent.ConcurrentSkipListMap")(in_order)

    def log_to_clean(self, log: Any, *bounds: object) -> Any:
        """Kafka's `LogToClean` with two bounds, and True if it is overdue."""
        return self.to_clean(log, *bounds)

    def read(self, batch: bytes) -> Any:
        """A batch as Kafka's `MemoryRecords`."""
        return self.records.readableRecords(self.buffer.wrap(batch))

    def cleaner(self, capacity: int, io_bytes: int) -> Any:
        """A cleaner whose map is full with `capacity` keys, which is half of its slots."""
        slots = 2 * capacity
        load = (capacity + 0.5) / slots  # Kafka cuts the fraction off, and insists on more than 1
        surroundings = (self.throttler, self.clock.time, self.check_done)
        offset_map = self.offset_map(slots * SLOT_BYTES, "MD5")
        return self.cleaner_class(0, offset_map, io_bytes, io_bytes, load, *surroundings)


class LegacyKafka(Kafka):
    """The classes of a 2.8 release, and objects that all logs share."""

    preset = "kafka-2.8"
    package = "kafka.log"
    segment_bytes = "segment.bytes"
    io_bytes = LARGE_IO_BYTES

    def _prepare(self) -> None:
        self.unified_log = self.own("Log")
        self.failures = java_class("kafka.server.LogDirFailureChannel")(1)
        self.option = java_class("scala.Option")
        self.optional = self.option.apply
        self.pair = java_class("scala.Tuple2")
        self.no_overrides = self.log_config.apply().overriddenConfigs()
        self.stats = java_class("kafka.server.BrokerTopicStats")()
        self.housekeeping = Housekeeping("kafka.utils.Scheduler", run="apply")
        self.throttler = java_class("kafka.utils.Throttler")(
            math.inf, 2**62, SPEED_UP, "cleaner", "bytes", self.system_time
        )
        self.check_done = proxy("scala.Function1", {"apply": lambda _: None})
        self.converters = java_class("scala.jdk.javaapi.CollectionConverters")
        state, flag = self.own("ProducerStateManager").class_, java_class("java.lang.Boolean").TYPE
        self.rebuild = private_method(
            self.unified_log, "rebuildProducerState", self.long.TYPE, flag, state
        )
        self.deleted_by_client = getattr(self.own("ClientRecordDeletion$"), "MODULE$")

    def config(self, topic: Mapping[str, object]) -> Any:
        """Kafka's `LogConfig` of these settings."""
        return self.log_config(settings(topic), self.no_overrides)

    def in_java(self, collection: Any) -> Any:
        """A collection of Scala as one of Java."""
        return self.converters.asJava(collection)

    def folders(self, folder: Any) -> Any:
        """A folder as the only one of a Scala sequence."""
        return self.converters.asScala(java_class("java.util.List").of(folder)).toSeq()

    def partition_logs(self) -> Any:
        """An empty map for the logs of a manager by their partitions."""
        return java_class("kafka.utils.Pool")(self.optional(None))

    def log_to_clean(self, log: Any, *bounds: object) -> Any:
        """Kafka's `LogToClean` with two bounds, and True if it is overdue."""
        return self.to_clean(log.topicPartition(), log, *bounds)
