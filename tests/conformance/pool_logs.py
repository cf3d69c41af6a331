"""Random logs side by side, one of which a cleaner would choose, as Hypothesis strategies."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.conformance.drawing import once_in
from tests.conformance.log_builder import Document
from tests.conformance.log_steps import Plan, Segment, build
from tests.conformance.random_logs import ENDINGS, writes
from tests.conformance.random_moves import topics

RATIO, MIN_LAG, MAX_LAG = (
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
)
NOW_MS = (1_000, 1_000, 1_005, 6_000, 1_700_000_100_000)


def pools() -> st.SearchStrategy[Document]:
    """A few logs, the clock, and what is known of each log."""
    overdue = st.just(tuple({RATIO: 1.0, MIN_LAG: 0, MAX_LAG: 1}.items()))
    return st.builds(
        _pool,
        now_ms=st.sampled_from(NOW_MS),
        logs=st.lists(_logs(), min_size=1, max_size=3),
        topic=once_in(3, overdue, topics()),
        twin=once_in(6, st.just(value=True), st.just(value=False)),
    )


def _pool(
    now_ms: int, logs: list[Document], topic: tuple[tuple[str, float], ...], *, twin: bool
) -> Document:
    """Logs without settings of their own have the same; with a twin the first comes twice."""
    written = [{**log, "topic": dict(log["topic"] or topic)} for log in logs]
    return {"now_ms": now_ms, "logs": [*written, *written[: int(twin)]]}


def _logs() -> st.SearchStrategy[Document]:
    some = st.lists(writes(), min_size=1, max_size=3)
    written = st.builds(Segment, writes=once_in(5, st.just([]), some).map(tuple))
    plan = st.builds(
        Plan,
        segments=st.builds(lambda old, last: (*old, last), st.lists(written, max_size=4), written),
        steps=st.just(()),
        start=st.sampled_from((0, 0, 0, 7)),
        endings=st.sampled_from(ENDINGS),
        end_in_active=st.booleans(),
    )
    seldom: st.SearchStrategy[bool] = once_in(10, st.just(value=True), st.just(value=False))
    share = st.integers(0, 10)
    return st.fixed_dictionaries(
        {
            "segments": plan.map(lambda one: build(one)["segments"]),
            "committed": once_in(3, share, st.just(10)),
            "starts": once_in(4, share, st.just(0)),
            "checkpoint": once_in(3, st.none(), st.integers(-2, 12)),
            "in_progress": seldom,
            "uncleanable": seldom,
            "modified_ms": st.sampled_from((0, 500, 999, 1_000, 2_000)),
            "topic": once_in(3, topics(), st.none()),
        }
    )


def within(share: int, start: int, end: int) -> int:
    """An offset at so many tenths of the way from `start` to `end`; outside for other shares."""
    return max(0, start + (end - start) * share // 10 + (share > 10) + (share < 0) * share)
