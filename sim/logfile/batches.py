"""Batches and records of a log file: what each field means, and what no log could hold."""

from __future__ import annotations

from sim.files.document import Place, listed, shown
from sim.files.fields import MAX_LONG, Fields, as_integer, as_list, as_object, as_text
from sim.limits import BATCH_OFFSETS, HEADERS, LEADER_EPOCH, PRODUCER_EPOCH
from sim.log import Batch, Control, Record
from sim.log.old_formats import OldBatch, old_batch
from sim.log.producers import MAX_SEQUENCE
from sim.log.record import BATCH_HEADER_BYTES, control_size, size_of
from sim.logfile.content import bytes_at, text_at
from sim.logfile.rules import LogRules

BATCH_FIELDS = (
    "base_offset",
    "last_offset",
    "epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "transactional",
    "control",
    "timestamp_ms",
    "delete_horizon_ms",
    "records",
    "magic",
    "timestamp_type",
    "compression",
)
RECORD_FIELDS = ("offset", "key", "value", "timestamp_ms", "headers", "marker", "flag")
LOG_APPEND_TIME = "LogAppendTime"
TIMESTAMP_TYPES = ("CreateTime", LOG_APPEND_TIME)
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
"""What survives is the same under each of them; sizes are those without any."""
_NOT_IN_OLD: dict[str, object] = {
    "epoch": -1,
    "producer_id": -1,
    "producer_epoch": -1,
    "base_sequence": -1,
    "transactional": False,
    "control": None,
    "delete_horizon_ms": None,
}
"""What batches before magic 2 have no place for, each with the value that says so."""
MARKERS = (Control.COMMIT.value, Control.ABORT.value)
CONTROLS = (*MARKERS, Control.LEADER_CHANGE.value)
"""What a control batch may say; other kinds stand in logs that no cleaner is given."""
MAGIC = 2
"""The format of a batch that does not say which it has."""


def batch_at(value: object, place: Place, rules: LogRules) -> Batch:
    """The batch at `place` of a log file.

    Raises:
        BadInput: A field is missing, unknown or of the wrong kind; offsets do not ascend or lie
            outside the batch; it is a marker that no transaction could have.
    """
    fields = Fields(value, place, BATCH_FIELDS)
    fields.require("base_offset", "last_offset", "records")
    base = fields.integer("base_offset")
    last = fields.integer("last_offset", maximum=MAX_LONG - 1)  # the log end offset is one more
    if last < base:
        fields.fail("last_offset", f"{last} is below the base offset {base}")
    fields.at("last_offset").check(BATCH_OFFSETS.too_many(last - base, "offsets after the first"))
    magic = fields.integer("magic", MAGIC, maximum=MAGIC)
    if magic < MAGIC:
        return _old_batch(fields, base, last, magic, rules)
    control = fields.choice("control", CONTROLS)
    horizon = fields.maybe_integer("delete_horizon_ms")
    records = _records(fields, base, last, rules, control=control)
    producer_id = fields.integer("producer_id", -1, minimum=-1)
    transactional = fields.boolean("transactional", default=False)
    if transactional and producer_id < 0:
        fields.fail("producer_id", "a transaction has a producer; allowed: 0 and above")
    if control is not None:
        _check_control(fields, base, last, records, transactional=transactional)
    largest = max((record.timestamp_ms for record in records), default=-1)
    timestamp_ms = fields.integer("timestamp_ms", largest, minimum=-1)
    size_bytes = _size(records, base, control, horizon)
    _check_compression(fields, records)
    if fields.choice("timestamp_type", TIMESTAMP_TYPES) == LOG_APPEND_TIME:
        records = _at_one_time(records, timestamp_ms)
    return Batch(
        base,
        last,
        fields.integer("epoch", 0, minimum=-1, limit=LEADER_EPOCH),
        records,
        timestamp_ms,
        size_bytes,
        producer_id,
        fields.integer("producer_epoch", -1, minimum=-1, limit=PRODUCER_EPOCH),
        fields.integer("base_sequence", -1, minimum=-1, maximum=MAX_SEQUENCE),
        transactional,
        None if control is None else Control(control),
        horizon,
    )


def _old_batch(fields: Fields, base: int, last: int, magic: int, rules: LogRules) -> OldBatch:
    """A batch of magic 0 or 1: what its format has no place for cannot be said."""
    for name, none in _NOT_IN_OLD.items():
        if fields.has(name) and fields.values[name] != none:
            fields.fail(name, f"a batch of magic {magic} has none; allowed: magic {MAGIC}")
    records: list[Record] = []
    for place, value in fields.items("records"):
        given = as_object(value, place)
        for name in ("headers", "flag", *(("timestamp_ms",) if magic == 0 else ())):
            if given.get(name) not in (None, [], -1):
                place.at(name).fail(f"a record of magic {magic} has none, not {shown(given[name])}")
        record = _record(value, place, rules, control=None)
        if records and record.offset <= records[-1].offset:
            place.at("offset").fail(f"{record.offset} is not above {records[-1].offset}")
        records.append(record._replace(flagged=None))
    if not records:
        fields.fail("records", f"a batch of magic {magic} has at least one record")
    for name, of, record in (("base_offset", base, records[0]), ("last_offset", last, records[-1])):
        if of != record.offset:
            end = "begins at its first" if name == "base_offset" else "ends at its last"
            fields.fail(name, f"a batch of magic {magic} {end} record, {record.offset}, not {of}")
    compression = fields.choice("compression", COMPRESSIONS)
    if compression == "zstd" or (compression == "none" and len(records) > 1):
        allowed = listed(COMPRESSIONS[1:4])
        why = f"what holds several records of magic {magic} is compressed"
        fields.fail("compression", f"{why}, and not by zstd; allowed: {allowed}")
    if fields.choice("timestamp_type", TIMESTAMP_TYPES) == LOG_APPEND_TIME:
        if magic == 0:
            fields.fail("timestamp_type", "a batch of magic 0 has no time; allowed: magic 1 and 2")
        largest = max(record.timestamp_ms for record in records)
        appended_ms = fields.integer("timestamp_ms", largest, minimum=-1)
        records = list(_at_one_time(tuple(records), appended_ms))
    made = old_batch(magic, tuple(records))
    largest = fields.integer("timestamp_ms", made.timestamp_ms, minimum=-1)
    if largest != made.timestamp_ms:
        text = f"a batch of magic {magic} has that of its records, {made.timestamp_ms}"
        fields.fail("timestamp_ms", f"{text}, not {largest}")
    return made


