"""The producer state of a log: last batches, sequence numbers, open transactions (KIP-98).

Every replica keeps it as it appends, leader or follower.
Source: ProducerStateManager, ProducerStateEntry, ProducerAppendInfo.

A truncation or a restart goes back to the newest remaining snapshot and reads the log on, so it
remembers batches that are deleted or that the cleaner has taken away since, and forgets all but the
last batch of each producer.
Source: ProducerStateManager.takeSnapshot, .truncateAndReload; UnifiedLog.rebuildProducerState.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from msgspec import Struct

from sim.protocol.log.record import Batch, Control

REMEMBERED_BATCHES: Final = 5
"""Batches per producer in which a repetition is recognised (NUM_BATCHES_TO_RETAIN)."""

MAX_SEQUENCE: Final = 2**31 - 1
"""After it sequence numbers start again at 0 (DefaultRecordBatch.incrementSequence)."""


NO_EPOCH: Final = -1
"""Epoch of a producer of whom only an emptied marker is left (RecordBatch.NO_PRODUCER_EPOCH)."""


class AbortedTransaction(Struct, frozen=True, gc=False, order=True):
    """An entry of a segment's index of aborted transactions (AbortedTxn).

    Attributes:
        producer_id: Id of its producer.
        first_offset: Base offset of its first batch.
        last_offset: Offset of its ABORT marker (inclusive).
        last_stable_offset: First offset of the oldest other open transaction when the marker came,
            else the offset after the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class SentBatch(Struct, frozen=True, gc=False):
    """A data batch as its producer numbered it; all bounds are inclusive."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int


class LastRecord(Struct, frozen=True, gc=False):
    """The last batch of an active producer (UnifiedLog.lastRecordsOfActiveProducers).

    Attributes:
        offset: Last offset of its newest data batch; None when only markers came in its epoch.
        epoch: Its epoch.
    """

    offset: int | None
    epoch: int


@dataclass(slots=True)
class ProducerEntry:
    """The state of one producer id in a log.

    Attributes:
        epoch: Newest epoch of the producer.
        last_timestamp_ms: Timestamp of its newest batch or marker in ms; expiry counts from it.
        batches: Its newest data batches of this epoch, oldest first.
        open_since: Base offset of its open transaction; None without one.
    """

    epoch: int
    last_timestamp_ms: int
    batches: deque[SentBatch] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))
    open_since: int | None = None

    def snapshot(self) -> ProducerEntry:
        """A copy with the newest data batch alone."""
        newest = deque([*self.batches][-1:], maxlen=REMEMBERED_BATCHES)
        return replace(self, batches=newest)

    def sees(self, epoch: int) -> None:
        """Starts another epoch, without batches (ProducerStateEntry.maybeUpdateProducerEpoch)."""
        self.epoch = epoch
        self.batches.clear()


@dataclass(slots=True)
class ProducerStates:
    """The producers of one log by id.

    Attributes:
        producers: Those that are known and not expired.
        ended: (first offset, marker offset) of decided transactions that may still be undecided for
            readers: their marker was not below the high watermark yet.
    """

    producers: dict[int, ProducerEntry] = field(default_factory=dict)
    ended: list[tuple[int, int]] = field(default_factory=list)

    def note(self, batch: Batch) -> AbortedTransaction | None:
        """Notes an appended batch; returns the aborted transaction if its ABORT marker ends one.

        An empty control batch shows that there was a producer, but not its epoch
        (ProducerAppendInfo.append). A data batch without sequence numbers is its producer's newest,
        too.
        """
        producer_id, control = batch.producer_id, batch.control
        if producer_id < 0:
            return None
        producer = self.producers.get(producer_id)
        if control is not None and not batch.records:
            if producer is None:
                self.producers[producer_id] = ProducerEntry(NO_EPOCH, -1)
            return None
        if producer is None:
            producer = self.producers[producer_id] = ProducerEntry(
                batch.producer_epoch, batch.timestamp_ms
            )
        elif producer.epoch != batch.producer_epoch:
            producer.sees(batch.producer_epoch)
        producer.last_timestamp_ms = batch.timestamp_ms
        if control is not None:
            return self._end(producer_id, producer, batch)
        base, end, first = batch.base_offset, batch.last_offset, batch.base_sequence
        if batch.transactional and producer.open_since is None:
            producer.open_since = base
        last = first if first < 0 else advance_sequence(first, end - base)
        producer.batches.append(
            SentBatch(first_sequence=first, last_sequence=last, first_offset=base, last_offset=end)
        )
        return None

    def _end(
        self, producer_id: int, producer: ProducerEntry, marker: Batch
    ) -> AbortedTransaction | None:
        first, producer.open_since = producer.open_since, None
        if first is None:
            return None
        offset = marker.base_offset
        self.ended.append((first, offset))
        if marker.control is not Control.ABORT:
            return None
        still_open = [p.open_since for p in self.producers.values() if p.open_since is not None]
        return AbortedTransaction(
            producer_id, first, offset, min(still_open, default=marker.last_offset + 1)
        )

    def first_unstable_offset(self, below: int) -> int | None:
        """First offset of the oldest transaction without a marker below `below`; None without one.

        Transactions that are decided below it are forgotten: `below` is the high watermark, which
        does not go back but by truncation. Source: ProducerStateManager.firstUnstableOffset.
        """
        self.forget_decided(below=below)
        since = [producer.open_since for producer in self.producers.values()]
        since += [first for first, _ in self.ended]
        return min([first for first in since if first is not None], default=None)

    def forget_decided(self, *, below: int) -> None:
        """Forgets transactions whose marker is below `below`, the high watermark (exclusive).

        Source: ProducerStateManager.removeUnreplicatedTransactions.
        """
        if self.ended:
            self.ended = [pair for pair in self.ended if pair[1] >= below]

    def last_records(self) -> dict[int, LastRecord]:
        """The last batch of each producer, by producer id."""
        return {
            producer_id: LastRecord(
                producer.batches[-1].last_offset if producer.batches else None, producer.epoch
            )
            for producer_id, producer in self.producers.items()
        }

    def last_sequences(self) -> dict[int, int]:
        """Producer id -> its newest sequence number.

        -1 when its newest batch has none, or only markers came in its epoch.
        """
        return {
            producer_id: producer.batches[-1].last_sequence if producer.batches else -1
            for producer_id, producer in self.producers.items()
        }

    def overtaken(self, producer_id: int, epoch: int, first_sequence: int) -> SentBatch | None:
        """The newest batch of a producer, if it ends at or above this sequence number; else None.

        For a producer with one batch in flight, every number not above the newest is a repetition.
        In another epoch it counts from 0 again (ProducerAppendInfo.checkSequence).
        """
        producer = self.producers.get(producer_id)
        if producer is None or not producer.batches or producer.epoch != epoch:
            return None
        newest = producer.batches[-1]
        return newest if first_sequence <= newest.last_sequence else None

    def has_open(self, producer_id: int) -> bool:
        """True while the producer has a transaction open."""
        producer = self.producers.get(producer_id)
        return producer is not None and producer.open_since is not None

    def epoch_of(self, producer_id: int) -> int:
        """Newest epoch of a producer; NO_EPOCH for an unknown one."""
        producer = self.producers.get(producer_id)
        return NO_EPOCH if producer is None else producer.epoch

    def fences(self, producer_id: int, epoch: int) -> bool:
        """True when the producer has a newer epoch (ProducerAppendInfo.checkProducerEpoch)."""
        return epoch < self.epoch_of(producer_id)

    def repeated(
        self, producer_id: int, epoch: int, first_sequence: int, last_sequence: int
    ) -> SentBatch | None:
        """The remembered batch that a retry repeats (findDuplicateBatch); None without one."""
        producer = self.producers.get(producer_id)
        if producer is None or producer.epoch != epoch:
            return None
        for sent in producer.batches:
            if sent.first_sequence == first_sequence and sent.last_sequence == last_sequence:
                return sent
        return None

    def expire(self, *, now_ms: int, after_ms: int) -> tuple[int, ...]:
        """Forgets producers that were silent for `after_ms` and have no open transaction.

        Returns their ids. Source: ProducerStateManager.isProducerExpired.
        """
        silent = tuple(
            producer_id
            for producer_id, producer in self.producers.items()
            if producer.open_since is None and now_ms - producer.last_timestamp_ms >= after_ms
        )
        for producer_id in silent:
            del self.producers[producer_id]
        return silent

    def snapshot(self) -> ProducerStates:
        """A copy with no more of each producer than its newest batch and its open transaction.

        Source: ProducerStateManager.writeSnapshot, .readSnapshot.
        """
        return ProducerStates({id_: one.snapshot() for id_, one in self.producers.items()})


def advance_sequence(sequence: int, by: int) -> int:
    """The sequence number `by` after `sequence`, with its wrap from 2^31 - 1 to 0."""
    return (sequence + by) % (MAX_SEQUENCE + 1)


NOBODY: Mapping[int, LastRecord] = {}
"""No active producers."""


class ProducerSnapshots:
    """The snapshots of one log, by the offset (exclusive end) that each of them covers.

    Attributes:
        newest: Offset of the snapshot that was taken last, still there or not; no other is taken at
            or below it.
    """

    __slots__ = ("_taken", "newest")

    def __init__(self, offset: int = 0) -> None:
        """Starts without snapshots, for a log that starts at `offset`."""
        self._taken: dict[int, ProducerStates] = {}
        self.newest = offset

    @property
    def offsets(self) -> list[int]:
        """The offsets of the remaining snapshots, in ascending order."""
        return sorted(self._taken)

    def take(self, offset: int, producers: ProducerStates) -> None:
        """Takes a snapshot, unless there was one of that offset or a higher one."""
        if offset > self.newest:
            self._taken[offset] = producers.snapshot()
            self.newest = offset

    def forget(self, bases: Iterable[int]) -> None:
        """Drops the snapshots of the segments that began at `bases`, which are gone."""
        for base in bases:
            self._taken.pop(base, None)

    def remove_strays(self, bases: Collection[int]) -> None:
        """Removes snapshots up to the last of `bases` at which no segment begins.

        Source: ProducerStateManager.removeStraySnapshots.
        """
        for offset in self.offsets:
            if offset < max(bases) and offset not in bases:
                del self._taken[offset]

    def start_at(self, offset: int) -> None:
        """Notes a higher log start, `offset` (ProducerStateManager.onLogStartOffsetIncremented)."""
        self.newest = max(self._taken, default=offset)

    def restored(self, log_start_offset: int, end: int) -> tuple[int, ProducerStates]:
        """The newest snapshot at or below `end` and above the log start, else an empty one.

        The offset up to which it covers the log comes first (exclusive): the log start if empty.
        Snapshots outside of that range are removed.
        """
        self._taken = {
            offset: taken
            for offset, taken in self._taken.items()
            if log_start_offset < offset <= end
        }
        self.newest = max(self._taken, default=log_start_offset)
        if not self._taken:
            return log_start_offset, ProducerStates()
        return self.newest, self._taken[self.newest].snapshot()
