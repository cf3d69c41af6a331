"""Fixes: what stays of the last offset of a cleaning round, or of the log (KIP-280).

Without one, a follower that is behind the last record can never learn that its offset existed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sim.log import Batch


class Tail(NamedTuple):
    """What a fix may look at.

    Attributes:
        last_batch: The batch with the highest offsets of the whole log; None in an empty log.
        upper_bound: The pass covers offsets below it (exclusive).
        high_watermark: The replica's own, which the upper bound does not exceed (exclusive).
    """

    last_batch: Batch | None
    upper_bound: int
    high_watermark: int


class Kept(NamedTuple):
    """What a fix keeps.

    Attributes:
        record_offset: The record at this offset stays whatever it is; None for no record.
        batch_end: The batch whose last offset this is stays, empty if need be; None for no batch.
    """

    record_offset: int | None = None
    batch_end: int | None = None


class Fix(Protocol):
    """An answer to "what stays of the last offset?"."""

    @property
    def name(self) -> str:
        """Value of the `fix` rule."""

    @property
    def source(self) -> str:
        """The document that proposes it."""

    @property
    def persists_log_end(self) -> bool:
        """True when the log end is never below what was cleaned, whatever the records say."""

    @property
    def announces_gaps(self) -> bool:
        """True when a leader without records from an offset on says up to where there are none."""

    def keeps(self, tail: Tail) -> Kept:
        """What has to stay, given the end of the log and of the round."""


@dataclass(frozen=True, slots=True)
class NoFix:
    """Nothing is kept for its offset's sake; Kafka until 3.8."""

    name: str = "none"
    source: str = "Kafka before KAFKA-17076"
    persists_log_end: bool = False
    announces_gaps: bool = False

    def keeps(self, tail: Tail) -> Kept:
        """Nothing."""
        return Kept()


@dataclass(frozen=True, slots=True)
class LeoRetention:
    """The log-end record, the highest surviving slot of the whole log, is never removed."""

    name: str = "leo_retention"
    source: str = "KIP-280, Special case where we need to retain LEO, option 1"
    persists_log_end: bool = False
    announces_gaps: bool = False

    def keeps(self, tail: Tail) -> Kept:
        """The last record of the log, or the last batch if it is empty already."""
        last = tail.last_batch
        if last is None:
            return Kept()
        if last.records:
            return Kept(record_offset=last.records[-1].offset, batch_end=last.last_offset)
        return Kept(batch_end=last.last_offset)


@dataclass(frozen=True, slots=True)
class EmptyBatch:
    """The batch that ends exactly at the upper bound of the round stays, empty if need be."""

    name: str = "empty_batch"
    source: str = "KIP-280, option 2; KAFKA-17076 (Cleaner.cleanInto)"
    persists_log_end: bool = False
    announces_gaps: bool = False

    def keeps(self, tail: Tail) -> Kept:
        """The batch that holds the last offset below the upper bound."""
        return Kept(batch_end=tail.upper_bound - 1)


@dataclass(frozen=True, slots=True)
class EmptyBatchAtHighWatermark:
    """As `empty_batch`, but only where the batch also ends at the high watermark: fewer of them."""

    name: str = "empty_batch_at_hw"
    source: str = "KAFKA-20452 (apache/kafka PR 22089)"
    persists_log_end: bool = False
    announces_gaps: bool = False

    def keeps(self, tail: Tail) -> Kept:
        """The batch that holds the last offset below the high watermark."""
        return Kept(batch_end=tail.high_watermark - 1)


@dataclass(frozen=True, slots=True)
class PersistedLogEnd:
    """Nothing is kept; the end of what was cleaned is written down beside the records.

    It keeps a replica from counting back after a restart. Nobody else learns of it.
    """

    name: str = "persisted_leo"
    source: str = "etcd PR 17815: the scheduled compact revision bounds the current one from below"
    persists_log_end: bool = True
    announces_gaps: bool = False

    def keeps(self, tail: Tail) -> Kept:
        """Nothing."""
        return Kept()


@dataclass(frozen=True, slots=True)
class GapFetch:
    """Nothing is kept; a fetch that finds nothing is answered with the end of the gap.

    The follower moves its log end there, and takes over the epochs that began in between; the
    leader believes what the next fetch says.
    """

    name: str = "gap_fetch"
    source: str = "this project: what an answer would have to say for nothing to be kept"
    persists_log_end: bool = False
    announces_gaps: bool = True

    def keeps(self, tail: Tail) -> Kept:
        """Nothing."""
        return Kept()


FIXES: dict[str, Fix] = {
    fix.name: fix
    for fix in (
        NoFix(),
        LeoRetention(),
        EmptyBatch(),
        EmptyBatchAtHighWatermark(),
        PersistedLogEnd(),
        GapFetch(),
    )
}
"""The registered fixes by name."""
