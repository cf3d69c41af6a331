"""What a topic promises, as the oracle reads it: which record of a key wins, and what deletes one.

Written from KIP-280 and KIP-87 alone. Nothing here is shared with what is judged: a mistake of a
cleaner in finding a header, comparing versions or reading a flag is none of the oracle's. The one
exception is a strategy that a plugin registers: no document but the plugin says what it promises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from msgspec.structs import replace

from sim.protocol.compaction.extending import registered_order
from sim.protocol.log.record import Record
from sim.protocol.rules import Rules

Version = tuple[int, ...]
"""Of the records of a key the one with the highest wins; the last item is the offset."""

VersionOf = Callable[[Record], Version]
"""The version of a keyed data record."""

Mark = Callable[[Record], bool]
"""Whether a keyed data record is a tombstone."""

DEFAULT_HEADER: Final = "version"
"""Where a topic names no version header."""

_LONG_BYTES: Final = 8
_BY_LONG: Final[tuple[Literal["last_long", "last_bytes"], ...]] = ("last_long", "last_bytes")
_VARINT_BYTES_MAX: Final = 10
_HORIZON_HEADER: Final = "delete-horizon"


def promised_order(rules: Rules) -> VersionOf:
    """The order of versions that cleaning under these rules is judged by.

    `ties: first` and the other readings of headers change what a cleaner does and not what is
    promised: equal versions go to the later offset (KIP-280, Proposed Changes), and where a cleaner
    reads variable-length numbers, whatever number the producer wrote counts. Where one compares
    bytes, the KIP's numbers are promised.
    """
    strategy = rules.cleaner.strategy
    if strategy == "offset":
        return _by_offset
    if strategy == "timestamp":
        return _by_timestamp
    if strategy == "header":
        header = rules.topic.strategy_header or DEFAULT_HEADER
        numbers = _long if rules.cleaner.header_form in _BY_LONG else _long_or_varint
        return _by_header(header, numbers)
    return registered_order(strategy)


def promised_mark(rules: Rules) -> Mark:
    """What marks a tombstone under these rules."""
    return _MARKS[rules.cleaner.tombstone_mark]


def meant_version(record: Record, header: str) -> int | None:
    """The version its producer gave a record, however a cleaner reads it; None = none.

    It is in the last header of exactly that name: 8 bytes are a signed big-endian number, any
    others a zig-zag variable-length one.
    """
    return _long_or_varint(_last(record, header))


def as_appended(record: Record) -> Record:
    """A record without the header that a pass under `record_horizon` adds (KIP-534, Rejected)."""
    kept = tuple([each for each in record.headers if each[0] != _HORIZON_HEADER])
    return record if len(kept) == len(record.headers) else replace(record, headers=kept)


def without_flag(record: Record) -> Record:
    """A record as a format without the flag says it: a flagged delete is null (KIP-87, Migration).

    All else is as it was appended.
    """
    return replace(record, value=None if record.flagged else record.value, flagged=None)


def _by_offset(record: Record) -> Version:
    return (record.offset,)


def _by_timestamp(record: Record) -> Version:
    """A record without timestamp has -1 and loses to any that has one."""
    return (record.timestamp_ms, record.offset)


def _by_header(header: str, number: Callable[[bytes | None], int | None]) -> VersionOf:
    """A record with a version wins over any without one."""

    def version(record: Record) -> Version:
        found = number(_last(record, header))
        return (0, 0, record.offset) if found is None else (1, found, record.offset)

    return version


def _last(record: Record, header: str) -> bytes | None:
    """The value of the last header of exactly this name."""
    return dict(record.headers).get(header)


def _long(value: bytes | None) -> int | None:
    """A signed big-endian number of 8 bytes."""
    if value is None or len(value) != _LONG_BYTES:
        return None
    return int.from_bytes(value, "big", signed=True)


def _long_or_varint(value: bytes | None) -> int | None:
    """That, or the zig-zag variable-length number that any other length begins with."""
    if value is None or len(value) == _LONG_BYTES:
        return _long(value)
    number, unit = 0, 1
    for byte in value[:_VARINT_BYTES_MAX]:
        number += byte % 128 * unit
        unit *= 128
        if byte < 128:
            return number // 2 if number % 2 == 0 else -(number // 2) - 1
    return None


def _has_the_flag(record: Record) -> bool:
    return record.flagged is True


_MARKS: Final[dict[str, Mark]] = {
    "null_value": lambda record: record.value is None,
    # KIP-87: the attribute, whatever the value is.
    "flag": _has_the_flag,
    "explicit": _has_the_flag,
    # KIP-87, Rejected Alternatives: key 5 of the headers, a boolean.
    "header": lambda record: _last(record, "5") == b"\x01",
    # KIP-87, Migration Plan: the flag where the record's format has one, else the null value.
    "magic": lambda record: record.value is None if record.flagged is None else record.flagged,
}
"""What marks a tombstone, by the rule `tombstone_mark`."""
