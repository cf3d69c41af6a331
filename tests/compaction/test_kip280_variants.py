"""What the two pieces of code make of KIP-280: the same records under the text, and under each.

`text` is the KIP's, `pull_request` apache/kafka PR 8103 (closed), `fork` microsoft/kafka PR 45
(merged there). Both read SkimpyOffsetMap.extractVersion, put and shouldRetainRecord.
"""

import pytest

from sim.compaction import STRATEGIES, UnreadableVersion, entry_bytes, strategy_for
from sim.compaction.strategies import encode_varint, encode_version, unmapped_version
from sim.log import Record
from sim.rules import PRESETS, Rules
from tests.compaction.logs import batch, offsets_of, passes, record, segment

FORMS = {"text": "last_long", "pull_request": "first_varint", "fork": "unchecked_varint"}


def kept(*headers: tuple[tuple[str, bytes], ...]) -> dict[str, list[int]]:
    """Which of some records of one key survive a pass, as each reads their headers."""
    records = [Record(at, "k", "v", headers=each) for at, each in enumerate(headers)]
    log = [segment(*map(batch, records))]
    return {
        name: offsets_of(passes(log, 0, strategy=strategy_for("header", header_form=form)).segments)
        for name, form in FORMS.items()
    }


def long(version: int, name: str = "version") -> tuple[str, bytes]:
    return name, encode_version(version)


def varint(version: int, name: str = "version") -> tuple[str, bytes]:
    return name, encode_varint(version)


def test_eight_bytes_are_a_zero_to_both_so_the_offset_decides() -> None:
    """The KIP asks for a long; the code reads a variable-length number."""
    assert kept((long(5),), (long(3),)) == {"text": [0], "pull_request": [1], "fork": [1]}


def test_a_varint_is_no_version_to_the_text() -> None:
    """The KIP asks for 8 bytes; anything else is a missing header."""
    assert kept((varint(5),), (varint(3),)) == {"text": [1], "pull_request": [0], "fork": [0]}


def test_of_a_duplicated_header_both_take_the_first_one() -> None:
    """The KIP asks for the last occurrence."""
    falling, middle = (varint(9), varint(1)), (varint(5),)
    falling_long, middle_long = (long(9), long(1)), (long(5),)

    assert kept(falling, middle)["pull_request"] == kept(falling, middle)["fork"] == [0]
    assert kept(falling_long, middle_long)["text"] == [1]


def test_an_empty_first_occurrence_is_passed_over_by_both() -> None:
    found = kept((("version", b""), varint(9)), (varint(5),))

    assert found["pull_request"] == found["fork"] == [0]


def test_both_find_a_header_by_a_name_that_is_trimmed_and_in_any_case() -> None:
    found = kept((varint(9, " VERSION "),), (varint(5),))

    assert found["pull_request"] == found["fork"] == [0]


@pytest.mark.parametrize(
    ("earlier", "later", "pull_request", "fork"),
    [
        ((varint(0),), (varint(-5),), [1], [0]),
        ((varint(-5),), (varint(-7),), [1], [0]),
        ((), (varint(-5),), [1], [0]),
        ((), (varint(-1),), [1], [1]),
        ((varint(0),), (), [1], [0]),
        ((varint(1),), (), [0], [0]),
    ],
)
def test_what_is_not_above_zero_is_no_version_to_one_and_a_number_to_the_other(
    earlier: tuple[tuple[str, bytes], ...],
    later: tuple[tuple[str, bytes], ...],
    pull_request: list[int],
    fork: list[int],
) -> None:
    """To the fork a record without a header has version -1 and beats those below."""
    found = kept(earlier, later)

    assert (found["pull_request"], found["fork"]) == (pull_request, fork)


def test_a_byte_that_promises_another_is_no_version_to_one_and_stops_the_other() -> None:
    """A header of one byte 0x80: readVarlong runs off the buffer."""
    log = [segment(batch(Record(0, "k", "v", headers=(("version", b"\x80"),))))]
    pull_request = strategy_for("header", header_form="first_varint")
    fork = strategy_for("header", header_form="unchecked_varint")
    reads_all = unmapped_version("header", "unchecked_varint")

    assert offsets_of(passes(log, 0, strategy=pull_request).segments) == [0]
    stopped = passes(log, 0, strategy=fork, unmapped_version=reads_all)
    assert isinstance(stopped.failure, UnreadableVersion)


@pytest.mark.parametrize("form", ["first_varint", "unchecked_varint"])
def test_of_equal_versions_both_keep_the_later_record(form: str) -> None:
    """As the KIP says: shouldRetainRecord falls back to the offset."""
    log = [segment(*[batch(Record(at, "k", "v", headers=(varint(5),))) for at in range(3)])]

    found = passes(log, 0, strategy=strategy_for("header", header_form=form))
    assert offsets_of(found.segments) == [2]


@pytest.mark.parametrize("preset", ["kip-280-pr8103", "kip-280-azure"])
def test_both_map_dirty_records_only_and_keep_a_late_version_for_good(preset: str) -> None:
    """A clean winner and a late loser both stay, in this round and in any later one."""
    rules = Rules().with_values(PRESETS[preset].values)
    log = [segment(batch(record(0, "k", timestamp_ms=5)), batch(record(1, "k", timestamp_ms=3)))]
    assert rules.cleaner.map_range == "dirty"

    for first_dirty in (1, 1, 2):
        found = passes(
            log, 0, first_dirty_offset=first_dirty, strategy=STRATEGIES["timestamp"], full_map=False
        )
        log = list(found.segments)
        assert offsets_of(log) == [0, 1]


@pytest.mark.parametrize("form", list(FORMS.values()))
def test_a_version_takes_eight_bytes_more_in_each(form: str) -> None:
    """As the KIP says, 8 to 16 bytes beside the hash of 16."""
    assert entry_bytes(strategy_for("header", header_form=form)) == 16 + 16
    assert entry_bytes(STRATEGIES["offset"]) == 16 + 8
