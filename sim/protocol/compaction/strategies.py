"""Compaction strategies: which record of a key wins (KIP-280, `compaction.strategy`).

A strategy is a version order on records: the highest tuple wins. Every tuple ends with the offset,
so ties go to the later record, as KIP-280 asks; `EarlierOfEquals` is what the rule `ties: first`
makes of a strategy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from sim.protocol.compaction.failures import UnreadableVersion
from sim.protocol.log import Record

Version = tuple[int, ...]
"""Compared like any tuple; the last item is the record's offset."""

VERSION_HEADER_BYTES = 8


class Strategy(Protocol):
    """A version order. `name` is its value in rules; `source` says who asks for it."""

    @property
    def name(self) -> str:
        """Name of the strategy: a value of `compaction.strategy`."""

    @property
    def source(self) -> str:
        """The document that defines it."""

    @property
    def latest_wins(self) -> bool:
        """True when the highest offset always wins, so that versions need not be compared."""

    def version(self, record: Record) -> Version:
        """The version of a keyed data record; of one key, the highest wins."""


class OffsetStrategy(NamedTuple):
    """The record with the highest offset wins; Kafka's only strategy."""

    name: str = "offset"
    source: str = "KIP-280, Proposed Changes; Cleaner.shouldRetainRecord"
    example: str = "kip280/kip280_47_offset_strategy_ignores_versions.yaml"
    latest_wins: bool = True

    def version(self, record: Record) -> Version:
        """A version of one part: the record's offset."""
        return (record.offset,)


class TimestampStrategy(NamedTuple):
    """The record with the highest timestamp wins; among equals the later one."""

    name: str = "timestamp"
    source: str = "KIP-280, Proposed Changes"
    example: str = "kip280/kip280_45_timestamp_wins_over_offset.yaml"
    latest_wins: bool = False

    def version(self, record: Record) -> Version:
        """Timestamp in ms (-1 = none, loses to any), then offset."""
        return (record.timestamp_ms, record.offset)


class HeaderStrategy(NamedTuple):
    """The record with the highest version header wins; one without loses to any with one.

    The version is the last header with exactly the configured name; its value is a signed
    big-endian 8-byte integer. Any other length is no version, without falling back to an earlier
    occurrence.
    """

    header: str = "version"
    name: str = "header"
    source: str = "KIP-280, Proposed Changes"
    example: str = "kip280/kip280_21_full_map_keeps_the_winner.yaml"
    latest_wins: bool = False

    def version(self, record: Record) -> Version:
        """(1, value, offset) with a version, (0, 0, offset) without."""
        for name, value in reversed(record.headers):
            if name == self.header:
                if len(value) != VERSION_HEADER_BYTES:
                    break
                return (1, int.from_bytes(value, "big", signed=True), record.offset)
        return (0, 0, record.offset)


class BytesHeaderStrategy(NamedTuple):
    """The header strategy by the bytes of the version, of any length; an empty value counts, too.

    The version is the last header with exactly the configured name. Bytes are unsigned and compared
    from the first on; of two that begin alike the longer one wins. It agrees with KIP-280's 8-byte
    numbers where all versions have one length and none is negative: -1 is above every number from
    0 on, the text 9 above the text 10, and one byte 05 above 8 bytes that say 6. A map that keeps
    values of any length has entries of no fixed size; here they count as any version does.
    """

    header: str = "version"
    name: str = "header"
    source: str = "KIP-280, Rejected Alternatives"
    latest_wins: bool = False

    def version(self, record: Record) -> Version:
        """(1, each byte from 1 on, 0, offset) with a version, (0, offset) without."""
        for name, value in reversed(record.headers):
            if name == self.header:
                return (1, *[byte + 1 for byte in value], 0, record.offset)
        return (0, record.offset)


class MeantHeaderStrategy(NamedTuple):
    """The header strategy by what the producers meant, whichever way a cleaner reads it.

    The last header of that name: a signed number in 8 bytes, or a zig-zag variable-length integer.
    One that takes exactly 8 bytes is taken for the former.
    """

    header: str = "version"
    name: str = "header"
    source: str = "KIP-280, Proposed Changes, for producers that write what PR 8103 reads"
    latest_wins: bool = False

    def version(self, record: Record) -> Version:
        """(1, value, offset) with a version, (0, 0, offset) without."""
        for name, value in reversed(record.headers):
            if name == self.header:
                if len(value) == VERSION_HEADER_BYTES:
                    return (1, int.from_bytes(value, "big", signed=True), record.offset)
                found = decode_varint(value)
                return (0, 0, record.offset) if found is None else (1, found, record.offset)
        return (0, 0, record.offset)


class VarintHeaderStrategy(NamedTuple):
    """The header strategy as it was coded in PR 8103: a variable-length version, found loosely.

    The version is the first header with a value whose name, trimmed and in any case, is the
    configured one; it is a zig-zag variable-length integer, and bytes after it are ignored. What
    cannot be decoded, or is not above 0, is no version.
    """

    header: str = "version"
    name: str = "header"
    source: str = "apache/kafka PR 8103, RecordVersion"
    latest_wins: bool = False

    def version(self, record: Record) -> Version:
        """(version, offset); -1 without a version."""
        wanted = self.header.strip().casefold()
        for name, value in record.headers:
            if value and name.strip().casefold() == wanted:
                found = decode_varint(value)
                return (found if found is not None and found > 0 else -1, record.offset)
        return (-1, record.offset)


