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
