"""The log: appending with gaps, reading across segments, truncating, rolling, epochs.

Source of rolling: UnifiedLog.maybeRoll, LogSegment.shouldRoll, KIP-354.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.log import Batch, Log, LogConfig, Record, Segment, data_batch
from sim.protocol.log.record import BATCH_HEADER_BYTES, size_of


def batch(*offsets: int, epoch: int = 1, timestamp_ms: int = 0) -> Batch:
    """A batch of records at these offsets."""
    return data_batch(
        tuple(Record(offset, "k", "v", timestamp_ms) for offset in offsets), epoch=epoch
    )


def filled(*batches: Batch, config: LogConfig | None = None, now_ms: int = 0) -> Log:
    """A log with these batches, all appended at `now_ms`."""
    log = Log(config or LogConfig())
    for each in batches:
        log.append(each, now_ms=now_ms)
    return log


def offsets(batches: list[Batch]) -> list[int]:
    """Base offsets."""
    return [each.base_offset for each in batches]


def test_a_gap_is_accepted_and_going_back_is_not() -> None:
    log = filled(batch(0), batch(5))

    assert log.log_end_offset == 6
    with pytest.raises(ValueError, match="batch at offset 5 is below the log end offset 6"):
        log.append(batch(5), now_ms=0)


def test_reading_starts_with_the_batch_that_ends_at_or_above_the_offset() -> None:
    log = filled(batch(0, 1, 2), batch(3), batch(7))

    assert offsets(log.read(0)) == offsets(log.read(2)) == [0, 3, 7]
    assert offsets(log.read(3)) == [3, 7]
    assert offsets(log.read(4)) == offsets(log.read(7)) == [7]
    assert log.read(8) == []


def test_reading_crosses_segments_that_have_nothing_left() -> None:
    log = filled(batch(0))
    log.roll(now_ms=0)
    log.append(batch(1), now_ms=0)
    log.roll(now_ms=0)
    log.append(batch(2), now_ms=0)
    log.segments[1].batches.clear()

    assert offsets(log.read(1)) == [2]
    assert offsets(log.read(0)) == [0, 2]


def test_truncation_takes_whole_batches_and_moves_the_end_to_its_target() -> None:
    log = filled(batch(0), batch(1, 2, 3), batch(4))
    log.high_watermark = log.flushed_end = log.acknowledged_end = 5
    lowest = log.truncate_to(2)

    assert (lowest, offsets(list(log.batches()))) == (1, [0])
    assert (log.log_end_offset, log.high_watermark) == (2, 2)
    assert (log.flushed_end, log.acknowledged_end) == (2, 2)


@pytest.mark.parametrize("target", [1, 5])
def test_truncation_at_or_above_the_end_takes_nothing_but_forgets_epochs_that_start_there(
    target: int,
) -> None:
    log = filled(batch(0))
    log.epochs.assign(2, 1)
    log.truncate_to(target)

    assert log.log_end_offset == 1
    assert [entry.epoch for entry in log.epochs.entries] == [1]


def test_a_log_that_is_cut_below_its_start_starts_where_it_ends() -> None:
    log = filled(batch(0), batch(1), batch(2))
    log.delete_prefix(2)
    log.truncate_to(1)

    assert (log.log_start_offset, log.log_end_offset) == (1, 1)


def test_a_log_that_is_cut_below_its_first_segment_begins_anew() -> None:
    log = filled(batch(0))
    log.roll(now_ms=0)
    log.append(batch(1), now_ms=0)
    log.delete_prefix(1)
    log.truncate_to(0)

    assert [each.base_offset for each in log.segments] == [0]
    assert (log.log_start_offset, log.log_end_offset, log.epochs.entries) == (0, 0, [])


def test_deleting_a_prefix_keeps_a_batch_that_reaches_above_the_start() -> None:
    log = filled(batch(0), batch(1, 2), batch(3))
    log.delete_prefix(2)

    assert log.log_start_offset == 2
    assert offsets(list(log.batches())) == [1, 3]


def test_deleting_a_prefix_stops_at_the_log_end_and_never_goes_back() -> None:
    log = filled(batch(0))
    log.delete_prefix(9)
    assert (log.log_start_offset, log.log_end_offset) == (1, 1)

    log.delete_prefix(0)
    assert log.log_start_offset == 1


def test_a_reset_log_starts_ends_and_is_committed_at_one_offset() -> None:
    log = filled(batch(0), data_batch((Record(1, "k", "v", 0),), epoch=1, producer_id=7))
    log.reset_to(5, 3)

    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (5, 5, 5)
    assert [tuple(entry) for entry in log.epochs.entries] == [(3, 5)]
    assert (list(log.batches()), log.producers.producers) == ([], {})


def test_the_end_recomputed_from_what_is_left() -> None:
    log = filled(batch(0), batch(1), batch(2))
    log.high_watermark = 3
    del log.segments[0].batches[1:]
    log.recompute_log_end_offset()
    assert (log.log_end_offset, log.high_watermark) == (1, 1)

    log.segments[0].batches.clear()
    log.recompute_log_end_offset()
    assert log.log_end_offset == log.log_start_offset == 0


@pytest.mark.parametrize(("limit", "segments"), [(1, 2), (None, 1)])
def test_a_segment_rolls_before_it_would_grow_too_large(limit: int | None, segments: int) -> None:
    size = batch(0).size_bytes
    config = LogConfig(segment_bytes=None if limit is None else size * 2 - 1)

    assert len(filled(batch(0), batch(1), config=config).segments) == segments
    exact = LogConfig(segment_bytes=size * 2)
    assert len(filled(batch(0), batch(1), config=exact).segments) == 1


@given(st.lists(st.integers(1, 4), max_size=8), st.integers(0, 40), st.booleans())
def test_truncation_leaves_a_prefix_and_appending_goes_on_there(
    gaps: list[int], target: int, rolls: bool
) -> None:
    log, end = Log(), 0
    for gap in gaps:
        log.append(batch(end + gap - 1), now_ms=0)
        end += gap
        if rolls:
            log.roll(now_ms=0)
    before = list(log.batches())
    log.truncate_to(target)

    left = list(log.batches())
    assert left == [each for each in before if each.last_offset < target]
    assert log.log_end_offset == min(end, target)
    log.append(batch(log.log_end_offset), now_ms=0)
    assert offsets(log.read(0)) == [*offsets(left), min(end, target)]


def test_a_cut_at_the_log_end_takes_an_epoch_without_records_unless_told_otherwise() -> None:
    for keeps, epochs in ((False, [1]), (True, [1, 2])):
        log = Log(LogConfig(keeps_empty_epochs=keeps))
        log.append(batch(0), now_ms=0)
        log.epochs.assign(2, 1)

        log.truncate_to(1)
        assert [entry.epoch for entry in log.epochs.entries] == epochs
        log.truncate_to(0)
        assert log.epochs.entries == []


@pytest.mark.parametrize(("timestamp_ms", "segments"), [(100, 1), (101, 2), (-50, 1)])
def test_a_segment_rolls_by_the_timestamps_of_appends(timestamp_ms: int, segments: int) -> None:
    """However late it is: without traffic the segment stays active (KAFKA-20664)."""
    log = filled(batch(0), config=LogConfig(segment_ms=100))
    log.append(batch(1, timestamp_ms=timestamp_ms), now_ms=10_000)

    assert len(log.segments) == segments


def test_an_emptied_batch_weighs_its_header_and_counts_for_the_log_end() -> None:
    full = batch(1, 2)
    log = filled(batch(0), full.emptied())

    assert (log.log_end_offset, log.last_batch()) == (3, full.emptied())
    assert full.size_bytes == size_of(full.records) > BATCH_HEADER_BYTES
    assert full.emptied().size_bytes == BATCH_HEADER_BYTES


@pytest.mark.parametrize(("most", "expected"), [(0, []), (1, [0]), (2, [0, 1]), (9, [0, 1, 2])])
def test_reading_gives_at_most_so_many_batches(most: int, expected: list[int]) -> None:
    log = filled(batch(0), batch(1))
    log.roll(now_ms=0)
    log.append(batch(2), now_ms=0)

    assert offsets(log.read(0, max_batches=most)) == expected


def test_a_lost_tail_is_counted_in_batches() -> None:
    log = filled(batch(0), batch(1, 2), batch(3))
    log.lose_tail(0)
    assert log.log_end_offset == 4

    log.lose_tail(2)
    assert (offsets(list(log.batches())), log.log_end_offset) == ([0], 1)


@pytest.mark.parametrize(("offset", "bases"), [(2**31 - 1, [0]), (2**31, [0, 2**31])])
def test_an_offset_that_is_too_far_from_the_base_starts_a_segment(
    offset: int, bases: list[int]
) -> None:
    log = filled(batch(0), batch(offset))

    assert [each.base_offset for each in log.segments] == bases


def test_a_segment_that_is_still_empty_takes_anything_but_an_offset_too_far() -> None:
    inside = filled(batch(2**31 - 1, timestamp_ms=10**9), config=LogConfig(segment_ms=1))
    outside = filled(batch(2**31))

    assert [each.base_offset for each in inside.segments] == [0]
    assert [each.base_offset for each in outside.segments] == [0, 2**31]


@pytest.mark.parametrize(("now_ms", "segments"), [(100, 1), (101, 2)])
def test_without_timestamps_the_clock_counts_from_the_segment_s_creation(
    now_ms: int, segments: int
) -> None:
    log = filled(batch(0, timestamp_ms=-1), config=LogConfig(segment_ms=100), now_ms=50)
    log.append(batch(1, timestamp_ms=-1), now_ms=now_ms)

    assert len(log.segments) == segments


@pytest.mark.parametrize(("now_ms", "rolled"), [(140, False), (141, True)])
def test_a_timer_rolls_a_log_without_traffic_and_kafka_has_none(now_ms: int, rolled: bool) -> None:
    """`roll: on_append` would wait for the next append (KAFKA-20664)."""
    log = filled(batch(0, timestamp_ms=40), config=LogConfig(segment_ms=100))

    assert log.roll_if_waited(now_ms=now_ms) is rolled
    assert [each.base_offset for each in log.segments] == ([0, 1] if rolled else [0])
    assert log.roll_if_waited(now_ms=10**9) is not rolled


def test_a_segment_knows_its_first_and_its_largest_timestamp() -> None:
    """The first counts for the maximum compaction lag, the largest for the minimum."""
    segment = Segment(0)
    assert (segment.first_timestamp_ms, segment.largest_timestamp_ms) == (-1, -1)

    for offset, timestamp_ms in enumerate([30, 90, 10]):
        segment.append(batch(offset, timestamp_ms=timestamp_ms), now_ms=100 + offset)
    assert (segment.first_timestamp_ms, segment.largest_timestamp_ms) == (30, 90)
    assert segment.last_modified_ms == 102
    same = Segment.of(0, list(segment.batches), last_modified_ms=102)
    names = [name for name in Segment.__slots__ if name != "created_ms"]
    assert [getattr(same, name) for name in names] == [getattr(segment, name) for name in names]