class UncheckedVarintHeaderStrategy(NamedTuple):
    """The header strategy as it was merged into a fork: the varint as it is, nothing checked.

    The header is found as in PR 8103. Any number counts, a negative one as well, and a record
    without the header has version -1: it beats those below. What is no number stops the pass.
    """

    header: str = "version"
    name: str = "header"
    source: str = "microsoft/kafka PR 45 (4e9967880), SkimpyOffsetMap.extractVersion"
    latest_wins: bool = False

    def version(self, record: Record) -> Version:
        """(number, offset); -1 without the header.

        Raises:
            UnreadableVersion: The header's value is no variable-length integer.
        """
        wanted = self.header.strip().casefold()
        for name, value in record.headers:
            if value and name.strip().casefold() == wanted:
                found = decode_varint(value)
                if found is None:
                    raise UnreadableVersion(record.offset)
                return (found, record.offset)
        return (-1, record.offset)


_NO_OFFSET: Final = 1 << 63
"""Above every offset."""


class EarlierOfEquals(NamedTuple):
    """A strategy whose ties go to the earlier offset, as in a map that only replaces what is less.

    Attributes:
        order: The strategy; it is one that compares versions.
    """

    order: Strategy
    latest_wins: bool = False

    @property
    def name(self) -> str:
        """Name of the underlying strategy."""
        return self.order.name

    @property
    def source(self) -> str:
        """Source of the underlying strategy."""
        return self.order.source

    def version(self, record: Record) -> Version:
        """The version of the strategy, the offset turned round; no part becomes negative by it."""
        version = self.order.version(record)
        return (*version[:-1], _NO_OFFSET - version[-1])


MAX_VARINT_BYTES = 10


def encode_varint(number: int) -> bytes:
    """A zig-zag variable-length integer (ByteUtils.writeVarlong)."""
    zigzag = number * 2 if number >= 0 else -number * 2 - 1
    found = bytearray()
    while zigzag >= 0x80:
        found.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes((*found, zigzag))


def decode_varint(value: bytes) -> int | None:
    """The zig-zag variable-length integer that `value` starts with; None when there is none."""
    zigzag = 0
    for index, byte in enumerate(value[:MAX_VARINT_BYTES]):
        zigzag |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return (zigzag >> 1) ^ -(zigzag & 1)
    return None


def encode_version(version: int) -> bytes:
    """The header value of a version: signed big-endian, 8 bytes (KIP-280).

    Raises:
        OverflowError: The version does not fit 64 bits.
    """
    return version.to_bytes(VERSION_HEADER_BYTES, "big", signed=True)


STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (OffsetStrategy(), TimestampStrategy(), HeaderStrategy())
}
"""The registered strategies by name."""


HEADER_FORMS: dict[str, Callable[[str], Strategy]] = {
    "last_long": HeaderStrategy,
    "first_varint": VarintHeaderStrategy,
    "unchecked_varint": UncheckedVarintHeaderStrategy,
    "last_bytes": BytesHeaderStrategy,
}
"""How the header strategy reads a version, by value of the `header_form` rule."""

ENCODERS: dict[str, Callable[[int], bytes]] = {
    "last_long": encode_version,
    "first_varint": encode_varint,
    "unchecked_varint": encode_varint,
    "last_bytes": encode_version,
}
"""What writes a version so that the form reads it back, by value of the `header_form` rule."""

_UNMAPPED: dict[str, Version] = {"unchecked_varint": (-1, -1)}


def unmapped_version(name: str, header_form: str) -> Version | None:
    """The lowest version that keeps a record whose key is not in the map; None = any version.

    The fork takes -1 for the version of a key that it does not find (SkimpyOffsetMap.getVersion).
    """
    return _UNMAPPED.get(header_form) if name == "header" else None


def strategy_for(
    name: str,
    *,
    header: str | None = None,
    header_form: str = "last_long",
    ties: str = "latest",
) -> Strategy:
    """The strategy called `name`, as a cleaner goes by it.

    `header` names the version header of the header strategy; `ties` is a value of that rule.
    """
    found = STRATEGIES[name]
    if name == "header":
        found = HEADER_FORMS[header_form](header or "version")
    return found if ties == "latest" or found.latest_wins else EarlierOfEquals(found)


def promised_strategy(
    name: str, *, header: str | None = None, header_form: str = "last_long"
) -> Strategy:
    """The strategy by which invariants judge cleaning.

    Versions that `header_form` cannot read count, too, and ties go to the later offset. A cleaner
    that compares bytes is judged by KIP-280's numbers.
    """
    if name == "header" and header_form not in ("last_long", "last_bytes"):
        return MeantHeaderStrategy(header or "version")
    return strategy_for(name, header=header)
