"""What every strategy promises, and what each of them compares (KIP-280)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.compaction import (
    STRATEGIES,
    Strategy,
    UnreadableVersion,
    clean,
    strategy_for,
    unmapped_version,
)
from sim.compaction.strategies import HEADER_FORMS, decode_varint, encode_varint, encode_version
from sim.log import Record
from tests.compaction.logs import batch, offsets_of, plan, record, segment, whole

HEADER = STRATEGIES["header"]
VARINT = strategy_for("header", header_form="first_varint")
ALL = {**STRATEGIES, "first_varint": VARINT}
OF_KIP_280 = [strategy_for(name) for name in ("offset", "timestamp", "header")]


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
def test_a_strategy_is_a_total_order_on_records_at_different_offsets(
    strategy: Strategy, records: list[Record]
) -> None:
    a, b, c = (strategy.version(each) for each in records)

    assert (a < b) != (b < a)
    assert not (a < b < c) or a < c


@pytest.mark.parametrize("strategy", ALL.values(), ids=ALL)
@given(offset=st.integers(0, 9), version=st.sampled_from([None, 5]), time=st.integers(-1, 3))
def test_equals_are_ordered_by_offset(
    strategy: Strategy, offset: int, version: int | None, time: int
) -> None:
    early = record(offset, "k", timestamp_ms=time, version=version)
    late = record(offset + 1, "k", timestamp_ms=time, version=version)

    assert strategy.version(early) < strategy.version(late)


@pytest.mark.parametrize("strategy", ALL.values(), ids=ALL)
@given(records=distinct())
def test_a_strategy_that_says_the_latest_wins_means_it(
    strategy: Strategy, records: list[Record]
) -> None:
    newest = max(records, key=lambda each: each.offset)
    winner = max(records, key=strategy.version)

    assert not strategy.latest_wins or winner is newest


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_is_found_by_its_name_and_names_its_source(name: str) -> None:
    assert strategy_for(name).name == name
    assert strategy_for(name).source


@pytest.mark.parametrize("strategy", [*OF_KIP_280, VARINT])
@given(records=distinct(), value=st.sampled_from([None, "other"]))
def test_the_value_does_not_matter_to_the_strategies_of_kip_280(
    strategy: Strategy, records: list[Record], value: str | None
) -> None:
    changed = records[0]._replace(value=value, flagged=True, uid=99)

    assert strategy.version(changed) == strategy.version(records[0])


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


def test_the_offset_strategy_knows_no_ties() -> None:
    assert strategy_for("offset", ties="first") is STRATEGIES["offset"]


def test_ties_to_the_first_let_a_missing_version_stay_where_the_fork_does() -> None:
    log = [segment(batch(record(0, "k", version=None))), segment(batch(record(1, "l")))]
    fork = strategy_for("header", header_form="unchecked_varint", ties="first")
    floor = unmapped_version("header", "unchecked_varint")
    dirty = plan(strategy=fork, unmapped_version=floor, full_map=False, first_dirty_offset=1)

    assert clean(log, dirty).removals == ()


def test_the_offset_strategy_looks_at_nothing_else() -> None:
    early, late = record(0, "k", timestamp_ms=9, version=9), record(1, "k")

    assert STRATEGIES["offset"].version(early) < STRATEGIES["offset"].version(late)


def test_the_timestamp_strategy_lets_no_timestamp_lose() -> None:
    version = STRATEGIES["timestamp"].version

    assert version(record(9, "k", timestamp_ms=-1)) < version(record(0, "k", timestamp_ms=0))


def test_any_version_beats_no_version() -> None:
    lowest = record(0, "k", version=-(1 << 63))

    assert HEADER.version(record(9, "k")) < HEADER.version(lowest)


def headers(*values: tuple[str, bytes]) -> Record:
    """A record at offset 0 with these headers."""
    return record(0, "k")._replace(headers=values)


def test_versions_are_signed_big_endian_numbers_of_eight_bytes() -> None:
    two = headers(("version", b"\0\0\0\0\0\0\0\2"))
    minus_one = headers(("version", b"\xff" * 8))

    assert HEADER.version(two) == (1, 2, 0)
    assert HEADER.version(minus_one) == (1, -1, 0)
    assert encode_version(-1) == b"\xff" * 8
    with pytest.raises(OverflowError):
        encode_version(1 << 63)


def test_the_last_header_of_the_name_counts() -> None:
    twice = headers(("version", encode_version(9)), ("x", b"1"), ("version", encode_version(2)))

    assert HEADER.version(twice) == (1, 2, 0)


@pytest.mark.parametrize("value", [b"", b"\2", b"\0" * 4, b"\0" * 9])
def test_another_length_is_no_version_and_an_earlier_one_does_not_help(value: bytes) -> None:
    broken = headers(("version", encode_version(9)), ("version", value))

    assert HEADER.version(broken) == (0, 0, 0)


def test_the_header_s_name_is_the_configured_one_exactly() -> None:
    named = headers(("Version", encode_version(9)), ("lsn", encode_version(5)))

    assert HEADER.version(named) == (0, 0, 0)
    assert strategy_for("header", header="lsn").version(named) == (1, 5, 0)
    assert strategy_for("header", header="Version").version(named) == (1, 9, 0)


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


def test_the_two_forms_of_the_header_strategy_disagree() -> None:
    """Which of two occurrences counts, and what eight bytes mean."""
    twice = headers(("version", encode_varint(4)), ("version", encode_version(2)))

    assert (HEADER.version(twice), VARINT.version(twice)) == ((1, 2, 0), (4, 0))
    assert set(HEADER_FORMS) == {"last_long", "first_varint", "unchecked_varint", "last_bytes"}
    assert strategy_for("header", header="lsn", header_form="first_varint").version(
        headers(("LSN", encode_varint(3)))
    ) == (3, 0)


BYTES = strategy_for("header", header_form="last_bytes")


@given(st.binary(max_size=10), st.binary(max_size=10), st.booleans())
def test_bytes_are_compared_from_the_first_on_and_ties_go_to_the_later(
    one: bytes, other: bytes, later: bool
) -> None:
    first, second = (
        Record(offset, "k", "v", headers=(("version", value),))
        for offset, value in ((int(later), one), (int(not later), other))
    )

    assert (BYTES.version(first) > BYTES.version(second)) == ((one, later) > (other, not later))
    assert BYTES.version(first) > BYTES.version(Record(2, "k", "v"))


@given(st.integers(0, (1 << 63) - 1), st.integers(0, (1 << 63) - 1))
def test_bytes_agree_with_8_byte_numbers_that_are_not_negative(one: int, other: int) -> None:
    records = [
        Record(offset, "k", "v", headers=(("version", encode_version(version)),))
        for offset, version in enumerate((one, other))
    ]

    assert max(records, key=BYTES.version) == max(records, key=HEADER.version)


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.binary(max_size=2))
def test_a_varint_reads_back_whatever_follows_it(number: int, rest: bytes) -> None:
    assert decode_varint(encode_varint(number) + rest) == number


@pytest.mark.parametrize("value", [b"", b"\x80", b"\x80" * 10, b"\xff" * 11])
def test_a_varint_without_an_end_is_none(value: bytes) -> None:
    assert decode_varint(value) is None


# The form of the fork.

FORK = strategy_for("header", header_form="unchecked_varint")


@pytest.mark.parametrize("number", [7, 0, -1, -7])
def test_the_fork_took_any_number_for_a_version(number: int) -> None:
    assert FORK.version(headers((" VERSION ", encode_varint(number)))) == (number, 0)


def test_the_fork_let_a_missing_version_beat_one_below_minus_one() -> None:
    late = headers(("version", encode_varint(-2)))._replace(offset=9)

    assert FORK.version(late) < FORK.version(headers())


@pytest.mark.parametrize("value", [b"\x80", b"\xff" * 8, b"\x80" * 11])
def test_the_fork_stopped_at_a_header_that_is_no_number(value: bytes) -> None:
    with pytest.raises(UnreadableVersion, match="the version header at offset 0 ends before"):
        FORK.version(headers(("version", value)))


@pytest.mark.parametrize("capacity", [None, 9])
def test_a_header_that_is_no_number_stops_a_pass_even_if_its_key_has_one_record(
    capacity: int | None,
) -> None:
    log = [segment(batch(headers(("version", b"\x80"))))]
    floor = unmapped_version("header", "unchecked_varint")

    done = clean(log, plan(strategy=FORK, unmapped_version=floor, map_capacity=capacity))
    assert isinstance(done.failure, UnreadableVersion)
    assert (done.replaced, done.next_dirty_offset) == (0, 0)


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
