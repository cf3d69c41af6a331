"""The index of aborted transactions: who is found, who stays in it (KAFKA-13727)."""

from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.compaction.transactions import (
    TransactionWatch,
    aborted_in,
)
from sim.protocol.log import AbortedTransaction, Log
from tests.compaction.histories import logs
from tests.compaction.logs import (
    batch,
    marker,
    record,
)

LONG = AbortedTransaction(7, 1, 6, 7)


@given(logs(), st.integers(0, 30), st.integers(0, 30))
def test_the_index_is_asked_for_what_touches_a_range(log: Log, start: int, end: int) -> None:
    """As if every aborted transaction of the log were looked at."""
    touching = [t for t in log.aborted_ever if t.last_offset >= start and t.first_offset < end]

    assert aborted_in(log.segments, start, end) == touching


def test_an_entry_is_told_once_however_often_it_is_collected() -> None:
    """A transaction that is active already is not begun again by the next segment's answer."""
    watch = TransactionWatch([LONG], writes_index=True)
    told = [watch.decides(batch(record(1, "k"), pid=7))]
    watch.add([LONG])
    told.append(watch.decides(marker(6, 7, commit=False)))
    told.append(watch.decides(batch(record(8, "k"), pid=7)))

    assert told == [True, False, False]
    assert watch.kept == [LONG]
