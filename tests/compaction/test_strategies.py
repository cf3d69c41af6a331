"""What every strategy promises, and what each of them compares (KIP-280)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sim.protocol.compaction import (
    STRATEGIES,
    Strategy,
    UnreadableVersion,
    clean,
    strategy_for,
    unmapped_version,
)
from sim.protocol.compaction.strategies import decode_varint, encode_varint, encode_version
from sim.protocol.log import Record
from tests.compaction.logs import batch, offsets_of, plan, record, segment, whole

HEADER = STRATEGIES["header"]
VARINT = strategy_for("header", header_form="first_varint")
ALL = {**STRATEGIES, "first_varint": VARINT}


@st.composite
def distinct(draw: st.DrawFn) -> list[Record]:
    """Three records of one key at different offsets."""
    offsets = draw(st.lists(st.integers(0, 9), min_size=3, max_size=3, unique=True))
    return [
        record(
            offset,
            "k",
            timestamp_ms=draw(st.integers(-1, 2)),
            version=draw(st.sampled_from([None, -(1 << 63), -1, 0, 1, (1 << 63) - 1])),
        )
        for offset in offsets
    ]


@pytest.mark.parametrize("strategy", ALL.values(), ids=ALL)
@given(records=distinct())
def test_a_strategy_is_a_total_order_and_equals_go_by_offset(
    strategy: Strategy, records: list[Record]
) -> None:
    a, b, c = (strategy.version(each) for each in records)
    same = replace(records[0], offset=records[0].offset + 1)
    newest = max(records, key=lambda each: each.offset)

    assert (a < b) != (b < a)
    assert not (a < b < c) or a < c
    assert strategy.version(records[0]) < strategy.version(same)
    assert not strategy.latest_wins or max(records, key=strategy.version) is newest


@pytest.mark.parametrize(
    "strategy",
    [strategy_for("timestamp", ties="first"), strategy_for("header", ties="first")],
    ids=lambda strategy: strategy.name,
)
@given(records=distinct())
def test_with_ties_to_the_first_only_the_order_of_equals_turns_round(
    strategy: Strategy, records: list[Record]
) -> None:
    a, b, _ = records
    plain = STRATEGIES[strategy.name]
    tie = plain.version(a)[:-1] == plain.version(b)[:-1]

    as_ever = (plain.version(a) < plain.version(b)) != tie
    assert (strategy.version(a) < strategy.version(b)) == as_ever
    assert strategy_for("offset", ties="first") is STRATEGIES["offset"]


def headers(*values: tuple[str, bytes]) -> Record:
    """A record at offset 0 with these headers."""
    return replace(record(0, "k"), headers=values)


def test_versions_are_signed_big_endian_numbers_of_eight_bytes() -> None:
    two = headers(("version", b"\0\0\0\0\0\0\0\2"))
    minus_one = headers(("version", b"\xff" * 8))

    assert HEADER.version(two) == (1, 2, 0)
    assert HEADER.version(minus_one) == (1, -1, 0)
    assert encode_version(-1) == b"\xff" * 8
    with pytest.raises(OverflowError):
        encode_version(1 << 63)


# The form of apache/kafka PR 8103.


@pytest.mark.parametrize(
    ("values", "version"),
    [
        ([("version", encode_varint(7))], 7),
        ([("version", encode_varint(1))], 1),
        ([("version", encode_varint(0))], -1),
        ([("version", encode_varint(-7))], -1),
        ([(" VerSion\t", encode_varint(7))], 7),
        ([("versions", encode_varint(7))], -1),
        ([("version", encode_varint(7)), ("version", encode_varint(9))], 7),
        ([("version", b""), ("version", encode_varint(9))], 9),
        ([("version", b"\x80"), ("version", encode_varint(9))], -1),
        ([("version", encode_varint(7) + b"\xff")], 7),
        ([("version", encode_version(5))], -1),
        ([], -1),
    ],
)
def test_the_pull_request_read_the_first_header_with_a_value_as_a_varint(
    values: list[tuple[str, bytes]], version: int
) -> None:
    assert VARINT.version(headers(*values)) == (version, 0)


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.binary(max_size=2))
def test_a_varint_reads_back_whatever_follows_it(number: int, rest: bytes) -> None:
    assert decode_varint(encode_varint(number) + rest) == number


@pytest.mark.parametrize("value", [b"", b"\x80", b"\x80" * 10, b"\xff" * 11])
def test_a_varint_without_an_end_is_none(value: bytes) -> None:
    assert decode_varint(value) is None


# The form of the fork.

FORK = strategy_for("header", header_form="unchecked_varint")


@pytest.mark.parametrize("value", [b"\x80", b"\xff" * 8, b"\x80" * 11])
def test_the_fork_stopped_at_a_header_that_is_no_number(value: bytes) -> None:
    with pytest.raises(UnreadableVersion, match="the version header at offset 0 ends before"):
        FORK.version(headers(("version", value)))


@pytest.mark.parametrize(("number", "left"), [(-5, [1]), (-1, [0, 1]), (1, [0, 1])])
def test_the_fork_dropped_a_key_it_did_not_find_below_minus_one(
    number: int, left: list[int]
) -> None:
    """Clean since an earlier round, so that a map of dirty keys does not know it."""
    log = [segment(batch(headers(("version", encode_varint(number)))), batch(record(1, "z")))]
    floor = unmapped_version("header", "unchecked_varint")
    result = clean(
        log, plan(strategy=FORK, unmapped_version=floor, full_map=False, first_dirty_offset=1)
    )

    assert offsets_of(whole(log, result)) == left
    assert unmapped_version("header", "first_varint") is None
    assert unmapped_version("timestamp", "unchecked_varint") is None
