"""The index of aborted transactions: who is found, who stays in it (KAFKA-13727)."""

from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.compaction.transactions import (
    AbortedRanges,
    Transaction,
    TransactionWatch,
    aborted_in,
    transactions_in,
)
from sim.protocol.log import AbortedTransaction, Control, Log, Segment
from tests.compaction.histories import logs
from tests.compaction.logs import (
    batch,
    batches_of,
    indexed,
    marker,
    record,
    segment,
    two_transactions,
)


def spread() -> list[Segment]:
    """An aborted transaction over three segments, another one inside the second."""
    return indexed(
        segment(batch(record(0, "a")), batch(record(1, "k"), pid=7)),
        segment(
            batch(record(2, "k"), pid=7), batch(record(3, "b"), pid=8), marker(4, 8, commit=False)
        ),
        segment(batch(record(5, "k"), pid=7), marker(6, 7, commit=False), batch(record(7, "a"))),
        segment(base=8),
    )


LONG = AbortedTransaction(7, 1, 6, 7)
SHORT = AbortedTransaction(8, 3, 4, 1)


@given(logs(), st.integers(0, 30), st.integers(0, 30))
def test_the_index_is_asked_for_what_touches_a_range(log: Log, start: int, end: int) -> None:
    """As if every aborted transaction of the log were looked at."""
    touching = [t for t in log.aborted_ever if t.last_offset >= start and t.first_offset < end]

    assert aborted_in(log.segments, start, end) == touching


def test_later_segments_are_asked_until_nothing_older_was_open() -> None:
    log = spread()
    log[2].aborted.append(AbortedTransaction(9, 0, 7, 8))

    assert aborted_in(log, 0, 7) == [SHORT, LONG]
    assert aborted_in(log, 0, 8) == [SHORT, LONG, AbortedTransaction(9, 0, 7, 8)]
    assert aborted_in(log, 0, 8, first=2) == [LONG, AbortedTransaction(9, 0, 7, 8)]


def test_an_entry_is_told_once_however_often_it_is_collected() -> None:
    """A transaction that is active already is not begun again by the next segment's answer."""
    watch = TransactionWatch([LONG], writes_index=True)
    told = [watch.decides(batch(record(1, "k"), pid=7))]
    watch.add([LONG])
    told.append(watch.decides(marker(6, 7, commit=False)))
    told.append(watch.decides(batch(record(8, "k"), pid=7)))

    assert told == [True, False, False]
    assert watch.kept == [LONG]


# Transactions as they are read from the batches alone.


def test_transactions_are_found_in_the_batches_of_a_log() -> None:
    batches = [*batches_of(two_transactions(True, False)), batch(record(5, "f"), pid=8)]

    assert transactions_in(batches, below=9) == [
        Transaction(7, 0, 1, Control.COMMIT),
        Transaction(7, 2, 3, Control.ABORT),
        Transaction(8, 5, None, None),
    ]
    assert transactions_in(batches, below=3) == [
        Transaction(7, 0, 1, Control.COMMIT),
        Transaction(7, 2, None, None),
    ]


def test_a_batch_is_in_an_aborted_range_if_it_is_transactional_data_between_its_ends() -> None:
    ranges = AbortedRanges(transactions_in(batches_of(two_transactions(True, False)), below=9))

    inside = [
        each.base_offset for each in batches_of(two_transactions(True, False)) if each in ranges
    ]
    assert inside == [2]
    assert batch(record(2, "e"), pid=7, sequence=0) not in ranges
    assert batch(record(2, "e"), pid=8) not in ranges
