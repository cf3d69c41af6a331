"""A log on disk and its cleaner, as the Java classes of Kafka 4.1 and later have them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.cleaner_manager import CleanerManager, KafkaPass
from tests.conformance.jvm import (
    Clock,
    Housekeeping,
    java_class,
    private_method,
    proxy,
    set_modified,
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
CLEAN_SHUTDOWN = True
NO_VERIFICATION = False
NOT_OVERDUE = False
NO_LEADER_EPOCH = 2**31 - 1
"""An epoch above all others, so that no batch is refused."""


class PassParameters(NamedTuple):
    """Input of a cleaning pass.

    Attributes:
        now_ms: Kafka's clock, which is read once, at the start of the pass.
        first_dirty_offset: Start of the dirty section, not below the log start offset.
        upper_bound: The first uncleanable offset, a segment base.
        delete_horizon_ms: Pass-wide horizon in a release without one for each batch: tombstones of
            segments that were not modified after it go. None to derive it from modification times.
        last_modified_ms: Modification time of all segments; None to leave them as they are.
    """

    now_ms: int
    first_dirty_offset: int
    upper_bound: int
    delete_horizon_ms: int | None = None
    last_modified_ms: int | None = None


class Kafka:
    """The classes of a release from 4.1 on, and what all logs share.

    Attributes:
        preset: The preset of Replog's rules that this release is the origin of.
    """

    preset = "kafka-4.0"
    package = "storage.internals.log"
    """Where Kafka has the classes around the cleaner."""

    def __init__(self) -> None:
        self.cleaner_class = self.own("Cleaner")
        self.cleaner_stats = self.own("CleanerStats")
        self.transactions = self.own("CleanedTransactionMetadata")
        self.offset_map = self.own("SkimpyOffsetMap")
        self.records = java_class(
            "common.record.internal.MemoryRecords", "common.record.MemoryRecords"
        )
        self.file = java_class("java.io.File")
        self.buffer = java_class("java.nio.ByteBuffer")
        self.number = java_class("java.lang.Long").TYPE
        self.system_time = java_class("common.utils.Time").SYSTEM
        self.clock = Clock()
        self._prepare()

    def _prepare(self) -> None:
        """Sets up the classes that differ between releases."""
        self.unified_log = self.own("UnifiedLog")
        self.log_config = self.own("LogConfig")
        self.failures = self.own("LogDirFailureChannel")(1)
        self.producers = self.own("ProducerStateManagerConfig")(NEVER_MS, NO_VERIFICATION)
        self.none = java_class("java.util.Optional").empty()
        self.stats = java_class("storage.log.metrics.BrokerTopicStats")()
        self.housekeeping = Housekeeping("server.util.Scheduler", run="run")
        self.throttler = java_class("storage.internals.utils.Throttler")(
            math.inf, 2**62, "cleaner", "bytes", self.system_time
        )
        self.check_done = proxy("java.util.function.Consumer", {"accept": lambda _: None})
        state = self.own("ProducerStateManager").class_
        self.rebuild = private_method(self.unified_log, "rebuildProducerState", self.number, state)
        batch = java_class("common.record.internal.RecordBatch", "common.record.RecordBatch")
        entry = self.own("ProducerStateEntry")
        self.find_duplicate = private_method(entry, "findDuplicateBatch", batch.class_)
        self.deleted_by_client = self.own("LogStartOffsetIncrementReason").ClientRecordDeletion

    def own(self, name: str) -> Any:
        """A class of the package around the cleaner."""
        return java_class(f"{self.package}.{name}")

    def open_log(
        self,
        folder: Path,
        topic: Mapping[str, object],
        *,
        segment_bytes: int | None = None,
        io_bytes: int = IO_BYTES,
    ) -> DiskLog:
        """Opens the log whose segment files are in `folder`.

        Kafka derives indexes and aborted transactions, as after a crash. It is given a clean
        shutdown, so that existing indexes stay: after cleaning, a transaction index holds more
        than can be derived from the batches. Without snapshots Kafka would then forget all
        producers; so it is made to read the whole log for them, as after a truncation.

        Args:
            folder: Folder named `topic-partition`, with `*.log` files.
            topic: Settings of the topic, under Kafka's own names.
            segment_bytes: `segment.bytes` while it is cleaned; appends do not roll by themselves.
            io_bytes: Size of each I/O buffer of the cleaner.
        """
        small = {} if segment_bytes is None else {"internal.segment.bytes": segment_bytes}
        return DiskLog(self, folder, topic, small, io_bytes)

    def manager(self, folder: Path) -> CleanerManager:
        """A manager for the cleaner of the logs in a folder."""
        return CleanerManager(folder, self.clock, self.failures)

    def config(self, topic: Mapping[str, object]) -> Any:
        """Kafka's `LogConfig` of these settings."""
        return self.log_config(settings(topic))

    def read(self, batch: bytes) -> Any:
        """A batch as Kafka's `MemoryRecords`."""
        return self.records.readableRecords(self.buffer.wrap(batch))

    def cleaner(self, capacity: int, io_bytes: int) -> Any:
        """A cleaner whose map is full with `capacity` keys, which is half of its slots."""
        slots = 2 * capacity
        load = (capacity + 0.5) / slots  # Kafka cuts the fraction off, and insists on more than 1
        surroundings = (self.throttler, self.clock.time, self.check_done)
        offset_map = self._map(slots * SLOT_BYTES)
        return self.cleaner_class(0, offset_map, io_bytes, io_bytes, load, *surroundings)

    def _map(self, size_bytes: int) -> Any:
        return self.offset_map(size_bytes)


