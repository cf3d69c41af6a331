"""Compaction strategies: which record of a key wins (KIP-280, `compaction.strategy`).

A strategy is a version order on records: the highest tuple wins. Every tuple ends with the offset,
so ties go to the later record, as KIP-280 asks, unless the rule `ties: first` turns that round. A
version that cannot be read is one reason why a pass fails.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from sim.protocol.log import Record


class PassFailed(ValueError):
    """A pass cannot go on.

    Attributes:
        offset: Offset of the record, or base offset of the batch, that the pass could not clean.
    """

    def __init__(self, offset: int, why: str) -> None:
        """Fails at `offset`; `why` is the message, a clause that names the offset."""
        super().__init__(why)
        self.offset = offset


class UnreadableVersion(PassFailed):
    """A version header without a readable number."""

    def __init__(self, offset: int) -> None:
        """The header of the record at `offset` cannot be read."""
        super().__init__(
            offset, f"the version header at offset {offset} ends before its number does"
        )


Version = tuple[int, ...]
"""Compared like any tuple; the last item goes by the record's offset."""

VERSION_HEADER_BYTES = 8


class Strategy(NamedTuple):
    """A strategy: a version order on keyed data records.

    Attributes:
        name: Its name: a value of `compaction.strategy`.
        source: The document that defines it.
        means: What it does, for people.
        version: Returns the version of a keyed data record; of one key, the highest wins.
        latest_wins: True when the highest offset always wins, so that versions need not be
            compared.
        example: A file below `scenarios/` in which it makes a difference; empty for a plugin's.
    """

    name: str
    source: str
    means: str
    version: Callable[[Record], Version]
    latest_wins: bool = False
    example: str = ""


def by_offset(record: Record) -> Version:
    """A version of one part: the record's offset."""
    return (record.offset,)


def by_timestamp(record: Record) -> Version:
    """Timestamp in ms (-1 = none, loses to any), then offset."""
    return (record.timestamp_ms, record.offset)


def by_last_long(header: str, record: Record) -> Version:
    """The last header with exactly this name, a signed big-endian 8-byte integer (KIP-280).

    Any other length is no version, without falling back to an earlier occurrence.

    Returns:
        (1, value, offset) with a version, (0, 0, offset) without, which loses to any with one.
    """
    for name, value in reversed(record.headers):
        if name == header:
            if len(value) != VERSION_HEADER_BYTES:
                break
            return (1, int.from_bytes(value, "big", signed=True), record.offset)
    return (0, 0, record.offset)


def by_last_bytes(header: str, record: Record) -> Version:
    """The last header with exactly this name, by its bytes, of any length; empty counts, too.

    Bytes are unsigned and compared from the first on; of two that begin alike the longer one wins.
    It agrees with KIP-280's 8-byte numbers where all versions have one length and none is negative:
    -1 is above every number from 0 on, the text 9 above the text 10, and one byte 05 above 8 bytes
    that say 6. A map that keeps values of any length has entries of no fixed size; here they count
    as any version does. Source: KIP-280, Rejected Alternatives.

    Returns:
        (1, each byte from 1 on, 0, offset) with a version, (0, offset) without.
    """
    for name, value in reversed(record.headers):
        if name == header:
            return (1, *[byte + 1 for byte in value], 0, record.offset)
    return (0, record.offset)


def by_meaning(header: str, record: Record) -> Version:
    """The last header with exactly this name, as producers meant it, for any cleaner.

    A signed number in 8 bytes, or a zig-zag variable-length integer. One that takes exactly 8 bytes
    is taken for the former. Source: KIP-280, Proposed Changes, for producers that write what PR
    8103 reads.

    Returns:
        (1, value, offset) with a version, (0, 0, offset) without.
    """
    for name, value in reversed(record.headers):
        if name == header:
            if len(value) == VERSION_HEADER_BYTES:
                break
            found = decode_varint(value)
            return (0, 0, record.offset) if found is None else (1, found, record.offset)
    return by_last_long(header, record)


