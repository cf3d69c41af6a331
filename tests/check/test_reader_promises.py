"""What readers are promised, judged by hand-made reads."""

import pytest

from sim.log import Record
from sim.trace import Consumed, Event, ReadingEnded
from tests.check.events import appended, batch, cluster, committed, marker, violations_of

ABORTED, OPEN, PLAIN, DONE = (
    batch(0, "a", pid=7),
    batch(2, "b", pid=8),
    batch(3, "c"),
    batch(4, "d", pid=9),
)
LOG: list[Event] = [
    *cluster("r1"),
    *appended("r1", ABORTED, marker(1, 7, commit=False), OPEN, PLAIN, DONE),
    *appended("r1", marker(5, 9, commit=True)),
]


def read(*records: Record, reads_committed: bool) -> Consumed:
    return Consumed("r1", "c1", 0, 6, records, 0, reads_committed)


def test_a_committed_reader_is_given_neither_aborted_nor_undecided_data() -> None:
    name = "consumer-reads-committed"
    log = [*LOG, committed("r1", 6)]
    everything = [each.records[0] for each in (ABORTED, OPEN, PLAIN, DONE)]

    assert violations_of(name, [*log, read(*everything, reads_committed=False)]) == []
    assert violations_of(name, [*log, read(*everything[2:], reads_committed=True)]) == []
    found = violations_of(name, [*log, read(*everything, reads_committed=True)])
    assert [sentence.partition(" was given ")[2] for sentence in found] == [
        "a=v (offset 0) by r1, which is aborted in the committed history.",
        "b=v (offset 2) by r1, which is undecided in the committed history.",
    ]


def test_what_was_never_committed_is_judged_elsewhere() -> None:
    events = [*LOG, read(ABORTED.records[0], reads_committed=True)]

    assert violations_of("consumer-reads-committed", events) == []


@pytest.mark.parametrize(
    ("until", "position", "last_offset", "given", "waits_for"),
    [
        ("position", 6, 3, 2, None),
        ("position", 5, 4, 5, "its position 5 to be 6"),
        ("last_offset", 6, 5, 1, None),
        ("last_offset", 6, 4, 5, "the record at offset 5"),
        ("count", 6, 5, 5, None),
        ("count", 6, 5, 4, "5 records, and got 4"),
    ],
)
def test_a_reader_comes_to_the_end_it_was_told(
    until: str, position: int, last_offset: int, given: int, waits_for: str | None
) -> None:
    ended = ReadingEnded("r1", "c1", until, 1, 6, position, last_offset, given)

    found = violations_of("reader-reaches-end", [*LOG, ended])

    assert len(found) == (waits_for is not None)
    assert waits_for is None or f"c1 waits for {waits_for}; r1 holds nothing more" in found[0]


def test_a_reader_that_began_at_the_end_waits_for_nothing() -> None:
    ended = ReadingEnded("r1", "c1", "count", 6, 6, 6, -1, 0)

    assert violations_of("reader-reaches-end", [*LOG, ended]) == []
