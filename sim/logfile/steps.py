"""The steps of a log file: what is done to the log, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import Discriminator, Field

from sim.files.document import Place
from sim.files.models import Part
from sim.limits import LONG, PRODUCER_EPOCH
from sim.log import Batch
from sim.log.producers import MAX_SEQUENCE
from sim.logfile.batches import BatchLine, Natural, OrNone, Positive
from sim.logfile.content import Content
from sim.logfile.rules import LogRules

Note = Annotated[Any, Field(description="Anything; nobody reads it.")]


class Clean(Part):
    """One cleaning pass."""

    op: Literal["clean"]
    now_ms: Natural
    """The cleaner's clock in ms."""
    first_dirty_offset: Natural | None = None
    """Where the dirty section begins (inclusive)."""
    upper_bound: Natural | None = None
    """Where the pass ends (exclusive); rounded down to a segment's base. Without this, and without
    a first dirty offset, the cleaner's manager decides both, and whether there is a pass."""
    map_capacity: Natural | None = None
    """Most distinct keys. No meaning beside `offset_map` or `forced_rescan`."""
    offset_map: dict[str, Natural] | None = None
    """Key and offset, instead of a map that is built."""
    map_latest_offset: OrNone | None = None
    """Last offset (inclusive) that the given map, or the empty one, reaches."""
    forced_rescan: bool | None = None
    """Nothing is dirty; run with an empty map all the same."""
    delete_horizon_ms: Annotated[int, Ge(-LONG - 1), Le(LONG)] | None = None
    """The pass-wide horizon of the rules before KIP-534, in ms; derived when not given."""
    note: Note = None


class AppendLine(Part):
    """New batches for the active segment, which is closed after them if `roll_after`."""

    op: Literal["append"]
    batches: tuple[BatchLine, ...]
    roll_after: bool | None = None
    note: Note = None


@dataclass(frozen=True, slots=True)
class Append:
    """As `AppendLine`, with batches as a log has them."""

    batches: tuple[Batch, ...]
    roll_after: bool


class Roll(Part):
    """A new empty active segment, unless it is empty already."""

    op: Literal["roll"]
    note: Note = None


class Reload(Part):
    """Producer state is forgotten and derived from the log again."""

    op: Literal["reload"]
    note: Note = None


class ProduceDuplicate(Part):
    """A retry of an old batch with a record for each key; nothing is appended."""

    op: Literal["produce_duplicate"]
    producer_id: Natural
    producer_epoch: Annotated[int, Ge(0), Le(PRODUCER_EPOCH.most)]
    base_sequence: Annotated[int, Ge(0), Le(MAX_SEQUENCE)]
    keys: Annotated[tuple[Content | None, ...], Field(min_length=1)]
    note: Note = None


class Truncate(Part):
    """The log is cut: it ends at `offset` (exclusive) at most (LogManager.truncateTo)."""

    op: Literal["truncate"]
    offset: Natural
    note: Note = None


class TruncateFully(Part):
    """All of the log goes; it starts and ends at `offset` (LogManager.truncateFullyAndStartAt)."""

    op: Literal["truncate_fully"]
    offset: Natural
    note: Note = None


class HighWatermark(Part):
    """The replica learns that what is below `offset` (exclusive) is committed.

    From then on appends do not move its high watermark; before, it is the log end offset.
    Source: UnifiedLog.updateHighWatermark.
    """

    op: Literal["high_watermark"]
    offset: Natural
    note: Note = None


class DeleteRecords(Part):
    """The log starts at `before` from now on; segments stay as they are.

    Source: KIP-107; UnifiedLog.maybeIncrementLogStartOffset.
    """

    op: Literal["delete_records"]
    before: Natural
    note: Note = None


class DeleteOldSegments(Part):
    """Segments that lie below the log start go (UnifiedLog.deleteOldSegments)."""

    op: Literal["delete_old_segments"]
    note: Note = None


class ExpireProducers(Part):
    """Producers that were silent for too long are forgotten.

    Source: ProducerStateManager.removeExpiredProducers.
    """

    op: Literal["expire_producers"]
    now_ms: Natural
    """The broker's clock in ms."""
    expiration_ms: Positive
    """`producer.id.expiration.ms`."""
    note: Note = None


Move = Truncate | TruncateFully | HighWatermark | DeleteRecords | DeleteOldSegments
"""What moves an offset of the log."""
_Other = Roll | Reload | ProduceDuplicate | Move | ExpireProducers
Step = Clean | Append | _Other
StepLine = Annotated[Clean | AppendLine | _Other, Discriminator("op")]
"""A step as a file gives it."""


def check_clean(step: Clean, place: Place, rules: LogRules) -> None:
    """Raise BadInput unless the fields of a pass go together."""
    given = {name for name, value in step if value is not None}
    missing = {"first_dirty_offset", "upper_bound"} - given
    if len(missing) == 2:  # the cleaner's manager decides about it, and builds the map itself
        for name in ("offset_map", "map_latest_offset", "forced_rescan"):
            if name in given:
                text = "goes with a first_dirty_offset and an upper_bound that are given"
                place.at(name).fail(text)
    for name in sorted(missing) if len(missing) == 1 else ():
        place.at(name).fail("missing")
    strategy = rules.rules.cleaner.strategy
    if "offset_map" in given and strategy != "offset":
        place.at("offset_map").fail(f"goes with strategy offset only, and this is {strategy}")
    if step.offset_map and step.forced_rescan:
        text = "forced_rescan runs with an empty map; give one or the other"
        place.at("offset_map").fail(text)
    has_map = "offset_map" in given or bool(step.forced_rescan)
    if has_map and "map_latest_offset" not in given:
        place.at("map_latest_offset").fail("missing")
    if not has_map and "map_latest_offset" in given:
        text = "needs offset_map or forced_rescan: true beside it"
        place.at("map_latest_offset").fail(text)
