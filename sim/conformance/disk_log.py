"""What a log on disk must be able to do, whichever release of Kafka keeps and cleans it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class PassParameters(NamedTuple):
    """What a cleaning pass is given.

    Attributes:
        now_ms: Kafka's clock; it is taken once, at the start of the pass.
        first_dirty_offset: Where the dirty section starts, not below the log start offset.
        upper_bound: The first uncleanable offset, a segment base.
        delete_horizon_ms: In a release without a horizon for each batch: deletes of segments that
            were not modified after it go. None: what that release makes of the modification times.
        last_modified_ms: When all segments were last modified; None: leave it as it is.
    """

    now_ms: int
    first_dirty_offset: int
    upper_bound: int
    delete_horizon_ms: int | None = None
    last_modified_ms: int | None = None


class KafkaPass(NamedTuple):
    """What Kafka reports of one cleaning pass; counts are those of the copying, not of the map."""

    next_dirty_offset: int
    messages_read: int
    messages_written: int
    invalid_messages: int


class DiskLog(Protocol):
    """One log on disk. To be closed."""

    def append(self, batch: bytes) -> None:
        """Append one batch as a follower does.

        One at a time: where many batches come in one fetch, Kafka notes transactions that a later
        batch of the same fetch opens in the last stable offset of those that an earlier one ends.
        """

    def roll(self) -> None:
        """Start a new active segment at the log end offset, unless the active one is empty."""

    def reload(self) -> None:
        """Close and open the log, and read all of it for the state of its producers."""

    def clean(self, parameters: PassParameters, *, capacity: int) -> KafkaPass:
        """One pass over the log, with a map of its own making that takes `capacity` keys."""

    def clean_by(
        self, parameters: PassParameters, offset_map: Mapping[bytes, int], latest_offset: int
    ) -> KafkaPass:
        """One pass with a map that is given: the second half of `Cleaner.doClean`."""

    def segments(self) -> Iterator[tuple[int, Any]]:
        """Base offset and `FileRecords` of each segment, in order."""

    def aborted_transactions(self) -> list[Any]:
        """The entries of all transaction indexes, in the order of the segments."""

    def log_end_offset(self) -> int:
        """The offset that the next batch would get."""

    def last_sequences(self) -> dict[int, int]:
        """Last sequence of each producer that the log knows."""

    def duplicate(self, batch: bytes, *, producer_id: int) -> tuple[int, int] | None:
        """First and last offset of the batch in the log that this one repeats, if Kafka knows."""

    def close(self) -> None:
        """Close all files."""


class Kafka(Protocol):
    """The classes of a release, and what all logs share."""

    @property
    def preset(self) -> str:
        """The preset of Replog's rules that this release is the origin of."""

    def open_log(self, folder: Path, topic: Mapping[str, int]) -> DiskLog:
        """The log whose segment files are in `folder`.

        It is loaded as after a crash, so that Kafka derives the indexes and the aborted
        transactions. With a clean shutdown claimed, so that indexes that are there stay: a
        transaction index holds what the batches alone would not tell after cleaning. For want of
        snapshots Kafka would then forget all producers; so it is made to read the whole log for
        them, as it does after a truncation.

        Args:
            folder: Named `topic-partition`, and it holds `*.log` files.
            topic: Settings of the topic, under Kafka's own names.
        """


def counted(next_dirty_offset: int, stats: Any) -> KafkaPass:
    """The pass that Kafka's `CleanerStats` were kept of."""
    return KafkaPass(
        next_dirty_offset,
        int(stats.messagesRead()),
        int(stats.messagesWritten()),
        int(stats.invalidMessagesRead()),
    )
