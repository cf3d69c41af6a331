"""What the oracle reads by itself is what the documents say, and what a right cleaner goes by."""

from random import Random

import pytest

from sim.check.invariants.epochs import EpochBook
from sim.check.promise import meant_version, promised_mark, promised_order
from sim.protocol.compaction import STRATEGIES
from sim.protocol.compaction.strategies import encode_varint, encode_version, meant_strategy
from sim.protocol.compaction.tombstones import TOMBSTONE_MARKS
from sim.protocol.log import LeaderEpochCache, Record
from sim.protocol.rules import Rules

LONG = {"strategy": "header", "header_form": "last_long"}


def record(offset: int, *headers: tuple[str, bytes], at: int = 0) -> Record:
    return Record(offset, "k", "v", at, headers)


def v(number: int, name: str = "version") -> tuple[str, bytes]:
    return (name, encode_version(number))


@pytest.mark.parametrize(
    ("rules", "winner", "loser"),
    [
        ({"strategy": "offset"}, record(2), record(1, at=9)),
        ({"strategy": "timestamp"}, record(1, at=9), record(2, at=8)),
        ({"strategy": "timestamp"}, record(2, at=9), record(1, at=9)),
        ({"strategy": "timestamp"}, record(1, at=0), record(2, at=-1)),
        (LONG, record(1, v(9)), record(2, v(8))),
        (LONG, record(2, v(9)), record(1, v(9))),
        (LONG, record(1, v(-9)), record(2)),
        (LONG, record(2), record(1)),
        (LONG, record(1, v(1)), record(2, v(-1))),
        (LONG, record(1, v(2), v(5)), record(2, v(9), v(4))),
        (LONG, record(1, v(2)), record(2, v(1), v(9, "other"))),
        (LONG, record(1, v(2)), record(2, v(9), ("version", b"short"))),
        (LONG, record(1, v(2)), record(2, v(9, "Version"))),
        ({**LONG, "ties": "first"}, record(2, v(9)), record(1, v(9))),
        ({"strategy": "header", "header_form": "first_varint"}, record(1, v(9)), record(2, v(8))),
        ({**LONG, "header_form": "last_bytes"}, record(1, v(1)), record(2, v(-1))),
        ({**LONG, "header_form": "last_bytes"}, record(1, v(6)), record(2, ("version", b"\x07"))),
        (
            {"strategy": "header", "header_form": "unchecked_varint"},
            record(1, ("version", encode_varint(-3))),
            record(2),
        ),
        ({**LONG, "strategy_header": "v"}, record(1, v(1, "v")), record(2, v(9))),
    ],
)
def test_the_promised_winner(rules: dict[str, str], winner: Record, loser: Record) -> None:
    order = promised_order(Rules.of(**rules))

    assert order(winner) > order(loser)


@pytest.mark.parametrize("form", ["last_long", "first_varint", "unchecked_varint", "last_bytes"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_right_cleaners_and_the_oracle_agree_on_every_pair(strategy: str, form: str) -> None:
    random = Random(280)
    values = [*map(encode_version, (-5, 0, 3)), *map(encode_varint, (-300, -1, 0, 7, 1 << 40))]
    values += [b"", b"\xff" * 12, b"\x80", b"\x96\x01rest"]
    records = [
        record(
            offset,
            *[
                (random.choice(("version", "Version", "x")), random.choice(values))
                for _ in range(random.randrange(4))
            ],
            at=random.randrange(-1, 3),
        )
        for offset in range(80)
    ]
    order = promised_order(Rules.of(strategy=strategy, header_form=form))
    right = meant_strategy(strategy, header_form=form).version

    assert sorted(records, key=order) == sorted(records, key=right)


@pytest.mark.parametrize("mark", TOMBSTONE_MARKS)
def test_right_cleaners_and_the_oracle_agree_on_what_is_a_tombstone(mark: str) -> None:
    reads = promised_mark(Rules.of(tombstone_mark=mark))
    samples = [
        Record(0, "k", value, flagged=flag)
        for value in (None, "", "v")
        for flag in (True, False, None)
    ]

    assert [reads(one) for one in samples] == [TOMBSTONE_MARKS[mark](one) for one in samples]


def test_replicas_and_the_oracle_agree_on_where_epochs_end() -> None:
    random = Random(101)
    for _ in range(200):
        cache, book = LeaderEpochCache(), EpochBook(30)
        for _ in range(random.randrange(12)):
            epoch, offset = random.randrange(6), random.randrange(20)
            if random.random() < 0.8:
                cache.assign(epoch, offset)
                book.begin(epoch, offset)
            else:
                cache.truncate_from(offset)
                book.drop_from(offset)
            assert [tuple(one) for one in book.entries] == [tuple(one) for one in cache.entries]
            assert book.latest == cache.latest
            for asked in range(8):
                assert tuple(book.answer(asked)) == tuple(cache.end_offset_for(asked, 30))


def test_the_version_that_was_meant_is_read_in_any_form() -> None:
    assert meant_version(record(0, ("version", encode_varint(-300))), "version") == -300
    assert meant_version(record(0, v(-300)), "version") == -300
    assert meant_version(record(0, ("version", b"\x80")), "version") is None
    assert meant_version(record(0), "version") is None
