"""Batches and records of a log file, their fields, and checks that a log can hold them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le
from msgspec.structs import replace
from pydantic import PlainValidator, WithJsonSchema

from sim.files.bounds import Within
from sim.files.document import Place, listed, shown, unknown_field
from sim.files.limits import BATCH_OFFSETS, HEADERS, LEADER_EPOCH, LONG, PRODUCER_EPOCH, in_words
from sim.files.models import Part
from sim.protocol.log import Batch, Control, Record
from sim.protocol.log.formats import OldBatch, old_batch
from sim.protocol.log.producers import MAX_SEQUENCE
from sim.protocol.log.record import BATCH_HEADER_BYTES, STRAY_BYTES, control_size, size_of
from sim.simulate.logfile.rules import LogRules

_HEX: dict[str, Any] = {
    "type": "object",
    "properties": {"hex": {"type": "string", "pattern": r"^\s*([0-9A-Fa-f]{2}\s*)*$"}},
    "additionalProperties": False,
    "required": ["hex"],
}
_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": -LONG - 1, "maximum": LONG}


def _text_of(value: object) -> str:
    """A key or a value: text, or bytes in hexadecimal. Raises ValueError."""
    if isinstance(value, dict):
        return _bytes_of(value).decode(errors=STRAY_BYTES)
    if isinstance(value, str):
        return value
    raise ValueError(f'expected text or {{"hex": "ff00"}}, not {shown(value)}')


def _header_of(value: object) -> bytes | int:
    """A header's value: bytes, or a number to be written in the form that the rules read."""
    if isinstance(value, dict):
        return _bytes_of(value)
    if value is None or isinstance(value, str):
        return (value or "").encode()
    if type(value) is not int:
        text = f'expected a whole number, text or {{"hex": "80"}}, not {shown(value)}'
        raise ValueError(text)
    if not -LONG - 1 <= value <= LONG:
        raise ValueError(f"{in_words(value)} does not fit 64 bits")
    return value


def _bytes_of(value: dict[str, object]) -> bytes:
    for name in value:
        if name != "hex":
            raise ValueError(f"{name}: {unknown_field(name, ['hex'])}")
    digits = value.get("hex")
    try:
        return bytes.fromhex(digits if isinstance(digits, str) else "?")
    except ValueError:
        text = f"hex: expected pairs of hexadecimal digits, not {shown(digits)}"
        raise ValueError(text) from None


Content = Annotated[str, PlainValidator(_text_of), WithJsonSchema({"anyOf": [_TEXT, _HEX]})]
"""A key or a value of a record."""
HeaderContent = Annotated[
    bytes | int,
    PlainValidator(_header_of),
    WithJsonSchema({"anyOf": [_TEXT, _NUMBER, _HEX, {"type": "null"}]}),
]
"""The value of a header."""


def bytes_of(text: str) -> bytes:
    """The bytes that a key or a value of a record stands for."""
    return text.encode(errors=STRAY_BYTES)


def written(text: str | None) -> str | dict[str, str] | None:
    """A key or a value of a record as a log file spells it."""
    if text is None or text.isascii():
        return text
    content = bytes_of(text)
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"hex": content.hex()}


def readable(text: str) -> str:
    """A key for people: itself, or its bytes in hexadecimal."""
    spelled = written(text)
    return spelled if isinstance(spelled, str) else json.dumps(spelled)


Natural = Annotated[int, Ge(0), Le(LONG)]
"""An offset, a number of bytes, or a time in ms, from 0 on."""
Positive = Annotated[int, Ge(1), Le(LONG)]
OrNone = Annotated[int, Ge(-1), Le(LONG)]
"""An id, an offset or a time in ms; -1 stands for none."""

ControlName = Literal["COMMIT", "ABORT", "LEADER_CHANGE"]
"""Types of control records in logs that are cleaned; the others occur in no such log."""
TimestampType = Literal["CreateTime", "LogAppendTime"]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
"""Records survive alike under each codec; sizes are those without compression."""

_NOT_IN_OLD: dict[str, object] = {
    "epoch": -1,
    "producer_id": -1,
    "producer_epoch": -1,
    "base_sequence": -1,
    "transactional": False,
    "control": None,
    "delete_horizon_ms": None,
}
"""Fields that batches before magic 2 do not have, each with the value that stands for none."""
MAGIC = 2
"""Format of a batch that names none."""


class RecordLine(Part):
    """A record as a file gives it."""

    offset: Natural
    key: Content | None = None
    value: Content | None = None
    timestamp_ms: OrNone | None = None
    headers: Annotated[tuple[tuple[str, HeaderContent], ...], Within(HEADERS)] | None = None
    marker: ControlName | None = None
    flag: bool | None = None
    """The tombstone attribute of KIP-87."""