class DiskLog:
    """A log of a release from 4.1 on; a subclass overrides what another release does otherwise.

    To be closed.

    Args:
        kafka: The classes of the release.
        folder: As for `Kafka.open_log`.
        topic: As for `Kafka.open_log`.
        when_cleaned: Settings that hold during a pass alone.
        io_bytes: Size of each I/O buffer of the cleaner.

    Attributes:
        raw: Kafka's own `UnifiedLog` object.
        manager: The manager of its cleaner.
    """

    def __init__(
        self,
        kafka: Kafka,
        folder: Path,
        topic: Mapping[str, object],
        when_cleaned: Mapping[str, object],
        io_bytes: int = LARGE_IO_BYTES,
    ) -> None:
        self._kafka = kafka
        self._folder = folder
        self._io_bytes = io_bytes
        self._config = kafka.config(topic)
        self._when_cleaned = kafka.config({**topic, **when_cleaned})
        self.manager = kafka.manager(folder.parent)
        self.raw = self._load(log_start=0)

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
            kafka.none,
        )
        producers = log.producerStateManager()
        producers.truncateFullyAndStartAt(log.logStartOffset())
        kafka.rebuild.invoke(log, log.logEndOffset(), producers)
        self.manager.add(log)
        return log

    def append(self, batch: bytes) -> None:
        """Appends one batch as a follower does.

        Batches are appended one by one: the last stable offset of a transaction that ends in a
        fetch would depend on transactions that later batches of the same fetch open.
        """
        self.raw.appendAsFollower(self._kafka.read(batch), NO_LEADER_EPOCH)

    def roll(self) -> None:
        """Begins a new active segment at the log end offset, unless the active one is empty."""
        self.raw.roll()

    def note_epochs(self, starts: Iterable[tuple[int, int]]) -> None:
        """Sets the leader epochs of a log that was loaded for the first time."""
        for epoch, start in starts:
            self.raw.assignEpochStartOffset(epoch, start)

    def expire_producers(self, *, now_ms: int, expiration_ms: int) -> None:
        """Forgets producers that were silent for `expiration_ms`."""
        self._kafka.producers.setProducerIdExpirationMs(expiration_ms)
        self.raw.removeExpiredProducers(now_ms)
        self._kafka.producers.setProducerIdExpirationMs(NEVER_MS)

    def duplicate(self, batch: bytes, *, producer_id: int) -> tuple[int, int] | None:
        """First and last offset of the batch that this one repeats; None if Kafka finds none."""
        entry = self.raw.producerStateManager().lastEntry(producer_id)
        if entry.isEmpty():
            return None
        found = self._repeated(entry.get(), next(iter(self._kafka.read(batch).batches())))
        if found.isEmpty():
            return None
        last = found.get().lastOffset  # a field until 4.1, a method since
        return int(found.get().firstOffset()), int(last() if callable(last) else last)

    def _repeated(self, producer: Any, batch: Any) -> Any:
        return self._kafka.find_duplicate.invoke(producer, batch)

    def _pass(self, cleaner: Any, log: Any, parameters: PassParameters) -> KafkaPass:
        """Runs `Cleaner.doClean` over a `LogToClean`."""
        done = cleaner.doClean(log, parameters.now_ms)
        return KafkaPass.of(int(done.getKey()), done.getValue())

    def _copy(self, cleaner: Any, known: Any, segments: Any, parameters: PassParameters) -> Any:
        """Copies the records that a map leaves of segments, as `Cleaner.doClean` does."""
        kafka, bound = self._kafka, parameters.upper_bound
        stats, transactions = kafka.cleaner_stats(kafka.system_time), kafka.transactions()
        limits = (self._when_cleaned.segmentSize(), self._config.maxIndexSize, bound)
        below = list(self.raw.logSegments(0, parameters.first_dirty_offset))
        retention_ms = int(self._config.deleteRetentionMs)
        legacy_horizon_ms = int(below[-1].lastModified()) - retention_ms if below else 0
        for group in cleaner.groupSegmentsBySize(segments, *limits):
            input_ = (parameters.now_ms, stats, transactions, legacy_horizon_ms, bound)
            cleaner.cleanSegments(self.raw, group, known, *input_)
        return stats

    def _truncate_fully(self, offset: int) -> None:
        self.raw.truncateFullyAndStartAt(offset, self._kafka.none)

    def _epoch_entries(self) -> Iterable[Any]:
        entries: Iterable[Any] = self.raw.leaderEpochCache().epochEntries()
        return entries

    def _walked(self, collection: Any) -> Any:
        """A collection of the release as one that Python can iterate over."""
        return collection

    def reload(self) -> None:
        """Closes and opens the log, and reads all of it for the state of its producers."""
        log_start = int(self.raw.logStartOffset())
        self._close_files()
        for snapshot in self._folder.glob("*.snapshot"):
            snapshot.unlink()
        self.manager.close()
        self.manager = self._kafka.manager(self._folder.parent)
        self.raw = self._load(log_start=log_start)

    def clean(self, parameters: PassParameters, *, capacity: int) -> KafkaPass:
        """Runs a pass over the log with a map that it builds, of at most `capacity` keys."""
        self.touch(parameters)
        bounds = (parameters.first_dirty_offset, parameters.upper_bound, NOT_OVERDUE)
        return self._run(self.manager.log_to_clean(self.raw, *bounds), parameters, capacity)

    def clean_by(
        self, parameters: PassParameters, offset_map: Mapping[bytes, int], latest_offset: int
    ) -> KafkaPass:
        """Runs a pass with a given map: the second half of `Cleaner.doClean`."""
        kafka = self._kafka
        self.touch(parameters)
        cleaner = kafka.cleaner(len(offset_map) + 1, self._io_bytes)
        known = cleaner.offsetMap()
        for key, offset in offset_map.items():
            known.put(kafka.buffer.wrap(key), offset)
        known.updateLatestOffset(latest_offset)
        covered_below = min(latest_offset + 1, parameters.upper_bound)
        stats = self._copy(cleaner, known, self.raw.logSegments(0, covered_below), parameters)
        kafka.housekeeping.run_due()
        return KafkaPass.of(latest_offset + 1, stats)

    def clean_if_due(self, parameters: PassParameters, *, capacity: int) -> KafkaPass | None:
        """Runs a pass if Kafka's manager selects the log, within the bounds that it gives.

        A pass that fails makes the log uncleanable (LogCleaner.cleanFilthiestLog).
        """
        return self.manager.clean_selected(
            self.raw,
            parameters.now_ms,
            lambda selected: self._run(selected, parameters, capacity),
        )

    def truncate(self, offset: int) -> None:
        """Truncates the log, and lowers the checkpoint as `LogManager.truncateTo` does."""
        reaches_cleaned = offset < int(self.raw.activeSegment().baseOffset())
        self.raw.truncateTo(offset)
        if reaches_cleaned:
            self.manager.lower_checkpoint(self.raw)
        self._kafka.housekeeping.run_due()

    def truncate_fully(self, offset: int) -> None:
        """Empties the log, to start and end at `offset` (`LogManager.truncateFullyAndStartAt`)."""
        self._truncate_fully(offset)
        self.manager.lower_checkpoint(self.raw)
        self._kafka.housekeeping.run_due()

    def delete_records(self, before: int) -> None:
        """Moves the log start to an offset, at most to the high watermark."""
        before = min(before, int(self.raw.highWatermark()))
        self.raw.maybeIncrementLogStartOffset(before, self._kafka.deleted_by_client)

    def offsets(self) -> dict[str, Any]:
        """Log start, high watermark, last stable offset, checkpoint, and the epochs' starts."""
        log = self.raw
        return {
            "log_start_offset": int(log.logStartOffset()),
            "high_watermark": int(log.highWatermark()),
            "last_stable_offset": int(log.lastStableOffset()),
            "checkpoint": self.manager.checkpoint(log),
            "epochs": [
                [int(entry.epoch()), int(entry.startOffset())] for entry in self._epoch_entries()
            ],
        }

    def last_sequences(self) -> dict[int, int]:
        """Last sequence of each producer in the producer state."""
        known = self._walked(self.raw.activeProducersWithLastSequence())
        return {int(entry.getKey()): int(entry.getValue()) for entry in known.entrySet()}

    def close(self) -> None:
        """Closes all files and removes the metrics."""
        self._close_files()
        self.manager.close()

    def _close_files(self) -> None:
        self.raw.close()
        self.raw.removeLogMetrics()
        self._kafka.housekeeping.run_due()

    def touch(self, parameters: PassParameters) -> None:
        """Sets the modification times of the segments, if the parameters have some."""
        if parameters.last_modified_ms is not None:
            set_modified(self._folder, parameters.last_modified_ms)

    def _run(self, log: Any, parameters: PassParameters, capacity: int) -> KafkaPass:
        self.raw.updateConfig(self._when_cleaned)
        try:
            done = self._pass(self._kafka.cleaner(capacity, self._io_bytes), log, parameters)
        finally:
            self.raw.updateConfig(self._config)
        self._kafka.housekeeping.run_due()
        return done
