"""Is it time to clean, and up to where: each inequality on both sides (KIP-58, KIP-354)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.protocol.compaction.eligibility import (
    Bound,
    CleanLimit,
    EligibilityConfig,
    FirstDirty,
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


@settings(max_examples=300)
@given(
    closed=st.lists(
        st.sampled_from([(s, t) for s in (0, 50, 51) for t in (-1, 0, 1, 10, 500)]), max_size=3
    ),
    active=st.sampled_from([0, 10_000]),
    dirty=st.sampled_from([0, 5, 10, 25]),
    stable=st.sampled_from([9, 10, 19, 99, 99]),
    config=st.builds(
        EligibilityConfig,
        min_cleanable_dirty_ratio=st.sampled_from([0.0, 0.5, 1.0]),
        min_compaction_lag_ms=st.sampled_from([0, 100]),
        max_compaction_lag_ms=st.sampled_from([None, 100]),
    ),
    now_ms=st.sampled_from([109, 110, 111, 150, 600, 601]),
)
def test_when_a_log_is_cleaned_and_up_to_where_by_the_words_of_kip_58_and_kip_354(
    closed: list[tuple[int, int]],
    active: int,
    dirty: int,
    stable: int,
    config: EligibilityConfig,
    now_ms: int,
) -> None:
    """A segment without timestamps is as old as its file, of 50 ms, where its age counts."""
    sizes, times = [size for size, _ in closed], tuple(at_ms for _, at_ms in closed)
    bases = [10 * number for number in range(len(closed) + 1)]
    made = log(*sizes, times=times, active=active)
    found = eligibility(made, config, first_dirty_offset=dirty, stable_offset=stable, now_ms=now_ms)

    to_clean = [number for number, _ in enumerate(closed) if bases[number + 1] > dirty]
    written = {n: times[n] if sizes[n] and times[n] >= 0 else 50 for n in to_clean}
    lag_ms, longest_ms = config.min_compaction_lag_ms, config.max_compaction_lag_ms
    young = [bases[n] for n, at_ms in written.items() if lag_ms and at_ms > now_ms - lag_ms]
    lowest, _, limit = min(
        (bases[-1], 0, CleanLimit.ACTIVE_SEGMENT),
        (min(young, default=99), 1, CleanLimit.MIN_LAG),
        (stable, 2, CleanLimit.STABLE_OFFSET),
    )
    offset = max(lowest, dirty)
    ends = max(base for base in bases if base <= offset)
    assert found.bound == Bound(offset, ends, limit, lowest)
    cleanable = sum(sizes[n] for n in to_clean if bases[n] < ends)
    clean = sum(size for base, size in zip(bases, [*sizes, active], strict=True) if base < dirty)
    first_ms = [times[n] for n in to_clean if sizes[n] and times[n] > 0]
    delay_ms = 0
    if longest_ms is not None and first_ms:
        delay_ms = max(0, now_ms - min(first_ms) - longest_ms)
    ratio = cleanable / (clean + cleanable) if clean + cleanable else None
    assert (found.clean_bytes, found.cleanable_bytes, found.dirty_ratio) == (
        clean,
        cleanable,
        ratio,
    )
    assert found.compaction_delay_ms == delay_ms
    assert found.overdue == (delay_ms > 0 and cleanable > 0)
    dirty_enough = ratio is not None and ratio > config.min_cleanable_dirty_ratio
    assert found.eligible == (found.overdue or dirty_enough)


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
