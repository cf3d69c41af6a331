"""The log: appending with gaps, reading across segments, truncating, rolling, epochs.

Source of rolling: UnifiedLog.maybeRoll, LogSegment.shouldRoll, KIP-354.
"""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.log import Batch, Log, LogConfig, Record, Segment, data_batch
from sim.protocol.log.formats import old_batch


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


@dataclass
class Expected:
    """What a log is: a list of batches, and the places where segments and epochs begin."""

    keeps_empty_epochs: bool
    batches: list[Batch] = field(default_factory=list)
    bases: list[int] = field(default_factory=lambda: [0])
    epochs: list[tuple[int, int]] = field(default_factory=list)
    start: int = 0
    end: int = 0

    def append(self, made: Batch) -> None:
        self.batches.append(made)
        self.end = made.last_offset + 1
        if not self.epochs or self.epochs[-1][0] != made.epoch:
            self.epochs.append((made.epoch, made.base_offset))

    def cut(self, target: int) -> int:
        """Cuts whole batches; returns the lowest offset that goes."""
        if target < self.end or not self.keeps_empty_epochs:
            lowest = min(target, self.end)
            self.epochs = [entry for entry in self.epochs if entry[1] < lowest]
        if target >= self.end:
            return target
        gone = [each.base_offset for each in self.batches if each.last_offset >= target]
        self.batches = [each for each in self.batches if each.last_offset < target]
        self.end, self.start = target, min(self.start, target)
        if target < self.bases[0]:
            self.bases, self.epochs = [target], []
            return target
        self.bases = [base for base in self.bases if base <= target]
        return min([target, *gone])

    def delete_below(self, offset: int) -> None:
        offset = min(offset, self.end)
        self.start = max(self.start, offset)
        self.batches = [each for each in self.batches if each.last_offset >= offset]
        while len(self.bases) > 1 and self.bases[1] <= offset:
            del self.bases[0]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from([0, 0, 2]), st.integers(1, 3)),
        st.tuples(st.sampled_from(["roll", "elect"]), st.just(0), st.just(0)),
        st.tuples(st.sampled_from(["cut", "lose", "prefix"]), st.integers(0, 12), st.just(0)),
    ),
    max_size=12,
)


@given(STEPS, st.booleans(), st.sampled_from([None, 0, 1, 2]))
def test_a_log_is_a_list_of_batches_that_is_appended_to_cut_at_both_ends_and_read(
    steps: list[tuple[str, int, int]], keeps_empty_epochs: bool, most: int | None
) -> None:
    log = Log(LogConfig(keeps_empty_epochs=keeps_empty_epochs))
    expected, epoch = Expected(keeps_empty_epochs), 1
    for kind, number, count in steps:
        log.high_watermark = log.flushed_end = log.acknowledged_end = end = log.log_end_offset
        if kind == "append":
            made = batch(*range(end + number, end + number + count), epoch=epoch)
            log.append(made, now_ms=0)
            expected.append(made)
            continue
        if kind == "roll" and log.active.batches:
            log.roll(now_ms=0)
            expected.bases.append(end)
        elif kind == "elect":
            epoch += 1
            log.epochs.assign(epoch, end)
            expected.epochs = [entry for entry in expected.epochs if entry[1] < end]
            expected.epochs.append((epoch, end))
        elif kind == "cut":
            assert log.truncate_to(number) == expected.cut(number)
        elif kind == "lose":
            log.lose_tail(number)
            if number and expected.batches:
                expected.cut(expected.batches[-number:][0].base_offset)
        elif kind == "prefix":
            log.delete_prefix(number)
            expected.delete_below(number)
        kept, end = expected.batches, expected.end

        assert list(log.batches()) == kept
        assert [each.base_offset for each in log.segments] == expected.bases
        assert [tuple(entry) for entry in log.epochs.entries] == expected.epochs
        assert (log.log_start_offset, log.log_end_offset) == (expected.start, end)
        assert {log.high_watermark, log.flushed_end, log.acknowledged_end} == {end}
        for offset in range(end + 2):
            found = [each for each in kept if each.last_offset >= offset and offset < end]
            assert log.read(offset, max_batches=most) == found[:most]


def test_a_gap_is_accepted_and_going_back_is_not() -> None:
    log = filled(batch(0), batch(5))

    assert log.log_end_offset == 6
    with pytest.raises(ValueError, match="batch at offset 5 is below the log end offset 6"):
        log.append(batch(5), now_ms=0)


def test_reading_crosses_segments_that_have_nothing_left() -> None:
    log = filled(batch(0))
    log.roll(now_ms=0)
    log.append(batch(1), now_ms=0)
    log.roll(now_ms=0)
    log.append(batch(2), now_ms=0)
    log.segments[1].batches.clear()

    assert offsets(log.read(1)) == [2]
    assert offsets(log.read(0)) == [0, 2]


def test_the_end_recomputed_from_what_is_left() -> None:
    log = filled(batch(0), batch(1), batch(2))
    log.high_watermark = 3
    del log.segments[0].batches[1:]
    log.recompute_log_end_offset()
    assert (log.log_end_offset, log.high_watermark) == (1, 1)

    log.segments[0].batches.clear()
    log.recompute_log_end_offset()
    assert log.log_end_offset == log.log_start_offset == 0


def test_the_end_recomputed_is_not_below_the_log_start() -> None:
    log = filled(batch(0), batch(1), batch(2))
    log.log_start_offset = 2
    del log.segments[0].batches[1:]
    log.recompute_log_end_offset()
    assert log.log_end_offset == 2


@pytest.mark.parametrize(("limit", "segments"), [(1, 2), (None, 1)])
def test_a_segment_rolls_before_it_would_grow_too_large(limit: int | None, segments: int) -> None:
    size = batch(0).size_bytes
    config = LogConfig(segment_bytes=None if limit is None else size * 2 - 1)

    assert len(filled(batch(0), batch(1), config=config).segments) == segments
    exact = LogConfig(segment_bytes=size * 2)
    assert len(filled(batch(0), batch(1), config=exact).segments) == 1


@pytest.mark.parametrize(("timestamp_ms", "segments"), [(100, 1), (101, 2), (-50, 1)])
def test_a_segment_rolls_by_the_timestamps_of_appends(timestamp_ms: int, segments: int) -> None:
    """However late it is: without traffic the segment stays active (KAFKA-20664)."""
    log = filled(batch(0), config=LogConfig(segment_ms=100))
    log.append(batch(1, timestamp_ms=timestamp_ms), now_ms=10_000)

    assert len(log.segments) == segments


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


@pytest.mark.parametrize(
    ("first_offset", "in_calls", "first_ms"), [(0, True, 90), (1, True, 30), (0, False, 30)]
)
def test_a_segment_that_begins_with_a_call_counts_from_the_largest_timestamp_of_it(
    first_offset: int, in_calls: bool, first_ms: int
) -> None:
    log = Log(LogConfig(indexes_calls=in_calls))
    for offset, timestamp_ms in enumerate([30, 90, 10]):
        log.append(batch(offset, timestamp_ms=timestamp_ms), now_ms=0)
    log.note_call(first_offset)

    assert log.active.first_timestamp_ms == first_ms


def test_a_batch_before_magic_2_clears_the_epochs() -> None:
    """Truncation then goes by the high watermark, as before KIP-101 (UnifiedLog.append)."""
    log = Log()
    log.append(data_batch((Record(0, "k", "v"),), epoch=1), now_ms=0)
    log.append(old_batch(1, (Record(1, "k", "v", 0),)), now_ms=0)

    assert log.epochs.entries == []
