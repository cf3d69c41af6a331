"""A partition as its files, or a dump of them, have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sim.errors import BadInput
from sim.simulate.partition.damage import Damaged, FilesChanged
from sim.simulate.partition.records import Detail, Stored
from sim.simulate.partition.segments import PartitionSegment
from sim.simulate.partition.small_files import KnownProducer


@dataclass(frozen=True)
class Partition:
    """A partition as it is on a broker's disk.

    Attributes:
        name: Topic and number, such as `orders-0`.
        place: Its folder, or the dump.
        segments: In order; the last one is active.
        log_start: The log start offset by its checkpoint (inclusive); None if none is known.
        committed: The high watermark by its checkpoint (exclusive); None if none is known.
        checkpoint: The cleaner's checkpoint, its first dirty offset; None before the first pass.
        epochs: Start offset of each epoch in the leader epoch cache.
        producers: Producers in the newest snapshot of their state.
        topic_id: Id of the topic; None if none is known.
        notes: Lines about what is no damage, and should be known.
        is_replaced: Checks whether a segment is not the file any more that it was.
    """

    name: str
    place: Path
    segments: Sequence[PartitionSegment]
    log_start: int | None = None
    committed: int | None = None
    checkpoint: int | None = None
    epochs: dict[int, int] = field(default_factory=dict)
    producers: Sequence[KnownProducer] = ()
    topic_id: str | None = None
    notes: tuple[str, ...] = ()
    is_replaced: Callable[[], bool] = field(default=lambda: False, compare=False)

    def batches(self, detail: Detail) -> Iterator[tuple[PartitionSegment, Stored]]:
        """Every batch with its segment, in order.

        Raises:
            Damaged: A batch is not as it was written, segments overlap, or the log is cut off below
                its high watermark.
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
        end, first = 0, self.segments[0].base_offset
        if self.log_start is not None and self.log_start < first:
            text = f"a segment is missing, or in remote storage: the log starts at {self.log_start}"
            raise Damaged(self.place, f"{text}, the first one at {first}")
        for segment in self.segments:
            if segment.base_offset < end:
                raise Damaged(segment.path, f"begins below {end}, where the one before it ends")
            end = segment.base_offset
            for stored in segment.read(detail):
                first, last = stored.batch.base_offset, stored.batch.last_offset
                if not end <= first <= last:
                    text = f"a batch has offsets {first} to {last}, and begins below {end}"
                    raise Damaged(segment.path, text, position=stored.position)
                yield segment, stored
                end = last + 1
        last_one = self.segments[-1]
        if last_one.whole_bytes < last_one.size_bytes and end < (self.committed or 0):
            text = f"whole batches end at offset {end}, below the high watermark {self.committed}"
            raise Damaged(last_one.path, text, position=last_one.whole_bytes)

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""
        return sum(one.size_bytes for one in self.segments)

    @property
    def topic(self) -> str:
        """Name of its topic."""
        return self.name.rpartition("-")[0]