class BatchLine(Part):
    """A batch as a file gives it."""

    base_offset: Natural
    last_offset: Annotated[int, Ge(0), Le(LONG - 1)]  # the log end offset is one more
    epoch: Annotated[int, Ge(-1), Le(LEADER_EPOCH.most)] | None = None
    producer_id: OrNone | None = None
    producer_epoch: Annotated[int, Ge(-1), Le(PRODUCER_EPOCH.most)] | None = None
    base_sequence: Annotated[int, Ge(-1), Le(MAX_SEQUENCE)] | None = None
    transactional: bool | None = None
    control: ControlName | None = None
    timestamp_ms: OrNone | None = None
    delete_horizon_ms: Natural | None = None
    records: tuple[RecordLine, ...]
    magic: Annotated[int, Ge(0), Le(MAGIC)] | None = None
    timestamp_type: TimestampType | None = None
    compression: Compression | None = None
    size_bytes: Natural | None = None
    """Its size on disk, if it is another one than that of its records without compression."""


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def batch_of(line: BatchLine, place: Place, rules: LogRules) -> Batch:
    """The batch that a file gives at `place`.

    Raises:
        BadInput: Offsets do not ascend, lie outside the batch or are too many; its format lacks a
            field that it gives; no producer or broker writes such a batch or marker.
    """
    base, last = line.base_offset, line.last_offset
    place.refuse("last_offset", last < base, f"{last} is below the base offset {base}")
    place.at("last_offset").check(BATCH_OFFSETS.too_many(last - base, "offsets after the first"))
    if line.magic is not None and line.magic < MAGIC:
        return _old_batch(line, line.magic, place, rules)
    records = tuple(_records(line, place, rules))
    for index, record in enumerate(records):
        text = f"{record.offset} is outside its batch, {base} to {last}"
        outside = not base <= record.offset <= last
        place.at("records").at(index).refuse("offset", outside, text)
    producer_id, transactional = _or(line.producer_id, -1), bool(line.transactional)
    unowned = transactional and producer_id < 0
    place.refuse("producer_id", unowned, "a transaction has a producer; allowed: 0 and above")
    if line.control is not None:
        _check_control(line, producer_id, place)
    squeezed = line.compression not in {None, "none"} and not records
    text = f"{line.compression} of a batch without records; allowed: none"
    place.refuse("compression", squeezed, text)
    largest = max((record.timestamp_ms for record in records), default=-1)
    timestamp_ms = _or(line.timestamp_ms, largest)
    size_bytes = _or(line.size_bytes, _size(records, line))
    if line.timestamp_type == "LogAppendTime":
        records = _at_one_time(records, timestamp_ms)
    return Batch(
        base,
        last,
        _or(line.epoch, 0),
        records,
        timestamp_ms,
        size_bytes,
        producer_id,
        _or(line.producer_epoch, -1),
        _or(line.base_sequence, -1),
        transactional,
        None if line.control is None else Control(line.control),
        line.delete_horizon_ms,
    )


def check_follows(batch: Batch, end: int, place: Place) -> None:
    """Raises BadInput unless the batch at `place` may be appended to a log that ends at `end`."""
    text = f"{batch.base_offset} is below {end}, where what comes before it ends"
    place.refuse("base_offset", batch.base_offset < end, text)


def check_markers(batches: Iterable[tuple[Batch, Place]]) -> None:
    """Raises BadInput for a marker without data of a producer that wrote outside transactions."""
    plain: dict[int, int] = {}
    in_transactions: set[int] = set()
    for batch, place in batches:
        producer = batch.producer_id
        if batch.control is not None:
            text = f"producer {producer} writes outside transactions, as at offset"
            place.refuse(
                "control",
                producer in plain and producer not in in_transactions,
                f"{batch.control} without a transaction: {text} {plain.get(producer)}",
            )
            in_transactions.discard(producer)
        elif batch.transactional:
            in_transactions.add(producer)
        elif producer >= 0:
            plain.setdefault(producer, batch.base_offset)


