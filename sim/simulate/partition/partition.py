"""A partition as its files, or a dump of them, have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sim.errors import BadInput
from sim.protocol.log import AbortedTransaction
from sim.simulate.partition.damage import Damaged, FilesChanged
from sim.simulate.partition.segments import Detail, Stored
from sim.simulate.partition.small_files import KnownProducer


@dataclass(frozen=True)
class PartitionSegment:
    """A segment of a partition.

    Attributes:
        base_offset: Its first offset (inclusive).
        size_bytes: Its size on disk.
        last_modified_ms: When it was last modified, in ms; None = a dump does not say.
        aborted: Entries of its index of aborted transactions; None = no index is
            there, and the batches tell.
        read: Gives its batches in order; raises Damaged where one is not as it was written.
    """

    base_offset: int
    size_bytes: int
    last_modified_ms: int | None
    aborted: tuple[AbortedTransaction, ...] | None
    read: Callable[[Detail], Iterator[Stored]]


@dataclass(frozen=True)
class Partition:
    """A partition as it is on a broker's disk.

    Attributes:
        name: Topic and number, such as `orders-0`.
        place: Its folder, or the dump.
        segments: In order; the last one is active.
        log_start: The log start offset by its checkpoint (inclusive); None = none is known.
        committed: The high watermark by its checkpoint (exclusive); None = none is known.
        checkpoint: The cleaner's checkpoint, its first dirty offset; None = no pass was run yet.
        epochs: Epoch and start offset of each entry of the leader epoch cache.
        producers: Producers in the newest snapshot of their state.
        topic_id: Id of the topic; None = none is known.
        notes: Lines about what is no damage, and should be known.
        is_replaced: Says whether a segment is not the file any more that it was.
    """

    name: str
    place: Path
    segments: tuple[PartitionSegment, ...]
    log_start: int | None = None
    committed: int | None = None
    checkpoint: int | None = None
    epochs: tuple[tuple[int, int], ...] = ()
    producers: tuple[KnownProducer, ...] = ()
    topic_id: str | None = None
    notes: tuple[str, ...] = ()
    is_replaced: Callable[[], bool] = field(default=lambda: False, compare=False)

    def batches(self, detail: Detail) -> Iterator[tuple[PartitionSegment, Stored]]:
        """Every batch with its segment, in order.

        Raises:
            Damaged: A batch is not as it was written, or segments overlap.
            FilesChanged: The same, as segments were replaced meanwhile.
        """
        try:
            yield from self._batches(detail)
        except BadInput as error:
            if self.is_replaced():
                text = "its segments were replaced while they were read, as a cleaner does"
                raise FilesChanged(f"{self.place}: {text}: try again, or copy it first") from error
            raise

    def _batches(self, detail: Detail) -> Iterator[tuple[PartitionSegment, Stored]]:
        end = 0
        for segment in self.segments:
            if segment.base_offset < end:
                text = f"the segment at {segment.base_offset} begins below {end}, where the one"
                raise Damaged(self.place, f"{text} before it ends")
            for stored in segment.read(detail):
                first = stored.batch.base_offset
                if first < end:
                    text = f"a batch begins at offset {first}, below {end}, the end of the one"
                    raise Damaged(self.place, f"{text} before it")
                yield segment, stored
                end = stored.batch.last_offset + 1
            end = max(end, segment.base_offset)

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""
        return sum(one.size_bytes for one in self.segments)

    @property
    def topic(self) -> str:
        """Name of its topic."""
        return self.name.rpartition("-")[0]
