"""What a log on disk must be able to do, whichever release of Kafka keeps and cleans it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

IO_BYTES = 2**10
"""Of either I/O buffer: many a batch is larger, and Kafka makes its buffers larger for it."""

LARGE_IO_BYTES = 2**18
"""Where it matters what is written in one call: its largest timestamp is the first of a segment
(LogSegment.append), and until 4.0 it gets one entry of the offset index at most."""


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
    """What Kafka reports of one cleaning pass; counts are those of the copying, not of the map.

    `ran` is false when there was no pass, because nothing was due.
    """

    next_dirty_offset: int
    messages_read: int
    messages_written: int
    invalid_messages: int
    ran: bool = True


class Due(NamedTuple):
    """What Kafka's manager of the cleaner makes of a log.

    Attributes:
        first_dirty_offset: Where the dirty section begins.
        first_uncleanable_offset: What no pass may reach (exclusive bound).
        effective_upper_bound: The same, rounded down to a segment's base.
        force_update_checkpoint: The checkpoint is invalid.
        clean_bytes: Bytes of segments that start below the dirty section.
        cleanable_bytes: Bytes of the segments that a pass would read for its map.
        cleanable_ratio: Cleanable / (clean + cleanable) bytes; None when both are 0.
        compaction_delay_ms: How long it is overdue.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    effective_upper_bound: int
    force_update_checkpoint: bool
    clean_bytes: int
    cleanable_bytes: int
    cleanable_ratio: float | None
    compaction_delay_ms: int

    @classmethod
    def of(
        cls,
        log_to_clean: Any,
        *,
        first_uncleanable_offset: int,
        force_update_checkpoint: bool,
        compaction_delay_ms: int,
    ) -> Due:
        """What a `LogToClean` says, and what it was made of."""
        is_empty = int(log_to_clean.totalBytes()) == 0
        return cls(
            int(log_to_clean.firstDirtyOffset()),
            first_uncleanable_offset,
            int(log_to_clean.firstUncleanableOffset()),
            force_update_checkpoint,
            int(log_to_clean.cleanBytes()),
            int(log_to_clean.cleanableBytes()),
            None if is_empty else float(log_to_clean.cleanableRatio()),
            compaction_delay_ms,
        )


class Manager(Protocol):
    """Kafka's `LogCleanerManager`, which selects the log to clean. To be closed."""

    def add(self, log: Any) -> None:
        """Let it know a log, or the same one after it was opened again."""

    def checkpoint(self, log: Any) -> int | None:
        """Where the next pass over a log has to begin; None = no pass was run yet."""

    def write_checkpoint(self, log: Any, offset: int) -> None:
        """Note where a pass ended."""

    def lower_checkpoint(self, log: Any) -> None:
        """What `LogManager` asks for after a truncation that reaches what may have been cleaned."""

    def set_in_progress(self, log: Any) -> None:
        """Let it believe that somebody cleans a log."""

    def set_uncleanable(self, log: Any) -> None:
        """Let it know that a pass over a log ended in an unexpected error."""

    def due(self, log: Any, now_ms: int) -> Due:
        """What it makes of a log, whether or not it is selected; nothing is written down."""

    def select(self, now_ms: int) -> Any | None:
        """The log that is due before all others, as `LogToClean`; None = none is.

        It is in progress from then on; checkpoints that are invalid are written anew.
        """

    def done(self, log: Any, end: int) -> None:
        """The pass over the selected log ended, at `end`."""

    def close(self) -> None:
        """Take its metrics back."""


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

    def due(self, parameters: PassParameters) -> Due:
        """What Kafka's manager makes of the log; the offsets of the parameters have no meaning."""

    def clean_if_due(self, parameters: PassParameters, *, capacity: int) -> KafkaPass | None:
        """One pass, if Kafka's manager selects the log; from where and up to where it says.

        A pass that fails makes the log uncleanable (LogCleaner.cleanFilthiestLog).
        """

    def note_uncleanable(self) -> None:
        """A pass that the manager did not decide about failed."""

    def note_checkpoint(self, offset: int) -> None:
        """A pass that the manager did not decide about ended at an offset."""

    def note_epochs(self, starts: Iterable[tuple[int, int]]) -> None:
        """Tell a log that was loaded for the first time which epoch starts where."""

    def truncate(self, offset: int) -> None:
        """Cut the log at an offset, and lower the checkpoint as `LogManager.truncateTo` does."""

    def truncate_fully(self, offset: int) -> None:
        """Empty the log; it starts and ends at an offset (`LogManager.truncateFullyAndStartAt`)."""

    def set_high_watermark(self, offset: int) -> None:
        """What is below an offset is committed."""

    def delete_records(self, before: int) -> None:
        """Let the log start at an offset, at the high watermark at most."""

    def delete_old_segments(self) -> None:
        """Delete what lies below the log start."""

    def expire_producers(self, *, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that were silent for so long."""

    def offsets(self) -> dict[str, Any]:
        """Log start, high watermark, last stable offset, checkpoint, and the epochs' starts."""

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

    def open_log(
        self,
        folder: Path,
        topic: Mapping[str, object],
        *,
        segment_bytes: int | None = None,
        io_bytes: int = IO_BYTES,
    ) -> DiskLog:
        """The log whose segment files are in `folder`.

        It is loaded as after a crash, so that Kafka derives the indexes and the aborted
        transactions. With a clean shutdown claimed, so that indexes that are there stay: a
        transaction index holds what the batches alone would not tell after cleaning. For want of
        snapshots Kafka would then forget all producers; so it is made to read the whole log for
        them, as it does after a truncation.

        Args:
            folder: Named `topic-partition`, and it holds `*.log` files.
            topic: Settings of the topic, under Kafka's own names.
            io_bytes: Of either I/O buffer of the cleaner.
            segment_bytes: `segment.bytes` while it is cleaned; appends do not roll by themselves.
        """


def counted(next_dirty_offset: int, stats: Any) -> KafkaPass:
    """The pass that Kafka's `CleanerStats` were kept of."""
    return KafkaPass(
        next_dirty_offset,
        int(stats.messagesRead()),
        int(stats.messagesWritten()),
        int(stats.invalidMessagesRead()),
    )
