"""When a log starts a new segment (UnifiedLog.maybeRoll, LogSegment.shouldRoll, KIP-354)."""

import pytest

from sim.log import Batch, Log, LogConfig, Record, Segment, data_batch


def batch(offset: int, timestamp_ms: int = 0) -> Batch:
    """A batch of one record."""
    return data_batch((Record(offset, "k", "v", timestamp_ms),), epoch=1)


def log_of(*batches: Batch, segment_ms: int | None = None, now_ms: int = 0) -> Log:
    """A log of these batches, all appended at `now_ms`."""
    log = Log(LogConfig(segment_ms=segment_ms))
    for each in batches:
        log.append(each, now_ms=now_ms)
    return log


@pytest.mark.parametrize(("offset", "bases"), [(2**31 - 1, [0]), (2**31, [0, 2**31])])
def test_an_offset_that_is_too_far_from_the_base_starts_a_segment(
    offset: int, bases: list[int]
) -> None:
    log = log_of(batch(0), batch(offset))

    assert [each.base_offset for each in log.segments] == bases


def test_a_segment_that_is_still_empty_takes_anything_but_an_offset_too_far() -> None:
    inside = log_of(batch(2**31 - 1, 10**9), segment_ms=1)
    outside = log_of(batch(2**31))

    assert [each.base_offset for each in inside.segments] == [0]
    assert [each.base_offset for each in outside.segments] == [0, 2**31]


@pytest.mark.parametrize(("now_ms", "segments"), [(100, 1), (101, 2)])
def test_without_timestamps_the_clock_counts_from_the_segment_s_creation(
    now_ms: int, segments: int
) -> None:
    log = log_of(batch(0, -1), segment_ms=100, now_ms=50)
    log.append(batch(1, -1), now_ms=now_ms)

    assert len(log.segments) == segments


@pytest.mark.parametrize(("now_ms", "rolled"), [(140, False), (141, True)])
def test_a_timer_rolls_a_log_without_traffic_and_kafka_has_none(now_ms: int, rolled: bool) -> None:
    """`roll: on_append` would wait for the next append (KAFKA-20664)."""
    log = log_of(batch(0, 40), segment_ms=100)

    assert log.roll_if_waited(now_ms=now_ms) is rolled
    assert [each.base_offset for each in log.segments] == ([0, 1] if rolled else [0])
    assert log.roll_if_waited(now_ms=10**9) is not rolled


def test_a_segment_knows_its_first_and_its_largest_timestamp() -> None:
    """The first counts for the maximum compaction lag, the largest for the minimum."""
    segment = Segment(0)
    assert (segment.first_timestamp_ms, segment.largest_timestamp_ms) == (-1, -1)

    for offset, timestamp_ms in enumerate([30, 90, 10]):
        segment.append(batch(offset, timestamp_ms), now_ms=100 + offset)
    assert (segment.first_timestamp_ms, segment.largest_timestamp_ms) == (30, 90)
    assert segment.last_modified_ms == 102
    same = Segment.of(0, list(segment.batches), last_modified_ms=102)
    names = [name for name in Segment.__slots__ if name != "created_ms"]
    assert [getattr(same, name) for name in names] == [getattr(segment, name) for name in names]
