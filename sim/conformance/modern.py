"""A log on disk and its cleaner, as the Java classes of Kafka 4.1 and later have them.

What is done to a log here is what Kafka does: a log is loaded from its segment files as after a
crash, so that Kafka derives indexes and the aborted transactions; it is appended to as a follower
appends what it fetched; it is cleaned by `Cleaner.doClean` between bounds that are given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sim.conformance.jvm import java_class, private_field, private_method, proxy
from sim.conformance.surroundings import Clock, Housekeeping, settings

INTERNALS = "storage.internals.log"
IO_BYTES = 2**18
LOAD = 0.5
"""Of an offset map's slots that may be used: a map of 2 n slots takes exactly n keys."""


NO_VERIFICATION = False
NOT_OVERDUE = False
CLEAN_SHUTDOWN = True
NEVER_MS = 2**31 - 1


class Pass(NamedTuple):
    """What Kafka reports of one cleaning pass."""

    next_dirty_offset: int
    messages_read: int
    messages_written: int
    invalid_messages: int


class ModernKafka:
    """The classes of a release, and what all logs share."""

    def __init__(self) -> None:
        def internal(name: str) -> Any:
            return java_class(f"{INTERNALS}.{name}")

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
        self.housekeeping = Housekeeping("server.util.Scheduler")
        system = java_class("common.utils.Time").SYSTEM
        self.throttler = java_class("storage.internals.utils.Throttler")(
            math.inf, 2**62, "cleaner", "bytes", system
        )
        self.system_time = system
        self.local_log = private_field(self.unified_log, "localLog")
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
        self.check_done = proxy("java.util.function.Consumer", {"accept": lambda _: None})

    def open_log(self, folder: Path, *, retention_ms: int) -> ModernLog:
        """The log whose segment files are in `folder`.

        Args:
            folder: Named `topic-partition`, and it holds `*.log` files.
            retention_ms: `delete.retention.ms` of the topic.
        """
        return ModernLog(self, folder, retention_ms=retention_ms)


class ModernLog:
    """One log. To be closed."""

    def __init__(self, kafka: ModernKafka, folder: Path, *, retention_ms: int) -> None:
        self._kafka = kafka
        self._folder = folder
        self._config = kafka.log_config(settings({"delete.retention.ms": retention_ms}))
        self._log = self._load()

    def append(self, batch: bytes) -> None:
        """Append one batch as a follower does.

        One at a time: where many batches come in one fetch, Kafka notes transactions that a later
        batch of the same fetch opens in the last stable offset of those that an earlier one ends.
        """
        records = self._kafka.records.readableRecords(self._kafka.buffer.wrap(batch))
        self._log.appendAsFollower(records, 2**31 - 1)

    def roll(self) -> None:
        """Start a new active segment at the log end offset, unless the active one is empty."""
        self._log.roll()

    def reload(self) -> None:
        """Close and open the log, and read all of it for the state of its producers."""
        self.close()
        for snapshot in self._folder.glob("*.snapshot"):
            snapshot.unlink()
        self._log = self._load()

    def clean(
        self, *, now_ms: int, first_dirty_offset: int, upper_bound: int, capacity: int
    ) -> Pass:
        """One pass over the log, with a map of its own making that takes `capacity` keys."""
        kafka = self._kafka
        cleaner = self._cleaner(kafka.offset_map(24 * math.ceil(capacity / LOAD)))
        log = kafka.log_to_clean(self._log, first_dirty_offset, upper_bound, NOT_OVERDUE)
        done = cleaner.doClean(log, now_ms)
        kafka.housekeeping.run_due()
        return _pass(int(done.getKey()), done.getValue())

    def clean_by(
        self, offset_map: Mapping[bytes, int], latest_offset: int, *, now_ms: int, upper_bound: int
    ) -> Pass:
        """One pass with a map that is given: the second half of `Cleaner.doClean`."""
        kafka = self._kafka
        known = kafka.offset_map(24 * math.ceil((len(offset_map) + 1) / LOAD))
        for key, offset in offset_map.items():
            known.put(kafka.buffer.wrap(key), offset)
        known.updateLatestOffset(latest_offset)
        cleaner = self._cleaner(known)
        stats, transactions = kafka.cleaner_stats(kafka.system_time), kafka.transactions()
        end = min(latest_offset + 1, upper_bound)
        groups = cleaner.groupSegmentsBySize(
            self._log.logSegments(0, end),
            self._config.segmentSize(),
            self._config.maxIndexSize,
            upper_bound,
        )
        for group in groups:
            cleaner.cleanSegments(
                self._log, group, known, now_ms, stats, transactions, 0, upper_bound
            )
        kafka.housekeeping.run_due()
        return _pass(latest_offset + 1, stats)

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
        return int(found.get().firstOffset()), int(found.get().lastOffset())

    def close(self) -> None:
        """Close all files."""
        self._log.close()
        self._log.removeLogMetrics()
        self._kafka.housekeeping.run_due()

    def _load(self) -> Any:
        """Open the log; Kafka indexes what has no index yet.

        A clean shutdown is claimed, so that indexes that are there stay: a transaction index holds
        what the batches alone would not tell after cleaning. For want of snapshots Kafka would
        then forget all producers; so it is told to read the whole log for them, as it does after
        a truncation.
        """
        kafka = self._kafka
        log = kafka.unified_log.create(
            kafka.file(str(self._folder)),
            self._config,
            0,
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
        return log

    def _cleaner(self, offset_map: Any) -> Any:
        kafka = self._kafka
        return kafka.cleaner(
            0, offset_map, IO_BYTES, IO_BYTES, LOAD, kafka.throttler, kafka.clock.time,
            kafka.check_done,
        )  # fmt: skip


def _pass(next_dirty_offset: int, stats: Any) -> Pass:
    return Pass(
        next_dirty_offset,
        int(stats.messagesRead()),
        int(stats.messagesWritten()),
        int(stats.invalidMessagesRead()),
    )
