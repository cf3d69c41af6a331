"""The steps of a log file: what is done to the log, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sim.files.document import Place, listed, unknown_value
from sim.files.fields import MAX_LONG, Fields, as_integer, as_object, as_text
from sim.limits import PRODUCER_EPOCH
from sim.log import Batch
from sim.log.producers import MAX_SEQUENCE
from sim.logfile.batches import batch_at
from sim.logfile.content import text_at
from sim.logfile.moves import (
    DeleteOldSegments,
    DeleteRecords,
    ExpireProducers,
    HighWatermark,
    Truncate,
    TruncateFully,
    delete_records_at,
    expire_producers_at,
    high_watermark_at,
    truncate_at,
    truncate_fully_at,
)
from sim.logfile.rules import LogRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """One cleaning pass.

    Attributes:
        now_ms: The cleaner's clock in ms.
        first_dirty_offset: Where the dirty section begins (inclusive).
        upper_bound: Where the pass ends (exclusive); rounded down to a segment's base. None, and
            no first dirty offset: the cleaner's manager decides both, and whether there is a pass.
        map_capacity: Most distinct keys; None = no limit. No meaning beside `offset_map` or
            `forced_rescan`.
        offset_map: Key -> offset, instead of a map that is built; None = build one.
        map_latest_offset: Last offset (inclusive) that the given map, or the empty one, reaches.
        forced_rescan: Nothing is dirty; run with an empty map all the same.
        delete_horizon_ms: The pass-wide horizon of the rules before KIP-534, in ms; None = derive.
    """

    now_ms: int
    first_dirty_offset: int | None = None
    upper_bound: int | None = None
    map_capacity: int | None = None
    offset_map: Mapping[str, int] | None = None
    map_latest_offset: int | None = None
    forced_rescan: bool = False
    delete_horizon_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """New batches for the active segment, which is closed after them if `roll_after`."""

    batches: tuple[Batch, ...]
    roll_after: bool


@dataclass(frozen=True, slots=True)
class Roll:
    """A new empty active segment, unless it is empty already."""


@dataclass(frozen=True, slots=True)
class Reload:
    """Producer state is forgotten and derived from the log again."""


@dataclass(frozen=True, slots=True)
class ProduceDuplicate:
    """A retry of an old batch of `count` records; nothing is appended."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int


Step = (
    Clean
    | Append
    | Roll
    | Reload
    | ProduceDuplicate
    | Truncate
    | TruncateFully
    | HighWatermark
    | DeleteRecords
    | DeleteOldSegments
    | ExpireProducers
)

_CLEAN_FIELDS = (
    "now_ms",
    "first_dirty_offset",
    "upper_bound",
    "map_capacity",
    "offset_map",
    "map_latest_offset",
    "forced_rescan",
    "delete_horizon_ms",
)


def step_at(value: object, place: Place, rules: LogRules) -> Step:
    """The step at `place` of a log file.

    Raises:
        BadInput: Unknown operation; a field is missing, unknown or of the wrong kind.
    """
    op = as_object(value, place).get("op")
    if op is None:
        place.at("op").fail(f"missing; allowed: {listed(OPS)}")
    if not isinstance(op, str) or op not in OPS:
        place.at("op").fail(unknown_value(op, OPS, what="op"))
    names, read = OPS[op]
    return read(Fields(value, place, ("op", *names, "note")), rules)


def _clean(fields: Fields, rules: LogRules) -> Clean:
    fields.require("now_ms")
    decided = not fields.has("first_dirty_offset") and not fields.has("upper_bound")
    if decided:
        _check_decided(fields)
    else:
        fields.require("first_dirty_offset", "upper_bound")
    given = _offset_map(fields) if fields.has("offset_map") else None
    forced = fields.boolean("forced_rescan", default=False)
    if given is not None and rules.rules.cleaner.strategy != "offset":
        fields.fail(
            "offset_map",
            f"goes with strategy offset only, and this is {rules.rules.cleaner.strategy}",
        )
    if given and forced:
        fields.fail("offset_map", "forced_rescan runs with an empty map; give one or the other")
    if given is not None or forced:
        fields.require("map_latest_offset")
    elif fields.has("map_latest_offset"):
        fields.fail("map_latest_offset", "needs offset_map or forced_rescan: true beside it")
    return Clean(
        now_ms=fields.integer("now_ms"),
        first_dirty_offset=fields.maybe_integer("first_dirty_offset"),
        upper_bound=fields.maybe_integer("upper_bound"),
        map_capacity=fields.maybe_integer("map_capacity"),
        offset_map=given,
        map_latest_offset=fields.maybe_integer("map_latest_offset", minimum=-1),
        forced_rescan=forced,
        delete_horizon_ms=fields.maybe_integer("delete_horizon_ms", minimum=-MAX_LONG - 1),
    )


def _check_decided(fields: Fields) -> None:
    """A pass that the cleaner's manager decides about builds its map itself."""
    for name in ("offset_map", "map_latest_offset", "forced_rescan"):
        if fields.has(name):
            fields.fail(name, "goes with a first_dirty_offset and an upper_bound that are given")


def _offset_map(fields: Fields) -> dict[str, int]:
    place = fields.at("offset_map")
    given = as_object(fields.values["offset_map"], place)
    return {
        as_text(key, place): as_integer(offset, place.at(key), minimum=0)
        for key, offset in given.items()
    }


def _append(fields: Fields, rules: LogRules) -> Append:
    return Append(
        tuple(batch_at(value, place, rules) for place, value in fields.items("batches")),
        fields.boolean("roll_after", default=False),
    )


def _produce_duplicate(fields: Fields, rules: LogRules) -> ProduceDuplicate:
    keys = list(fields.items("keys"))
    if not keys:
        fields.fail("keys", "a batch has at least one record; give a key for each")
    for place, key in keys:
        text_at(key, place)
    return ProduceDuplicate(
        fields.integer("producer_id"),
        fields.integer("producer_epoch", limit=PRODUCER_EPOCH),
        fields.integer("base_sequence", maximum=MAX_SEQUENCE),
        len(keys),
    )


OPS: dict[str, tuple[tuple[str, ...], Callable[[Fields, LogRules], Step]]] = {
    "clean": (_CLEAN_FIELDS, _clean),
    "append": (("batches", "roll_after"), _append),
    "roll": ((), lambda fields, rules: Roll()),
    "reload": ((), lambda fields, rules: Reload()),
    "produce_duplicate": (
        ("producer_id", "producer_epoch", "base_sequence", "keys"),
        _produce_duplicate,
    ),
    "truncate": (("offset",), lambda fields, rules: truncate_at(fields)),
    "truncate_fully": (("offset",), lambda fields, rules: truncate_fully_at(fields)),
    "high_watermark": (("offset",), lambda fields, rules: high_watermark_at(fields)),
    "delete_records": (("before",), lambda fields, rules: delete_records_at(fields)),
    "delete_old_segments": ((), lambda fields, rules: DeleteOldSegments()),
    "expire_producers": (
        ("now_ms", "expiration_ms"),
        lambda fields, rules: expire_producers_at(fields),
    ),
}
"""Each operation with its fields and what reads them."""
