"""Tombstones: what marks one (KIP-87), and when a winning one may go (KIP-534 and its rivals).

The delete horizon that a pass sets is computed in `copying`, where batches are rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from msgspec.structs import replace

from sim.files.attribute_docs import described
from sim.protocol.log import Record
from sim.protocol.log.formats import TOMBSTONE_HEADER

TombstoneMark = Callable[[Record], bool]
"""Tells whether a keyed data record is a tombstone."""


def null_value(record: Record) -> bool:
    """A record without a value; Kafka's rule."""
    return record.value is None


def flag(record: Record) -> bool:
    """A record with the tombstone attribute, with or without a value (KIP-87)."""
    return record.flagged is True


def magic(record: Record) -> bool:
    """A tombstone by the record's own format (KIP-87, Migration Plan).

    Before magic 2 the null value marks a delete, from magic 2 on the attribute.
    """
    return record.value is None if record.flagged is None else record.flagged


def header(record: Record) -> bool:
    """A record whose last header of key 5 is true (KIP-87, Rejected Alternatives).

    A null value without that header is data; an old client can neither write nor read the header.
    """
    name, true = TOMBSTONE_HEADER
    values = [value for other, value in record.headers if other == name]
    return bool(values) and values[-1] == true


TOMBSTONE_MARKS: dict[str, TombstoneMark] = {
    "null_value": null_value,
    "flag": flag,
    "magic": magic,
    "header": header,
    "explicit": flag,
}
"""Marks by rule value. `explicit` is for stories: `tombstone=true` of a step sets the flag."""


class Circumstances(NamedTuple):
    """A winning tombstone and its pass, as a removal rule sees them.

    Attributes:
        offset: Offset of the tombstone.
        horizon_ms: Delete horizon of its batch in ms, with `record_horizon` its own; None when no
            earlier pass set one.
        now_ms: The cleaning replica's clock in ms, taken once at the start of the pass.
        removal_limit: Under gated rules only tombstones below this offset may go (exclusive): the
            smallest log end offset of all replicas, or with `gates_markers` the offset up to which
            all have cleanly compacted.
        segment_last_modified_ms: Modification time of its segment in ms; None = unknown.
        legacy_horizon_ms: One horizon for the pass in ms (before KIP-534); None = none.
        last_cleaning: (end offset exclusive, time in ms) of the last finished pass; None = none.
        delete_retention_ms: `delete.retention.ms`.
        without_horizon: True when the times of segments decide: its batch has no place for a
            horizon (magic 0 and 1), or none yet and the rule `unstamped_tombstones` says so.
    """

    offset: int
    horizon_ms: int | None
    now_ms: int
    removal_limit: int
    segment_last_modified_ms: int | None
    legacy_horizon_ms: int | None
    last_cleaning: tuple[int, int] | None = None
    delete_retention_ms: int = 0
    without_horizon: bool = False

    @property
    def past_horizon(self) -> bool:
        """True when an earlier pass set a horizon and it is reached; equality counts as reached.

        With `without_horizon` it is true when the segment is old enough, as before KIP-534.
        """
        if self.without_horizon:
            return self.in_old_segment
        return self.horizon_ms is not None and self.now_ms >= self.horizon_ms

    @property
    def in_old_segment(self) -> bool:
        """True when its segment was modified at or before the horizon of the whole pass."""
        return (
            self.segment_last_modified_ms is not None
            and self.legacy_horizon_ms is not None
            and self.segment_last_modified_ms <= self.legacy_horizon_ms
        )


class Stamp(Enum):
    """Where a pass writes the delete horizon of a tombstone that it keeps."""

    NOWHERE = "nowhere"
    BATCH = "batch"
    RECORD = "record"


HORIZON_HEADER = "delete-horizon"
"""Name of the header that carries the horizon of one record under `record_horizon`."""


def record_horizon(record: Record) -> int | None:
    """The delete horizon in the record's own header, in ms; None without one."""
    for name, value in record.headers:
        if name == HORIZON_HEADER:
            return int.from_bytes(value, "big", signed=True)
    return None


def without_record_horizon(record: Record) -> Record:
    """The record as it was appended: without the header that a pass added."""
    if record_horizon(record) is None:
        return record
    return replace(record, headers=tuple(h for h in record.headers if h[0] != HORIZON_HEADER))


