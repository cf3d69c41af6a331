"""Is it time to clean, and up to where: each inequality on both sides (KIP-58, KIP-354)."""

from typing import Any

import pytest

from sim.protocol.compaction.eligibility import (
    CleanLimit,
    EligibilityConfig,
    FirstDirty,
    bound_of,
    eligibility,
    first_dirty,
    select,
)
from sim.protocol.log import Segment
from tests.compaction.logs import batch, record, segment


def log(*sizes: int, times: tuple[int, ...] = (), active: int = 0) -> list[Segment]:
    """Segments at 0, 10, 20, ... of these bytes, one record each, and an active one."""
    made = []
    for index, size in enumerate([*sizes, active]):
        at_ms = times[index] if index < len(times) else 10
        content = [batch(record(index * 10, "k", timestamp_ms=at_ms))] if size else []
        made.append(segment(*content, base=index * 10, last_modified_ms=50))
        made[-1].size_bytes = size
    return made


OVERDUE: dict[str, Any] = {"min_cleanable_dirty_ratio": 1.0, "max_compaction_lag_ms": 100}
RATIO: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("segments", "config", "dirty", "stable", "now", "eligible"),
    [
        # The dirty ratio has to be above the minimum of 0.5; the active segment does not count.
        (log(50, 50), RATIO, 10, 999, 10, False),
        (log(50, 51), RATIO, 10, 999, 10, True),
        (log(51, 50), RATIO, 10, 999, 10, False),
        (log(100, active=10_000), RATIO, 10, 999, 10, False),
        (log(), RATIO, 0, 9, 0, False),
        # The first timestamp is 10, the maximum lag 100.
        (log(100, 1), OVERDUE, 10, 999, 110, False),
        (log(100, 1), OVERDUE, 10, 999, 111, True),
        # Overdue, but nothing of it is cleanable.
        (log(100, 1), OVERDUE, 10, 20, 1_000, True),
        (log(100, 1), OVERDUE, 10, 19, 1_000, False),
    ],
)
def test_a_log_is_cleaned_by_its_dirty_ratio_or_because_it_is_overdue(
    segments: list[Segment],
    config: dict[str, Any],
    dirty: int,
    stable: int,
    now: int,
    eligible: bool,
) -> None:
    found = eligibility(
        segments,
        EligibilityConfig(**config),
        first_dirty_offset=dirty,
        stable_offset=stable,
        now_ms=now,
    )

    assert found.eligible is eligible


@pytest.mark.parametrize(
    ("segments", "dirty", "clean_bytes", "cleanable_bytes", "ratio"),
    [
        (log(), 0, 0, 0, None),
        (log(100, 100), 5, 100, 200, 2 / 3),  # the segment that holds it counts on both sides
        (log(100, active=30), 12, 130, 0, 0.0),
    ],
)
def test_the_bytes_on_both_sides_of_the_first_dirty_offset(
    segments: list[Segment],
    dirty: int,
    clean_bytes: int,
    cleanable_bytes: int,
    ratio: float | None,
) -> None:
    found = eligibility(
        segments, EligibilityConfig(), first_dirty_offset=dirty, stable_offset=999, now_ms=10
    )

    assert (found.clean_bytes, found.cleanable_bytes) == (clean_bytes, cleanable_bytes)
    assert found.dirty_ratio == ratio


@pytest.mark.parametrize(
    ("times", "dirty", "lag_ms", "delay_ms"),
    [
        ((0,), 0, 100, 0),
        ((1,), 0, 100, 899),  # only timestamps above zero count
        ((1,), 0, None, 0),
        ((1, 900), 10, 100, 0),  # a segment that ends at the first dirty offset is clean
        ((1, 900), 9, 100, 899),
    ],
)
def test_a_log_waits_since_the_first_timestamp_of_its_oldest_dirty_segment(
    times: tuple[int, ...], dirty: int, lag_ms: int | None, delay_ms: int
) -> None:
    found = eligibility(
        log(*[10] * len(times), times=times),
        EligibilityConfig(max_compaction_lag_ms=lag_ms),
        first_dirty_offset=dirty,
        stable_offset=20,
        now_ms=1_000,
    )

    assert found.compaction_delay_ms == delay_ms