def by_first_varint(header: str, record: Record) -> Version:
    """The first header with a value whose name, trimmed and in any case, is this one.

    Its version is a zig-zag variable-length integer, and bytes after it are ignored. What cannot be
    decoded, or is not above 0, is no version. Source: apache/kafka PR 8103, RecordVersion.

    Returns:
        (version, offset); -1 without a version.
    """
    found = _first_value(record, header)
    number = None if found is None else decode_varint(found)
    return (number if number is not None and number > 0 else -1, record.offset)


def by_unchecked_varint(header: str, record: Record) -> Version:
    """The header of PR 8103 as a fork merged it: the varint as it is, nothing checked.

    Any number counts, a negative one as well, and a record without the header has version -1: it
    beats those below. What is no number stops the pass. Source: microsoft/kafka PR 45 (4e9967880),
    SkimpyOffsetMap.extractVersion.

    Returns:
        (number, offset); -1 without the header.

    Raises:
        UnreadableVersion: The header's value is no variable-length integer.
    """
    found = _first_value(record, header)
    if found is None:
        return (-1, record.offset)
    number = decode_varint(found)
    if number is None:
        raise UnreadableVersion(record.offset)
    return (number, record.offset)


def _first_value(record: Record, header: str) -> bytes | None:
    """The first value that is not empty under a header's name, trimmed and in any case."""
    wanted = header.strip().casefold()
    for name, value in record.headers:
        if value and name.strip().casefold() == wanted:
            return value
    return None


_NO_OFFSET: Final = 1 << 63
"""Above every offset."""


def _earlier_of_equals(order: Callable[[Record], Version], record: Record) -> Version:
    """A version with the offset turned round; no part becomes negative by it.

    So ties go to the earlier offset, as in a map that replaces only a lower version.
    """
    version = order(record)
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
    for strategy in (
        Strategy(
            "offset",
            "KIP-280, Proposed Changes; Cleaner.shouldRetainRecord",
            "the record with the highest offset wins; Kafka's only strategy",
            by_offset,
            latest_wins=True,
            example="kip280/kip280_47_offset_strategy_ignores_versions.yaml",
        ),
        Strategy(
            "timestamp",
            "KIP-280, Proposed Changes",
            "the record with the highest timestamp wins; among equals the later one",
            by_timestamp,
            example="kip280/kip280_45_timestamp_wins_over_offset.yaml",
        ),
        Strategy(
            "header",
            "KIP-280, Proposed Changes",
            "the record with the highest version header wins; one without loses to any with one",
            partial(by_last_long, "version"),
            example="kip280/kip280_21_full_map_keeps_the_winner.yaml",
        ),
    )
}
"""The registered strategies by name."""


HEADER_FORMS: dict[str, Callable[[str, Record], Version]] = {
    "last_long": by_last_long,
    "first_varint": by_first_varint,
    "unchecked_varint": by_unchecked_varint,
    "last_bytes": by_last_bytes,
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
    """The lowest version that keeps a record whose key is not in the map; None = any version does.

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
        version = partial(HEADER_FORMS[header_form], header or "version")
        found = found._replace(version=version)
    if ties == "latest" or found.latest_wins:
        return found
    return found._replace(version=partial(_earlier_of_equals, found.version))


def meant_strategy(
    name: str, *, header: str | None = None, header_form: str = "last_long"
) -> Strategy:
    """The strategy that producers mean, by which a state machine folds a log.

    Versions that `header_form` cannot read count, too, and ties go to the later offset. Where a
    cleaner compares bytes, KIP-280's numbers count.
    """
    if name == "header" and header_form not in ("last_long", "last_bytes"):
        version = partial(by_meaning, header or "version")
        return STRATEGIES[name]._replace(version=version)
    return strategy_for(name, header=header)