def with_record_horizon(record: Record, horizon_ms: int) -> Record:
    """The record with an added header: its delete horizon in ms, 8 bytes, signed."""
    header = (HORIZON_HEADER, horizon_ms.to_bytes(8, "big", signed=True))
    return replace(record, headers=(*record.headers, header))


Condition = Callable[[Circumstances], bool]
"""Decides whether a winning tombstone may go."""


class TombstoneRemoval(NamedTuple):
    """A rule for removing winning tombstones.

    Attributes:
        name: Value of the `tombstone_removal` rule.
        source: Who asks for it.
        means: What it asks for, for people.
        may_remove: The condition.
        stamps: Where a retained tombstone's delete horizon is written down.
        gates_markers: True when the replicas coordinate how far tombstones and transaction markers
            may go, see `sim.protocol.replication.coordination`.
        example: A file below `scenarios/` in which it makes a difference; empty for a plugin's.
    """

    name: str
    source: str
    means: str
    may_remove: Condition
    stamps: Stamp = Stamp.BATCH
    gates_markers: bool = False
    example: str = ""


TOMBSTONE_REMOVALS: dict[str, TombstoneRemoval] = {}
"""The registered removal rules by name."""


def _removal(
    *, stamps: Stamp = Stamp.BATCH, gates_markers: bool = False
) -> Callable[[Condition], Condition]:
    """Registers a condition as the rule of its name; its docstring describes it."""

    def made(may_remove: Condition) -> Condition:
        name = may_remove.__name__.rstrip("_")
        says, parts = described(may_remove)
        means = says[:1].lower() + says[1:].rstrip(".")
        TOMBSTONE_REMOVALS[name] = TombstoneRemoval(
            name, parts["Source"], means, may_remove, stamps, gates_markers, parts["Example"]
        )
        return may_remove

    return made


@_removal()
def horizon(c: Circumstances) -> bool:
    """A pass stamps its batch with now + delete.retention.ms; a later one removes it from then on.

    Source: KIP-534; Cleaner.shouldRetainRecord
    Example: kip534/kip534_01_horizon_of_the_batch.yaml
    """
    return c.past_horizon


@_removal(stamps=Stamp.NOWHERE)
def immediate(c: Circumstances) -> bool:
    """The pass that meets it removes it.

    Source: KIP-534, Motivation: what delete.retention.ms protects from
    Example: kip534/kip534_02_removed_at_once.yaml
    """
    return True


@_removal(stamps=Stamp.NOWHERE)
def last_modified(c: Circumstances) -> bool:
    """Removed when its segment's modification time is at or below the pass's horizon.

    Source: Kafka before 3.1 (KAFKA-4545, KAFKA-8522)
    Example: kip534/kip534_03_merged_segment_looks_old.yaml
    """
    return c.in_old_segment


@_removal(stamps=Stamp.NOWHERE)
def cleaning_checkpoint(c: Circumstances) -> bool:
    """Removes a tombstone if the last pass ended above it at least delete.retention.ms ago.

    Source: KIP-534, Rejected Alternatives; apache/kafka PR 7175
    Example: kip534/kip534_15_cleaning_checkpoint_waits_again.yaml
    """
    if c.last_cleaning is None:
        return False
    end_offset, cleaned_ms = c.last_cleaning
    return c.offset < end_offset and c.now_ms >= cleaned_ms + c.delete_retention_ms


@_removal(stamps=Stamp.RECORD)
def record_horizon_(c: Circumstances) -> bool:
    """As horizon, but the horizon is a header of the tombstone itself.

    Source: KIP-534, Rejected Alternatives: a header per record
    Example: kip534/kip534_17_horizon_in_the_record.yaml
    """
    return c.past_horizon


@_removal()
def leo_gated(c: Circumstances) -> bool:
    """As horizon, but only once every replica's log end offset is above it.

    Source: KIP-630, Tombstone and Delete Operations
    Example: kip630/kip630_02_gated_by_every_log_end.yaml
    """
    return c.past_horizon and c.offset < c.removal_limit


@_removal(gates_markers=True)
def coordinated(c: Circumstances) -> bool:
    """As horizon, but only once every replica has cleanly compacted past it.

    Source: Redpanda compaction_coordinator, PR 28087 and 29043
    Example: kip630/kip630_04_coordinated.yaml
    """
    return c.past_horizon and c.offset < c.removal_limit


@_removal()
def never(c: Circumstances) -> bool:
    """A winning tombstone stays for ever.

    Source: the upper bound of what retention can cost
    Example: kip534/kip534_13_never_removed.yaml
    """
    return False