@pytest.mark.parametrize(
    ("segments", "at", "expected"),
    [
        # The stable offset is rounded down to a segment.
        (log(1, 1), {"stable_offset": 9}, 0),
        (log(1, 1), {"stable_offset": 10}, 10),
        (log(1, 1), {"stable_offset": 19}, 10),
        (log(1, 1), {}, 20),
        # The active segment is never cleaned.
        (log(1, active=1), {}, 10),
        # The timestamp, 10, is above now - 100 until now is 110.
        (log(1, 1), {"min_compaction_lag_ms": 100, "now_ms": 109}, 0),
        (log(1, 1), {"min_compaction_lag_ms": 100, "now_ms": 110}, 20),
        # Everything after a young segment waits with it, unless that one is clean.
        (log(1, 1, 1, times=(0, 500, 0)), {"min_compaction_lag_ms": 100, "now_ms": 599}, 10),
        (log(1, 1, 1, times=(0, 500, 0)), {"min_compaction_lag_ms": 100, "now_ms": 600}, 30),
        (log(1, 1, times=(500, 0)), {"min_compaction_lag_ms": 100, "first_dirty_offset": 9}, 0),
        (
            log(1, 1, times=(500, 0)),
            {"min_compaction_lag_ms": 100, "first_dirty_offset": 10, "now_ms": 500},
            20,
        ),
        # Without timestamps the modification time, 50, counts.
        (log(1, times=(-1,)), {"min_compaction_lag_ms": 100, "now_ms": 149}, 0),
        (log(1, times=(-1,)), {"min_compaction_lag_ms": 100, "now_ms": 150}, 10),
    ],
)
def test_where_a_pass_ends(segments: list[Segment], at: dict[str, int], expected: int) -> None:
    plain = {"first_dirty_offset": 0, "stable_offset": 999, "min_compaction_lag_ms": 0, "now_ms": 0}

    assert bound_of(segments, **{**plain, **at}).effective == expected


@pytest.mark.parametrize(
    ("checkpoint", "offset", "force_update"),
    [(None, 10, False), (9, 10, True), (10, 10, False), (20, 20, False), (21, 10, True)],
)
def test_a_checkpoint_outside_the_log_is_reset_to_the_log_start(
    checkpoint: int | None, offset: int, force_update: bool
) -> None:
    """Above the log end too: all of the log is dirty then, not nothing of it."""
    found = first_dirty(checkpoint, log_start_offset=10, log_end_offset=20)

    assert found == FirstDirty(offset, force_update=force_update)


@pytest.mark.parametrize(
    ("dirty", "stable", "lag", "limit", "limited_to", "offset", "effective"),
    [
        (0, 20, 0, CleanLimit.ACTIVE_SEGMENT, 20, 20, 20),
        (0, 19, 0, CleanLimit.STABLE_OFFSET, 19, 19, 10),
        (0, 99, 100, CleanLimit.MIN_LAG, 10, 10, 10),
        (0, 9, 100, CleanLimit.STABLE_OFFSET, 9, 9, 0),
        (0, 10, 100, CleanLimit.MIN_LAG, 10, 10, 10),
        # Never below the first dirty one; rounded down to a segment it may be.
        (15, 5, 0, CleanLimit.STABLE_OFFSET, 5, 15, 10),
    ],
)
def test_the_lowest_limit_binds(
    dirty: int,
    stable: int,
    lag: int,
    limit: CleanLimit,
    limited_to: int,
    offset: int,
    effective: int,
) -> None:
    found = bound_of(
        log(1, 1, times=(0, 500)),
        first_dirty_offset=dirty,
        stable_offset=stable,
        min_compaction_lag_ms=lag,
        now_ms=500,
    )

    assert (found.limit, found.limited_to) == (limit, limited_to)
    assert (found.offset, found.effective) == (offset, effective)


def test_the_highest_ratio_is_selected_also_over_a_log_that_is_overdue() -> None:
    overdue, dirty, no = (
        eligibility(
            log(clean, 100 - clean),
            EligibilityConfig(max_compaction_lag_ms=lag_ms),
            first_dirty_offset=10,
            stable_offset=99,
            now_ms=1_000,
        )
        for clean, lag_ms in ((90, 5), (10, None), (50, None))
    )

    assert overdue.overdue
    assert select({"overdue": overdue, "dirty": dirty, "no": no}) == "dirty"
    assert select({"overdue": overdue, "no": no}) == "overdue"
    assert select({"b": dirty, "a": dirty}) == "b"  # of equals the first named
    assert select({"no": no}) is None
