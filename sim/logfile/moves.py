"""Steps of a log file that move the ends of the log, and what is known of its producers."""

from __future__ import annotations

from dataclasses import dataclass

from sim.files.fields import Fields


@dataclass(frozen=True, slots=True)
class Truncate:
    """The log is cut: it ends at `offset` (exclusive) at most (LogManager.truncateTo)."""

    offset: int


@dataclass(frozen=True, slots=True)
class TruncateFully:
    """All of the log goes; it starts and ends at `offset` (LogManager.truncateFullyAndStartAt)."""

    offset: int


@dataclass(frozen=True, slots=True)
class HighWatermark:
    """The replica learns that what is below `offset` (exclusive) is committed.

    From then on appends do not move its high watermark; before, it is the log end offset.
    Source: UnifiedLog.updateHighWatermark.
    """

    offset: int


@dataclass(frozen=True, slots=True)
class DeleteRecords:
    """The log starts at `before` from now on; segments stay as they are.

    Source: KIP-107; UnifiedLog.maybeIncrementLogStartOffset.
    """

    before: int


@dataclass(frozen=True, slots=True)
class DeleteOldSegments:
    """Segments that lie below the log start go (UnifiedLog.deleteOldSegments)."""


@dataclass(frozen=True, slots=True)
class ExpireProducers:
    """Producers that were silent for too long are forgotten.

    Source: ProducerStateManager.removeExpiredProducers.

    Attributes:
        now_ms: The broker's clock in ms.
        expiration_ms: `producer.id.expiration.ms`.
    """

    now_ms: int
    expiration_ms: int


Move = Truncate | TruncateFully | HighWatermark | DeleteRecords | DeleteOldSegments
"""What moves an offset of the log."""


def truncate_at(fields: Fields) -> Truncate:
    """Raises BadInput unless `offset` is one."""
    return Truncate(fields.integer("offset"))


def truncate_fully_at(fields: Fields) -> TruncateFully:
    """Raises BadInput unless `offset` is one."""
    return TruncateFully(fields.integer("offset"))


def high_watermark_at(fields: Fields) -> HighWatermark:
    """Raises BadInput unless `offset` is one."""
    return HighWatermark(fields.integer("offset"))


def delete_records_at(fields: Fields) -> DeleteRecords:
    """Raises BadInput unless `before` is an offset."""
    return DeleteRecords(fields.integer("before"))


def expire_producers_at(fields: Fields) -> ExpireProducers:
    """Raises BadInput unless both times are given."""
    return ExpireProducers(fields.integer("now_ms"), fields.integer("expiration_ms", minimum=1))
