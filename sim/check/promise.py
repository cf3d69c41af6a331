"""The promises of a topic, as the oracle reads them: the winner of a key, and its deletion.

This is written from KIP-87, KIP-280 and KIP-534 alone, and shares no code with the cleaner: a
mistake there in finding a header, comparing versions or reading a flag is not repeated here. The
one exception is a strategy of a plugin, whose only definition is the plugin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from msgspec.structs import replace

from sim.protocol.compaction.extending import registered_order
from sim.protocol.log.record import Record
from sim.protocol.rules import Rules

Version = tuple[int, ...]
"""The version of a record: the highest of a key wins. The last item is the offset."""

VersionOf = Callable[[Record], Version]
"""A function from a keyed data record to its version."""

Mark = Callable[[Record], bool]
"""A function that is true for tombstones among keyed data records."""

DEFAULT_HEADER: Final = "version"
"""Name of the version header where a topic names none."""

_LONG_BYTES: Final = 8
_BY_LONG: Final[tuple[Literal["last_long", "last_bytes"], ...]] = ("last_long", "last_bytes")
_VARINT_BYTES_MAX: Final = 10
_HORIZON_HEADER: Final = "delete-horizon"


def promised_order(rules: Rules) -> VersionOf:
    """The order of versions by which cleaning under these rules is judged.

    `ties: first` and the other readings of headers change what a cleaner does, not the promise: of
    equal versions the later offset wins (KIP-280, Proposed Changes), and where a cleaner reads
    variable-length numbers, numbers of any length count. Where a cleaner compares bytes, the KIP's
    numbers are promised.

    Raises:
        KeyError: No plugin registered the strategy.
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
    """The mark of a tombstone under these rules."""
    return _MARKS[rules.cleaner.tombstone_mark]


def meant_version(record: Record, header: str) -> int | None:
    """The version that a producer gave a record; None without one, or if it is no number.

    It is the content of the last header of exactly that name, whatever `header_form` a cleaner
    reads: 8 bytes are a signed big-endian number, any others a zig-zag variable-length one.
    """
    return _long_or_varint(_last(record, header))


def as_appended(record: Record) -> Record:
    """A record without the header that `record_horizon` adds (KIP-534, Rejected Alternatives)."""
    kept = tuple([each for each in record.headers if each[0] != _HORIZON_HEADER])
    return record if len(kept) == len(record.headers) else replace(record, headers=kept)


def without_flag(record: Record) -> Record:
    """A record in a format without the flag: a flagged delete is null (KIP-87, Migration).

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
    """The value of the last header of exactly this name; None without one."""
    return dict(record.headers).get(header)


def _long(value: bytes | None) -> int | None:
    """A signed big-endian number of 8 bytes; None for another length."""
    if value is None or len(value) != _LONG_BYTES:
        return None
    return int.from_bytes(value, "big", signed=True)


def _long_or_varint(value: bytes | None) -> int | None:
    """A signed number of 8 bytes, else the zig-zag variable-length number at the beginning.

    None if no such number ends within 10 bytes.
    """
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
    # KIP-87: the attribute, with any value.
    "flag": _has_the_flag,
    "explicit": _has_the_flag,
    # KIP-87, Rejected Alternatives: key 5 of the headers, a boolean.
    "header": lambda record: _last(record, "5") == b"\x01",
    # KIP-87, Migration Plan: the flag where the record's format has one, else the null value.
    "magic": lambda record: record.value is None if record.flagged is None else record.flagged,
}
"""The mark of a tombstone, by the value of the rule `tombstone_mark`."""
