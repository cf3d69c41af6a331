"""Is it time to clean, and up to where: each inequality on both sides (KIP-58, KIP-354)."""

import pytest

from sim.compaction.eligibility import (
    Eligibility,
    EligibilityConfig,
    FirstDirty,
    Limit,
    Scan,
    bound_of,
    cleanable_bound,
    eligibility,
    first_dirty,
    max_compaction_delay_secs,
    select,
)
from sim.log import Segment
from tests.compaction.logs import batch, record, segment


def of_bytes(base: int, size_bytes: int, *, timestamp_ms: int = 10) -> Segment:
    """A segment with one record at its base that counts as `size_bytes`."""
    made = segment(batch(record(base, "k", timestamp_ms=timestamp_ms)))
    made.size_bytes = size_bytes
    return made


def log(*sizes: int) -> list[Segment]:
    """Segments at 0, 10, 20, ... of these sizes and an empty active one."""
    closed = [of_bytes(index * 10, size) for index, size in enumerate(sizes)]
    return [*closed, Segment(len(sizes) * 10)]


def judged(segments: list[Segment], config: EligibilityConfig, **at: int) -> bool:
    """Whether a log is eligible; the first dirty offset is 10, everything is stable."""
    return eligibility(
        segments,
        config,
        first_dirty_offset=at.get("first_dirty", 10),
        stable_offset=at.get("stable", 1_000),
        now_ms=at.get("now", 10),
    ).eligible


@pytest.mark.parametrize(
    ("clean", "dirty", "eligible"), [(50, 50, False), (50, 51, True), (51, 50, False)]
)
def test_the_dirty_ratio_has_to_be_above_the_minimum(
    clean: int, dirty: int, eligible: bool
) -> None:
    assert judged(log(clean, dirty), EligibilityConfig()) is eligible


def test_a_log_without_bytes_below_the_active_segment_has_no_ratio() -> None:
    found = eligibility(
        [Segment(0)], EligibilityConfig(), first_dirty_offset=0, stable_offset=9, now_ms=0
    )

    assert (found.eligible, found.dirty_ratio) == (False, None)


def test_the_active_segment_counts_for_nothing() -> None:
    segments = [of_bytes(0, 100), of_bytes(10, 10_000)]

    assert not judged(segments, EligibilityConfig(), first_dirty=10)


def test_a_segment_that_holds_the_first_dirty_offset_counts_on_both_sides() -> None:
    found = eligibility(
        log(100, 100),
        EligibilityConfig(),
        first_dirty_offset=5,
        stable_offset=1_000,
        now_ms=10,
    )

    assert (found.clean_bytes, found.cleanable_bytes) == (100, 200)


@pytest.mark.parametrize(("now", "overdue"), [(109, False), (110, False), (111, True)])
def test_a_log_is_overdue_when_its_oldest_dirty_segment_is_older_than_the_maximum_lag(
    now: int, overdue: bool
) -> None:
    """Its first timestamp is 10, the maximum lag 100."""
    config = EligibilityConfig(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=100)

    assert judged(log(100, 1), config, now=now) is overdue


def test_an_overdue_log_with_nothing_cleanable_is_not_eligible() -> None:
    config = EligibilityConfig(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=100)

    assert judged(log(100, 1), config, now=1_000, stable=20)
    assert not judged(log(100, 1), config, now=1_000, stable=19)


def test_without_a_maximum_lag_nothing_is_overdue() -> None:
    found = eligibility(
        log(1), EligibilityConfig(), first_dirty_offset=0, stable_offset=99, now_ms=10**12
    )

    assert found.compaction_delay_ms == 0


@pytest.mark.parametrize(("timestamp_ms", "delay"), [(0, 0), (1, 899)])
def test_only_first_timestamps_above_zero_count(timestamp_ms: int, delay: int) -> None:
    segments = [of_bytes(0, 10, timestamp_ms=timestamp_ms), Segment(10)]
    config = EligibilityConfig(max_compaction_lag_ms=100)
    found = eligibility(segments, config, first_dirty_offset=0, stable_offset=10, now_ms=1_000)

    assert found.compaction_delay_ms == delay


def test_a_segment_below_the_first_dirty_offset_is_not_overdue() -> None:
    """The one that ends at 10 is clean when 10 is the first dirty offset, dirty when 9 is."""
    segments = [of_bytes(0, 10, timestamp_ms=1), of_bytes(10, 10, timestamp_ms=900), Segment(20)]
    config = EligibilityConfig(max_compaction_lag_ms=100)

    for dirty_from, delay in ((10, 0), (9, 899)):
        found = eligibility(
            segments, config, first_dirty_offset=dirty_from, stable_offset=20, now_ms=1_000
        )
        assert found.compaction_delay_ms == delay


def bound(segments: list[Segment], **at: int) -> int:
    """The first offset that a pass leaves alone."""
    return cleanable_bound(
        segments,
        first_dirty_offset=at.get("first_dirty", 0),
        stable_offset=at.get("stable", 1_000),
        min_compaction_lag_ms=at.get("lag", 0),
        now_ms=at.get("now", 0),
    )


@pytest.mark.parametrize(
    ("stable", "expected"), [(0, 0), (9, 0), (10, 10), (19, 10), (20, 20), (999, 20)]
)
def test_the_bound_is_the_stable_offset_rounded_down_to_a_segment(
    stable: int, expected: int
) -> None:
    assert bound(log(1, 1), stable=stable) == expected


def test_the_active_segment_is_never_cleaned() -> None:
    assert bound([of_bytes(0, 1), of_bytes(10, 1)]) == 10


