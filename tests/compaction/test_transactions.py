"""Markers that a key evicts, or that share one, and where state may be folded to.

Aborted data and the life of markers: `tests/audits/second_reading.py` and `scenarios/transactions`.
"""

import pytest

from sim.protocol.compaction import clean
from sim.protocol.compaction.copying import MARKER_KEYS
from sim.protocol.compaction.transactions import undivided_end
from sim.protocol.log import Control, Segment
from tests.compaction.logs import (
    batch,
    indexed,
    marker,
    offsets_of,
    plan,
    record,
    segment,
)


def keyed(offset: int, control: Control) -> list[Segment]:
    """A committed transaction, an aborted one, and a record with the key of a marker."""
    same = batch(record(offset, MARKER_KEYS[control]))
    log = [
        batch(record(1, "a"), pid=7),
        marker(2, 7, commit=True),
        batch(record(3, "b"), pid=8),
        marker(4, 8, commit=False),
    ]
    return indexed(segment(*sorted([*log, same], key=lambda each: each.base_offset)))


@pytest.mark.parametrize(
    ("control", "offset", "gone"),
    [
        (Control.COMMIT, 9, [2]),
        (Control.ABORT, 9, [4]),
        (Control.COMMIT, 0, []),
        (Control.LEADER_CHANGE, 9, []),
    ],
)
def test_a_later_user_record_with_a_marker_s_very_bytes_evicted_it(
    control: Control, offset: int, gone: list[int]
) -> None:
    log = keyed(offset, control)

    old = clean(log, plan(markers_by_key=True))
    superseded = [(r.offset, r.winner_offset) for r in old.removals if r.reason == "superseded"]
    assert superseded == [(each, offset) for each in gone]
    assert old.evicted_markers == dict(superseded)
    new = clean(log, plan())
    assert {2, 4} <= set(offsets_of(new.segments))


def test_no_transaction_reaches_across_an_undivided_end() -> None:
    """7 is decided at 2, above the last stable offset: 8 is open from 1 on."""
    log = [batch(record(0, "d"), pid=7), batch(record(1, "e"), pid=8), marker(2, 7, commit=True)]

    assert undivided_end(log, below=1) == 0
    assert undivided_end(log, below=3) == 0
    assert undivided_end([*log, marker(3, 8, commit=True)], below=4) == 4
    assert undivided_end([batch(record(0, "z")), *log[2:]], below=3) == 3
