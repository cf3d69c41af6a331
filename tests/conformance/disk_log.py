"""A log on disk and the passes of its cleaner, by the classes of a release of Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.cleaner_manager import CleanerManager
from tests.conformance.releases import LARGE_IO_BYTES, NEVER_MS, Kafka, LegacyKafka

CLEAN_SHUTDOWN = True
KEEP_METADATA = True
NOT_OVERDUE = False
NO_LEADER_EPOCH = 2**31 - 1
"""An epoch above all others, so that no batch is refused."""


class KafkaPass(NamedTuple):
    """Kafka's report on a pass; it counts records that were copied, not those of the map."""

    next_dirty_offset: int
    messages_read: int
    messages_written: int
    invalid_messages: int

    @classmethod
    def of(cls, next_dirty_offset: int, stats: Any) -> KafkaPass:
        """The pass with the counts of Kafka's `CleanerStats`."""
        read, written = int(stats.messagesRead()), int(stats.messagesWritten())
        return cls(next_dirty_offset, read, written, int(stats.invalidMessagesRead()))


class PassParameters(NamedTuple):
    """Input of a cleaning pass.

    Attributes:
        now_ms: Kafka's clock, which is read once, at the start of the pass.
        capacity: Most keys of the offset map.
        delete_horizon_ms: Pass-wide horizon in a release without one for each batch: tombstones of
            segments that were not modified after it go. None to derive it from modification times.
        first_dirty_offset: Start of the dirty section, not below the log start offset.
        upper_bound: The first uncleanable offset, a segment base.
    """

    now_ms: int
    capacity: int
    delete_horizon_ms: int | None = None
    first_dirty_offset: int = 0
    upper_bound: int = 0


