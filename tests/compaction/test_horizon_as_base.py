"""A delete horizon in the place of the base timestamp moves no timestamp, unless deltas stay.

What later passes make of moved times: `kip534_22`, `kip534_23` and `timed_times_move`.
"""

from sim.protocol.compaction.copying import base_timestamp, with_horizon
from sim.protocol.log import Batch
from tests.compaction.logs import batch, record

MIXED = batch(record(0, "k", None, timestamp_ms=10), record(1, "j", timestamp_ms=12))


def times(found: Batch) -> list[int]:
    return [each.timestamp_ms for each in found.records]


def test_with_the_deltas_written_anew_every_timestamp_reads_back() -> None:
    found = with_horizon(MIXED, MIXED.records, 100, keeps_deltas=False)

    assert times(found) == [10, 12]
    assert found.delete_horizon_ms == base_timestamp(found) == 100


def test_with_the_deltas_kept_a_record_is_as_far_from_the_horizon_as_from_the_old_base() -> None:
    """The old base is the first record's time, even when that record goes, or a first horizon."""
    found = with_horizon(MIXED, MIXED.records, 100, keeps_deltas=True)
    without_the_first = with_horizon(MIXED, MIXED.records[1:], 100, keeps_deltas=True)
    again = with_horizon(found, found.records, 190, keeps_deltas=True)

    assert (times(found), found.timestamp_ms) == ([100, 102], MIXED.timestamp_ms)
    assert (times(without_the_first), times(again)) == ([102], [190, 192])
    a_day = {
        keeps: with_horizon(MIXED, MIXED.records, 86_400_000, keeps_deltas=keeps).size_bytes
        for keeps in (True, False)
    }
    assert a_day == {True: MIXED.size_bytes, False: MIXED.size_bytes + 6}
