"""The log of a file as far as it was read: its ends, and what cannot follow on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sim.files.document import Complaints, Place
from sim.log import Batch
from sim.logfile.batches import BatchLine, batch_of
from sim.logfile.rules import LogRules


class LogSoFar:
    """Where the log of a file starts and ends after what was read, and what cannot follow on it.

    Attributes:
        rules: The rules of the file.
        start: Where the log starts.
        end: Where the log ends (exclusive); cleaning and rolling do not move it.
        sure: Whether all of it could be read so far; otherwise nobody knows what cannot follow.
    """

    def __init__(self, rules: LogRules, wrong: Complaints) -> None:
        """What is wrong is told to `wrong`."""
        self.rules = rules
        self.start = self.end = 0
        self._committed: int | None = None  # None: all of the log
        self.sure = True
        self._wrong = wrong
        self._plain: dict[int, int] = {}
        self._open: set[int] = set()

    @contextmanager
    def telling(self) -> Iterator[None]:
        """A part is read; what is wrong with it is told, and what follows not compared with it."""
        before = len(self._wrong.told)
        with self._wrong:
            yield
        self.sure = self.sure and len(self._wrong.told) == before

    def batches(self, lines: Sequence[BatchLine], place: Place) -> tuple[Batch, ...]:
        """Batches, which are now the end of the log."""
        found: list[Batch] = []
        for index, line in enumerate(lines):
            with self.telling():
                batch = batch_of(line, place.at(index), self.rules)
                self._take(batch, place.at(index))
                found.append(batch)
        return tuple(found)

    def _take(self, batch: Batch, place: Place) -> None:
        """Raise BadInput if the batch at `place` cannot follow; else it is part of the history."""
        if self.sure and batch.base_offset < self.end:
            text = f"{batch.base_offset} is below {self.end}, where what comes before it ends"
            place.at("base_offset").fail(text)
        producer, is_marker = batch.producer_id, batch.control is not None
        if self.sure and is_marker and producer in self._plain.keys() - self._open:
            place.at("control").fail(
                f"{batch.control} without a transaction: producer {producer} writes outside "
                f"transactions, as at offset {self._plain[producer]}"
            )
        if is_marker:
            self._open.discard(producer)
        elif batch.transactional:
            self._open.add(producer)
        elif producer >= 0:
            self._plain.setdefault(producer, batch.base_offset)
        self.end = batch.last_offset + 1

    def truncate(self, offset: int) -> None:
        """The log ends at `offset`."""
        self.end = offset
        self.start = min(self.start, offset)
        if self._committed is not None:
            self._committed = min(self._committed, offset)

    def begin_at(self, offset: int) -> None:
        """The log starts and ends at `offset`, and is committed as far."""
        self.start = self.end = offset
        if self._committed is not None:
            self._committed = offset

    def commit(self, offset: int, place: Place) -> None:
        """What is below `offset` is committed. Raises BadInput unless the log reaches to it."""
        if self.sure and offset > self.end:
            place.fail(f"{offset} is above the log end offset, {self.end}")
        if self.sure and offset < self.start:
            place.fail(f"{offset} is below the log start offset, {self.start}")
        self._committed = offset

    def delete(self, before: int, place: Place) -> None:
        """The log starts at `before`. Raises BadInput if what is deleted is not committed."""
        committed = self.end if self._committed is None else self._committed
        if self.sure and before > committed:
            place.fail(f"{before} is above the high watermark, {committed}")
        self.start = max(self.start, before)