class DiskLog:
    """A log of a release from 4.1 on; a subclass overrides what another release does otherwise.

    To be closed.

    Args:
        kafka: The classes of the release.
        folder: As for `Kafka.open_log`.
        topic: As for `Kafka.open_log`.
        when_cleaned: Settings of the topic during a pass.
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
        io_bytes: int,
    ) -> None:
        self._kafka = kafka
        self._folder = folder
        self._io_bytes = io_bytes
        self._config = kafka.config(topic)
        self._when_cleaned = kafka.config(when_cleaned)
        self._load(log_start=0)

    def _load(self, *, log_start: int) -> None:
        """Opens the log, and reads all of it for the state of its producers."""
        kafka = self._kafka
        self.manager = CleanerManager(kafka, self._folder.parent)
        self.raw = self._opened(
            kafka.file(str(self._folder)),
            self._config,
            log_start,
            0,
            kafka.housekeeping.scheduler,
            kafka.stats,
            kafka.clock.time,
            NEVER_MS,
        )
        producers = self.raw.producerStateManager()
        producers.truncateFullyAndStartAt(self.raw.logStartOffset())
        self._rebuild(producers)
        self.manager.add(self.raw)

    def _opened(self, *given: Any) -> Any:
        kafka = self._kafka
        more = (kafka.producers, NEVER_MS, kafka.failures, CLEAN_SHUTDOWN, kafka.none)
        return kafka.unified_log.create(*given, *more)

    def _rebuild(self, producers: Any) -> None:
        self._kafka.rebuild.invoke(self.raw, self.raw.logEndOffset(), producers)

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
        read = next(iter(self._kafka.read(batch).batches()))
        found = self._kafka.find_duplicate.invoke(entry.get(), read)
        if found.isEmpty():
            return None
        last = found.get().lastOffset  # a field until 4.1, a method since
        return int(found.get().firstOffset()), int(last() if callable(last) else last)

    def _pass(self, cleaner: Any, log: Any, parameters: PassParameters) -> KafkaPass:
        """Runs `Cleaner.doClean` over a `LogToClean`."""
        done = cleaner.doClean(log, parameters.now_ms)
        return KafkaPass.of(int(done.getKey()), done.getValue())

    def _copy(
        self, cleaner: Any, group: Any, parameters: PassParameters, horizon_ms: int, *counts: Any
    ) -> None:
        """Copies the records that the cleaner's map leaves of a group of segments.

        Args:
            cleaner: The cleaner.
            group: The segments.
            parameters: Those of the pass.
            horizon_ms: Horizon of what has none of its own, by modification times.
            counts: Statistics and transactions so far.
        """
        known, now_ms, bound = cleaner.offsetMap(), parameters.now_ms, parameters.upper_bound
        cleaner.cleanSegments(self.raw, group, known, now_ms, *counts, horizon_ms, bound)

    def _truncate_fully(self, offset: int) -> None:
        self.raw.truncateFullyAndStartAt(offset, self._kafka.none)

    def _epoch_entries(self) -> Iterable[Any]:
        entries: Iterable[Any] = self.raw.leaderEpochCache().epochEntries()
        return entries

    def reload(self) -> None:
        """Closes and opens the log."""
        log_start = int(self.raw.logStartOffset())
        self.close()
        for snapshot in self._folder.glob("*.snapshot"):
            snapshot.unlink()
        self._load(log_start=log_start)

    def clean(self, parameters: PassParameters) -> KafkaPass:
        """Runs a pass over the log with a map that it builds."""
        bounds = (parameters.first_dirty_offset, parameters.upper_bound, NOT_OVERDUE)
        return self._run(self._kafka.log_to_clean(self.raw, *bounds), parameters)

    def clean_by(
        self, parameters: PassParameters, offset_map: Mapping[bytes, int], latest_offset: int
    ) -> KafkaPass:
        """Runs a pass with a given map: the second half of `Cleaner.doClean`."""
        kafka, bound = self._kafka, parameters.upper_bound
        cleaner = kafka.cleaner(len(offset_map) + 1, self._io_bytes)
        for key, offset in offset_map.items():
            cleaner.offsetMap().put(kafka.buffer.wrap(key), offset)
        cleaner.offsetMap().updateLatestOffset(latest_offset)
        covered = self.raw.logSegments(0, min(latest_offset + 1, bound))
        limits = (self._when_cleaned.segmentSize(), self._config.getInt("segment.index.bytes"))
        below = list(kafka.in_java(self.raw.logSegments(0, parameters.first_dirty_offset)))
        retention_ms = int(self._config.getLong("delete.retention.ms"))
        horizon_ms = int(below[-1].lastModified()) - retention_ms if below else 0
        stats, transactions = kafka.cleaner_stats(kafka.system_time), kafka.transactions()
        for group in kafka.in_java(cleaner.groupSegmentsBySize(covered, *limits, bound)):
            self._copy(cleaner, group, parameters, horizon_ms, stats, transactions)
        kafka.housekeeping.run_due()
        return KafkaPass.of(latest_offset + 1, stats)

    def clean_if_due(self, parameters: PassParameters) -> KafkaPass | None:
        """Runs a pass if Kafka's manager selects the log, within the bounds that it gives.

        The checkpoint of a pass that fails stays where it was (LogCleaner.cleanFilthiestLog).
        """
        selected = self.manager.select(parameters.now_ms)
        if selected is None:
            return None
        end = int(selected.firstDirtyOffset())
        try:
            done = self._run(selected, parameters)
            end = done.next_dirty_offset
        finally:
            self.manager.done_cleaning(self.raw, end)
        return done

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

    def offsets(self) -> dict[str, int]:
        """Log start, log end, high watermark and last stable offset."""
        log = self.raw
        return {
            "log_start_offset": int(log.logStartOffset()),
            "log_end_offset": int(log.logEndOffset()),
            "high_watermark": int(log.highWatermark()),
            "last_stable_offset": int(log.lastStableOffset()),
        }

    def epochs(self) -> list[list[int]]:
        """Each leader epoch with its first offset."""
        return [[int(entry.epoch()), int(entry.startOffset())] for entry in self._epoch_entries()]

    def last_sequences(self) -> dict[int, int]:
        """Last sequence of each producer in the producer state."""
        known = self._kafka.in_java(self.raw.activeProducersWithLastSequence())
        return {int(entry.getKey()): int(entry.getValue()) for entry in known.entrySet()}

    def close(self) -> None:
        """Closes all files and removes the metrics."""
        self.raw.close()
        self.raw.removeLogMetrics()
        self._kafka.housekeeping.run_due()
        self.manager.close()

    def _run(self, log: Any, parameters: PassParameters) -> KafkaPass:
        self.raw.updateConfig(self._when_cleaned)
        try:
            cleaner = self._kafka.cleaner(parameters.capacity, self._io_bytes)
            done = self._pass(cleaner, log, parameters)
        finally:
            self.raw.updateConfig(self._config)
        self._kafka.housekeeping.run_due()
        return done


class LegacyLog(DiskLog):
    """A log of a 2.8 release. To be closed."""

    _kafka: LegacyKafka

    def _opened(self, *given: Any) -> Any:
        more = (NEVER_MS, self._kafka.failures, CLEAN_SHUTDOWN, KEEP_METADATA)
        return self._kafka.unified_log.apply(*given, *more)

    def _rebuild(self, producers: Any) -> None:
        end = self.raw.logEndOffset()
        self._kafka.rebuild.invoke(self.raw, end, not CLEAN_SHUTDOWN, producers)

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

    def _pass(self, cleaner: Any, log: Any, parameters: PassParameters) -> KafkaPass:
        if parameters.delete_horizon_ms is None:
            done = cleaner.clean(log)
        else:
            done = cleaner.doClean(log, parameters.delete_horizon_ms)
        next_dirty_offset, stats = self._kafka.in_java(done.productIterator())
        return KafkaPass.of(int(next_dirty_offset), stats)

    def _copy(
        self, cleaner: Any, group: Any, parameters: PassParameters, horizon_ms: int, *counts: Any
    ) -> None:
        if parameters.delete_horizon_ms is not None:
            horizon_ms = parameters.delete_horizon_ms
        cleaner.cleanSegments(self.raw, group, cleaner.offsetMap(), horizon_ms, *counts)

    def _truncate_fully(self, offset: int) -> None:
        self.raw.truncateFullyAndStartAt(offset)

    def _epoch_entries(self) -> Iterable[Any]:
        entries: Iterable[Any] = self._kafka.in_java(
            self.raw.leaderEpochCache().get().epochEntries()
        )
        return entries


def open_log(
    kafka: Kafka,
    folder: Path,
    topic: Mapping[str, object],
    *,
    segment_bytes: int | None = None,
    io_bytes: int = LARGE_IO_BYTES,
) -> DiskLog:
    """Opens the log whose segment files are in `folder`.

    Kafka derives indexes and aborted transactions, as after a crash. It is given a clean shutdown,
    so that existing indexes stay: after cleaning, a transaction index holds more than can be
    derived from the batches. Without snapshots Kafka would then forget all producers; so it is made
    to read the whole log for them, as after a truncation.

    Args:
        kafka: The classes of the release.
        folder: Folder named `topic-partition`, with `*.log` files.
        topic: Settings of the topic, under Kafka's own names.
        segment_bytes: `segment.bytes` while it is cleaned; appends do not roll by themselves.
        io_bytes: Size of each I/O buffer of the cleaner.
    """
    small = {} if segment_bytes is None else {kafka.segment_bytes: segment_bytes}
    release = LegacyLog if isinstance(kafka, LegacyKafka) else DiskLog
    return release(kafka, folder, topic, {**topic, **small}, io_bytes)