@pytest.mark.parametrize(("now", "expected"), [(109, 0), (110, 20), (111, 20)])
def test_a_record_younger_than_the_minimum_lag_holds_its_segment_back(
    now: int, expected: int
) -> None:
    """Its timestamp, 10, is above now - 100 until now is 110."""
    assert bound(log(1, 1), lag=100, now=now) == expected


def test_everything_after_a_young_segment_is_held_back_with_it() -> None:
    segments = [
        of_bytes(0, 1, timestamp_ms=0),
        of_bytes(10, 1, timestamp_ms=500),
        of_bytes(20, 1, timestamp_ms=0),
        Segment(30),
    ]

    assert bound(segments, lag=100, now=599) == 10
    assert bound(segments, lag=100, now=600) == 30


def test_a_young_segment_below_the_first_dirty_offset_holds_nothing_back() -> None:
    segments = [of_bytes(0, 1, timestamp_ms=500), of_bytes(10, 1, timestamp_ms=0), Segment(20)]

    assert bound(segments, lag=100, now=500, first_dirty=9) == 0
    assert bound(segments, lag=100, now=500, first_dirty=10) == 20


def test_a_segment_without_timestamps_counts_by_its_modification_time() -> None:
    segments = [
        segment(batch(record(0, "k", timestamp_ms=-1)), last_modified_ms=50),
        Segment(10),
    ]

    assert bound(segments, lag=100, now=149) == 0
    assert bound(segments, lag=100, now=150) == 10


@pytest.mark.parametrize(
    ("checkpoint", "found"),
    [
        (None, FirstDirty(10, force_update=False)),
        (9, FirstDirty(10, force_update=True)),
        (10, FirstDirty(10, force_update=False)),
        (15, FirstDirty(15, force_update=False)),
        (20, FirstDirty(20, force_update=False)),
        (21, FirstDirty(10, force_update=True)),
    ],
)
def test_a_checkpoint_outside_the_log_is_reset_to_the_log_start(
    checkpoint: int | None, found: FirstDirty
) -> None:
    """Above the log end too: all of the log is dirty then, not nothing of it."""
    assert first_dirty(checkpoint, log_start_offset=10, log_end_offset=20) == found


@pytest.mark.parametrize(
    ("stable", "lag", "limit", "limited_to"),
    [
        (20, 0, Limit.ACTIVE_SEGMENT, 20),
        (19, 0, Limit.STABLE_OFFSET, 19),
        (99, 100, Limit.MIN_LAG, 10),
        (9, 100, Limit.STABLE_OFFSET, 9),
        (10, 100, Limit.MIN_LAG, 10),
    ],
)
def test_the_lowest_limit_binds(stable: int, lag: int, limit: Limit, limited_to: int) -> None:
    segments = [of_bytes(0, 1, timestamp_ms=0), of_bytes(10, 1, timestamp_ms=500), Segment(20)]

    found = bound_of(
        segments,
        first_dirty_offset=0,
        stable_offset=stable,
        min_compaction_lag_ms=lag,
        now_ms=500,
    )

    assert (found.limit, found.limited_to, found.offset) == (limit, limited_to, limited_to)


def test_the_first_uncleanable_offset_is_never_below_the_first_dirty_one() -> None:
    """Rounded down to a segment it may be: 15 lies in the one that starts at 10."""
    found = bound_of(
        log(1, 1, 1), first_dirty_offset=15, stable_offset=5, min_compaction_lag_ms=0, now_ms=0
    )

    assert (found.offset, found.effective, found.limited_to) == (15, 10, 5)


def test_a_first_dirty_offset_in_the_active_segment_counts_that_as_clean() -> None:
    segments = [of_bytes(0, 100), of_bytes(10, 30)]
    found = eligibility(
        segments, EligibilityConfig(), first_dirty_offset=12, stable_offset=20, now_ms=10
    )

    assert (found.clean_bytes, found.cleanable_bytes, found.dirty_ratio) == (130, 0, 0.0)


def with_ratio(clean: int, dirty: int, *, now: int = 10, max_lag: int | None = None) -> Eligibility:
    """The verdict about a log with so many clean and dirty bytes."""
    return eligibility(
        log(clean, dirty),
        EligibilityConfig(max_compaction_lag_ms=max_lag),
        first_dirty_offset=10,
        stable_offset=99,
        now_ms=now,
    )


def test_the_highest_ratio_is_selected_also_over_a_log_that_is_overdue() -> None:
    logs = {"overdue": with_ratio(90, 10, now=1_000, max_lag=5), "dirty": with_ratio(10, 90)}

    assert logs["overdue"].overdue
    assert select(logs) == "dirty"
    assert select({"overdue": logs["overdue"]}) == "overdue"


def test_of_equal_ratios_the_first_named_is_selected() -> None:
    logs = {"b": with_ratio(10, 90), "a": with_ratio(10, 90)}

    assert (select(logs), select(dict(reversed(logs.items())))) == ("b", "a")


def test_without_an_eligible_log_none_is_selected() -> None:
    assert select({"a": with_ratio(50, 50)}) is None
    assert select({}) is None


def test_the_delay_metric_is_the_largest_of_all_threads_in_whole_seconds() -> None:
    scans = [Scan(0, (999, 1_999), cleaned=True), Scan(1, (500,), cleaned=True)]

    assert max_compaction_delay_secs(scans) == 1
    assert max_compaction_delay_secs([]) == 0


def test_a_scan_that_found_nothing_to_clean_does_not_refresh_the_delay_metric() -> None:
    late, idle, on_time = (
        Scan(0, (5_000,), cleaned=True),
        Scan(0, (), cleaned=False),
        Scan(0, (0,), cleaned=True),
    )

    assert max_compaction_delay_secs([late, idle]) == 5
    assert max_compaction_delay_secs([late, idle, on_time]) == 0
