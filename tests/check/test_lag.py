"""KIP-354's two promises, judged by hand-made looks of a cleaner."""

import pytest

from sim.trace import CleanerLooked, Event
from tests.check.events import appended, batch, cluster, committed, violations_of

MAX_LAG_MS, DIFFERENCE_MS = 1000, 50
LIMIT_MS = MAX_LAG_MS + 2 * DIFFERENCE_MS


def looked(
    now_ms: int,
    *,
    eligible: bool = False,
    bound: int = 0,
    stable: int = 2,
    delay_ms: int = 0,
    metric_secs: int = 0,
    difference_ms: int | None = DIFFERENCE_MS,
) -> list[Event]:
    """A log of two records of timestamp 0, and one look at it."""
    look = CleanerLooked(
        "r1", now_ms, eligible, 0, bound, stable, delay_ms, metric_secs, MAX_LAG_MS, difference_ms
    )
    return [
        *cluster("r1"),
        *appended("r1", batch(0, "k"), batch(1, "k")),
        committed("r1", 2),
        look,
    ]


def test_a_record_that_is_not_eligible_after_its_time_breaks_the_bound() -> None:
    assert violations_of("compaction-lag-bound", looked(LIMIT_MS)) == []
    [sentence] = violations_of("compaction-lag-bound", looked(LIMIT_MS + 1))
    assert "1101 ms after its timestamp; 1100 ms were promised (1000 + 2 × 50)" in sentence


@pytest.mark.parametrize(("bound", "count"), [(2, 0), (1, 1)])
def test_what_a_pass_will_cover_waits_no_longer(bound: int, count: int) -> None:
    late = looked(LIMIT_MS + 1, eligible=True, bound=bound)

    assert len(violations_of("compaction-lag-bound", late)) == count


def test_nothing_is_promised_above_the_stable_offset_or_without_a_bound_on_timestamps() -> None:
    assert violations_of("compaction-lag-bound", looked(LIMIT_MS + 1, stable=0)) == []
    assert violations_of("compaction-lag-bound", looked(1 << 40, difference_ms=None)) == []


@pytest.mark.parametrize(("delay_ms", "metric_secs"), [(0, 0), (999, 0), (5_999, 5)])
def test_the_metric_tells_whole_seconds(delay_ms: int, metric_secs: int) -> None:
    told = looked(9_000, delay_ms=delay_ms, metric_secs=metric_secs)

    assert violations_of("lag-metric", told) == []


def test_a_metric_that_is_not_refreshed_goes_on_telling_an_old_figure() -> None:
    [sentence] = violations_of("lag-metric", looked(9_000, delay_ms=0, metric_secs=5))

    assert sentence == "r1 tells a compaction delay of 5 s, but its log is overdue by 0 s."