def _check_control(
    fields: Fields, base: int, last: int, records: tuple[Record, ...], *, transactional: bool
) -> None:
    """A marker is one record, of a producer, in a transaction; an emptied one is just its header.

    Its transaction's data may be gone, as it is after cleaning. The change of a leader (KIP-595) is
    nobody's transaction.
    """
    producer_id = fields.integer("producer_id", -1, minimum=-1)
    if fields.choice("control", CONTROLS) in MARKERS:
        if producer_id < 0:
            fields.fail("producer_id", "a marker ends the transaction of a producer; it has none")
        if not transactional:
            fields.fail("transactional", "a marker ends a transaction; it cannot be false")
    elif producer_id >= 0:
        fields.fail("producer_id", f"a change of the leader has none, not {producer_id}")
    if last != base:
        fields.fail("last_offset", f"a marker takes one offset; {last} is not {base}")
    if len(records) > 1:
        fields.fail("records", f"a control batch has one record, its marker, not {len(records)}")


def _check_compression(fields: Fields, records: tuple[Record, ...]) -> None:
    compression = fields.choice("compression", COMPRESSIONS)
    if compression not in {None, "none"} and not records:
        fields.fail("compression", f"{compression} of a batch without records; allowed: none")


def _at_one_time(records: tuple[Record, ...], timestamp_ms: int) -> tuple[Record, ...]:
    """Every record has the time of its batch, whatever its producer said (KIP-32).

    What the producer said stays stored until the batch is written anew (DefaultRecord.readFrom).
    """
    return tuple(record._replace(timestamp_ms=timestamp_ms) for record in records)


def _size(
    records: tuple[Record, ...], base: int, control: str | None, horizon_ms: int | None
) -> int:
    if not records:
        return BATCH_HEADER_BYTES
    if control is None:
        return size_of(records, base_offset=base, base_timestamp_ms=horizon_ms)
    return control_size(records[0].timestamp_ms, horizon_ms)


def _records(
    fields: Fields, base: int, last: int, rules: LogRules, *, control: str | None
) -> tuple[Record, ...]:
    found: list[Record] = []
    for place, value in fields.items("records"):
        record = _record(value, place, rules, control=control)
        if found and record.offset <= found[-1].offset:
            place.at("offset").fail(f"{record.offset} is not above {found[-1].offset}")
        if not base <= record.offset <= last:
            place.at("offset").fail(f"{record.offset} is outside its batch, {base} to {last}")
        found.append(record)
    return tuple(found)


def _record(value: object, place: Place, rules: LogRules, *, control: str | None) -> Record:
    fields = Fields(value, place, RECORD_FIELDS)
    offset = fields.integer("offset")
    key = text_at(fields.values.get("key"), fields.at("key"))
    text = text_at(fields.values.get("value"), fields.at("value"))
    marker = fields.choice("marker", CONTROLS)
    if control is None and marker is not None:
        fields.fail("marker", f"{marker} stands outside a control batch")
    if control is not None:
        if marker is None:
            fields.fail("marker", f"missing; the record of a control batch has it: {control}")
        if marker != control:
            fields.fail("marker", f"{marker} stands in a control batch that says {control}")
        for name, given in (("key", key), ("value", text)):
            if given is not None:
                fields.fail(name, f"a marker has none, not {shown(given)}")
    return Record(
        offset,
        key,
        text,
        fields.integer("timestamp_ms", -1, minimum=-1),
        _headers(fields, rules) if fields.has("headers") else (),
        fields.boolean("flag", default=text is None and control is None),
        uid=offset + 1,
    )


def _headers(fields: Fields, rules: LogRules) -> tuple[tuple[str, bytes], ...]:
    found = []
    given = list(fields.items("headers"))
    fields.at("headers").check(HEADERS.too_many(len(given), "headers"))
    for place, pair in given:
        items = as_list(pair, place)
        if len(items) != 2:
            place.fail(f"expected [name, value], not {shown(pair)}")
        found.append((as_text(items[0], place.at(0)), _content(items[1], place.at(1), rules)))
    return tuple(found)


def _content(value: object, place: Place, rules: LogRules) -> bytes:
    """A number in the form the rules read, raw bytes in hexadecimal, or text as UTF-8."""
    if isinstance(value, str):
        return as_text(value, place).encode()
    if value is None:
        return b""
    if isinstance(value, dict):
        return bytes_at(value, place)
    if type(value) is not int:
        place.fail(f'expected a whole number, text or {{"hex": "80"}}, not {shown(value)}')
    return rules.encode(as_integer(value, place, minimum=-MAX_LONG - 1))