def _old_batch(line: BatchLine, magic: int, place: Place, rules: LogRules) -> OldBatch:
    """A batch of magic 0 or 1. Raises BadInput for what its format cannot hold."""
    for name, none in _NOT_IN_OLD.items():
        given = getattr(line, name) not in (None, none)
        place.refuse(name, given, f"a batch of magic {magic} has none; allowed: magic {MAGIC}")
    for index, one in enumerate(line.records):
        beside: dict[str, Any] = {"headers": one.headers, "flag": one.flag}
        beside |= {"timestamp_ms": one.timestamp_ms} if magic == 0 else {}
        for name, value in beside.items():
            text = f"a record of magic {magic} has none, not {shown(value)}"
            place.at("records").at(index).refuse(name, value not in (None, (), -1), text)
    records = tuple(replace(one, flagged=None) for one in _records(line, place, rules))
    place.refuse("records", not records, f"a batch of magic {magic} has at least one record")
    ends = (("base_offset", "begins at its first", 0), ("last_offset", "ends at its last", -1))
    for name, end, index in ends:
        of, offset = getattr(line, name), records[index].offset
        text = f"a batch of magic {magic} {end} record, {offset}, not {of}"
        place.refuse(name, of != offset, text)
    unlike = line.compression == "zstd" or (line.compression == "none" and len(records) > 1)
    why = f"what holds several records of magic {magic} is compressed, and not by zstd"
    place.refuse("compression", unlike, f"{why}; allowed: {listed(get_args(Compression)[1:4])}")
    if line.timestamp_type == "LogAppendTime":
        text = "a batch of magic 0 has no time; allowed: magic 1 and 2"
        place.refuse("timestamp_type", magic == 0, text)
        largest = max(record.timestamp_ms for record in records)
        records = _at_one_time(records, _or(line.timestamp_ms, largest))
    made = old_batch(magic, records)
    made = replace(made, size_bytes=_or(line.size_bytes, made.size_bytes))
    text = f"a batch of magic {magic} has that of its records, {made.timestamp_ms}"
    differs = line.timestamp_ms not in (None, made.timestamp_ms)
    place.refuse("timestamp_ms", differs, f"{text}, not {line.timestamp_ms}")
    return made


def _check_control(line: BatchLine, producer_id: int, place: Place) -> None:
    """Checks a marker: one record of a producer in a transaction, or none if it was emptied.

    The data of its transaction may be gone, as it is after cleaning. A change of the leader
    (KIP-595) belongs to no transaction.
    """
    if line.control != "LEADER_CHANGE":
        text = "a marker ends the transaction of a producer; it has none"
        place.refuse("producer_id", producer_id < 0, text)
        text = "a marker ends a transaction; it cannot be false"
        place.refuse("transactional", not line.transactional, text)
    elif producer_id >= 0:
        place.at("producer_id").fail(f"a change of the leader has none, not {producer_id}")
    base, last, count = line.base_offset, line.last_offset, len(line.records)
    place.refuse("last_offset", last != base, f"a marker takes one offset; {last} is not {base}")
    text = f"a control batch has one record, its marker, not {count}"
    place.refuse("records", count > 1, text)


def _at_one_time(records: tuple[Record, ...], timestamp_ms: int) -> tuple[Record, ...]:
    """The records with the time of their batch in place of their producer's (KIP-32).

    The producer's time stays stored until the batch is rewritten (DefaultRecord.readFrom).
    """
    return tuple(replace(record, timestamp_ms=timestamp_ms) for record in records)


def _size(records: tuple[Record, ...], line: BatchLine) -> int:
    if not records:
        return BATCH_HEADER_BYTES
    horizon_ms = line.delete_horizon_ms
    if line.control is None:
        return size_of(records, base_offset=line.base_offset, base_timestamp_ms=horizon_ms)
    return control_size(records[0].timestamp_ms, horizon_ms)


def _records(line: BatchLine, place: Place, rules: LogRules) -> list[Record]:
    """The records of a batch. Raises BadInput unless their offsets ascend."""
    found: list[Record] = []
    for index, given in enumerate(line.records):
        at = place.at("records").at(index)
        record = _record(given, line.control, at, rules)
        if found and record.offset <= found[-1].offset:
            at.at("offset").fail(f"{record.offset} is not above {found[-1].offset}")
        found.append(record)
    return found


def _record(given: RecordLine, control: str | None, place: Place, rules: LogRules) -> Record:
    marker = given.marker
    if control is None:
        place.refuse("marker", marker is not None, f"{marker} stands outside a control batch")
    else:
        text = f"missing; the record of a control batch has it: {control}"
        place.refuse("marker", marker is None, text)
        text = f"{marker} stands in a control batch that says {control}"
        place.refuse("marker", marker != control, text)
        for name, value in (("key", given.key), ("value", given.value)):
            place.refuse(name, value is not None, f"a marker has none, not {shown(value)}")
    deletes = given.value is None and control is None
    return Record(
        given.offset,
        given.key,
        given.value,
        _or(given.timestamp_ms, -1),
        tuple(
            (name, rules.encode(value) if isinstance(value, int) else value)
            for name, value in given.headers or ()
        ),
        deletes if given.flag is None else given.flag,
        uid=given.offset + 1,
    )
