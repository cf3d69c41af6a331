"""A delete horizon in the place of the base timestamp moves no timestamp, unless deltas stay."""

import pytest

from sim.compaction import STRATEGIES, Cleaning, clean
from sim.compaction.copying import base_timestamp, with_horizon
from sim.log import Batch
from tests.compaction.logs import batch, marker, plan, record, segment

MIXED = batch(record(0, "k", None, timestamp_ms=10), record(1, "j", timestamp_ms=12))


def times(found: Batch) -> list[int]:
    return [each.timestamp_ms for each in found.records]


def passed(*batches: Batch, **changes: object) -> Cleaning:
    return clean([segment(*batches)], plan(**changes))


def test_with_the_deltas_written_anew_every_timestamp_reads_back() -> None:
    found = with_horizon(MIXED, MIXED.records, 100, keeps_deltas=False)

    assert times(found) == [10, 12]
    assert found.delete_horizon_ms == base_timestamp(found) == 100


def test_with_the_deltas_kept_a_record_is_as_far_from_the_horizon_as_from_the_old_base() -> None:
    found = with_horizon(MIXED, MIXED.records, 100, keeps_deltas=True)

    assert times(found) == [100, 102]
    assert found.timestamp_ms == MIXED.timestamp_ms


def test_the_old_base_is_the_first_record_s_time_even_when_that_record_goes() -> None:
    found = with_horizon(MIXED, MIXED.records[1:], 100, keeps_deltas=True)

    assert times(found) == [102]


def test_a_second_horizon_moves_by_the_distance_to_the_first() -> None:
    once = with_horizon(MIXED, MIXED.records, 100, keeps_deltas=True)

    assert times(with_horizon(once, once.records, 190, keeps_deltas=True)) == [190, 192]


@pytest.mark.parametrize(("keeps_deltas", "grown"), [(True, 0), (False, 6)])
def test_kept_deltas_let_no_batch_grow(keeps_deltas: bool, grown: int) -> None:
    in_a_day_ms = 86_400_000
    found = with_horizon(MIXED, MIXED.records, in_a_day_ms, keeps_deltas=keeps_deltas)

    assert found.size_bytes - MIXED.size_bytes == grown


def test_a_batch_that_gets_no_horizon_keeps_its_times() -> None:
    values = batch(record(0, "k", timestamp_ms=10), record(1, "j", timestamp_ms=12))
    superseding = batch(record(2, "k", timestamp_ms=14))
    cleaning = passed(values, superseding, keeps_deltas=True)

    assert [times(found) for found in cleaning.segments[0].batches] == [[12], [14]]


def test_a_later_pass_that_keeps_the_horizon_moves_nothing_more() -> None:
    first = passed(MIXED, keeps_deltas=True)
    newer = batch(record(2, "j", timestamp_ms=50))
    again = clean(
        [*first.segments, segment(newer, base=2)],
        plan(keeps_deltas=True, first_dirty_offset=2, now_ms=50),
    )

    assert [times(found) for part in again.segments for found in part.batches] == [[100], [50]]


def test_a_marker_s_time_moves_like_any_record_s() -> None:
    cleaning = passed(marker(0, 7, commit=True), keeps_deltas=True)

    assert times(cleaning.segments[0].batches[0]) == [100]


def test_a_moved_time_beats_a_newer_value_by_timestamp() -> None:
    moved = passed(MIXED, keeps_deltas=True)
    newer = batch(record(2, "j", timestamp_ms=50))
    again = clean(
        [*moved.segments, segment(newer, base=2)],
        plan(strategy=STRATEGIES["timestamp"], keeps_deltas=True, first_dirty_offset=2, now_ms=50),
    )

    [removal] = again.removals
    assert (removal.offset, removal.winner_offset) == (2, 1)
