"""What an ABORT marker leaves behind that a user's key evicts (KAFKA-14055)."""

from sim.compaction import Cleaning, clean
from sim.compaction.failures import IndexOutOfOrder
from sim.log import AbortedTransaction, Batch, Segment
from tests.compaction.logs import aborted_of, batch, marker, offsets_of, plan, record, segment

BY_KEY = {"markers_by_key": True, "full_map": False}
USER = "\0\0\0\0"
FAR = 3_000_000_000


def aborted(producer_id: int, first_offset: int, last_offset: int) -> AbortedTransaction:
    """An entry of the index."""
    return AbortedTransaction(producer_id, first_offset, last_offset, last_offset + 1)


def spans(segments: list[Segment]) -> list[tuple[int, int]]:
    """First and last offset of each entry."""
    return [(entry.first_offset, entry.last_offset) for entry in aborted_of(segments)]


def log_with(*tail: Batch) -> list[Segment]:
    """An aborted transaction of producer 7 whose marker was evicted in an earlier pass."""
    first = [batch(record(0, "a"), pid=7), marker(1, 7, commit=False), batch(record(2, USER))]
    log = [segment(*first), segment(base=3)]
    log[0].aborted = [aborted(7, 0, 1)]
    done = clean(log, plan(upper_bound=3, **BY_KEY))
    assert (offsets_of(done.segments), spans(done.segments)) == ([2], [(0, 1)])
    later = segment(*tail)
    later.aborted = [
        aborted(each.producer_id, each.base_offset - 1, each.base_offset)
        for each in tail
        if each.control is not None
    ]
    return [*done.segments, later, segment(base=tail[-1].last_offset + 1)]


def pair(offset: int, producer_id: int) -> list[Batch]:
    """An aborted transaction of one record, with its marker."""
    return [
        batch(record(offset, "k"), pid=producer_id),
        marker(offset + 1, producer_id, commit=False),
    ]


def second_pass(log: list[Segment]) -> Cleaning:
    return clean(log, plan(first_dirty_offset=3, upper_bound=log[-1].base_offset, **BY_KEY))


def test_an_entry_that_would_go_back_in_the_index_stops_the_pass() -> None:
    done = second_pass(log_with(*pair(3, 8), *pair(5, 7)))

    assert isinstance(done.failure, IndexOutOfOrder)
    assert done.failure.offset == 6
    assert str(done.failure) == (
        "the ABORT marker at offset 6 ends a transaction whose own marker, at 1, is gone; its "
        "entry cannot follow that of 4 in the index of aborted transactions"
    )
    assert (done.replaced, done.next_dirty_offset, done.changed) == (0, 3, False)


def test_it_can_be_written_again_while_no_later_one_is_before_it() -> None:
    done = second_pass(log_with(*pair(3, 7), *pair(5, 8)))

    assert done.failure is None
    assert spans(done.segments) == [(0, 1), (5, 6)]


def test_groups_that_were_finished_before_take_their_places() -> None:
    log = log_with(*pair(FAR, 8), *pair(FAR + 2, 7))
    log[0].aborted, stale = [], log[0].aborted
    log[1].aborted = [*stale, *log[1].aborted]
    again = batch(record(FAR + 4, USER))
    log[2:] = [segment(again), segment(base=FAR + 5)]

    done = clean(log, plan(first_dirty_offset=3, upper_bound=FAR + 5, **BY_KEY))

    assert isinstance(done.failure, IndexOutOfOrder)
    assert (done.replaced, [each.base_offset for each in done.segments]) == (1, [0])
    assert [gone.offset for gone in done.removed["superseded"]] == [2]
    assert done.removed["aborted"] == []
    assert (done.messages_read, done.messages_written) == (0, 0)
