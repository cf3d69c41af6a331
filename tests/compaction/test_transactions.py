"""Markers that a key evicts, or that share one, and where state may be folded to.

Aborted data and the life of markers: `tests/audits/second_reading.py` and `scenarios/transactions`.
"""

from sim.protocol.compaction.fold import undivided_end
from tests.compaction.logs import (
    batch,
    marker,
    record,
)


def test_no_transaction_reaches_across_an_undivided_end() -> None:
    """7 is decided at 2, above the last stable offset: 8 is open from 1 on."""
    log = [batch(record(0, "d"), pid=7), batch(record(1, "e"), pid=8), marker(2, 7, commit=True)]

    assert undivided_end(log, below=1) == 0
    assert undivided_end(log, below=3) == 0
    assert undivided_end([*log, marker(3, 8, commit=True)], below=4) == 4
    assert undivided_end([batch(record(0, "z")), *log[2:]], below=3) == 3


def test_an_undivided_end_is_below_any_number_of_transactions_that_cross_each_other() -> None:
    """Each begins before the marker of the one before it; the last one is open."""
    log = [batch(record(0, "a"), pid=7)]
    for number in range(1, 1_200):
        log.append(batch(record(2 * number - 1, "b"), pid=7 + number % 2))
        log.append(marker(2 * number, 8 - number % 2, commit=True))

    assert undivided_end(log, below=2_399) == 0
