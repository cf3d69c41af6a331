"""Random steps that move the ends of a log, and passes that Kafka's manager decides about."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.conformance.drawing import once_in
from tests.conformance.log_builder import Data, Entry, Marker, Write
from tests.conformance.log_steps import (
    Append,
    CleanIfDue,
    Expire,
    Move,
    MoveOp,
    Now,
    Other,
    Spot,
    Step,
)

_NEVER = 2**63 - 1
_none = st.none()
_mostly = st.sampled_from((True, True, True, False))
_later = st.builds(Now, st.just("later"), st.sampled_from((0, 60, 100, 1_000, 5_000)))
_at_horizon = st.builds(
    Now, st.just("horizon"), st.sampled_from((0, 0, -1, 1)), which=st.integers(0, 3)
)
_at_lag = st.builds(Now, st.just("lag"), st.sampled_from((0, 0, 0, 1, -1)), which=st.integers(0, 6))
_spots = st.builds(
    Spot,
    kind=st.sampled_from(("base", "offset", "offset", "end")),
    which=st.integers(0, 12),
    by=st.sampled_from((0, 0, 0, 0, 1, -1)),
)


def moves(*ops: MoveOp) -> st.SearchStrategy[Step]:
    """The log is cut, starts later, or is committed further."""
    return st.builds(Move, op=st.sampled_from(ops), to=_spots)


def expiries() -> st.SearchStrategy[Expire]:
    """Producers are forgotten, mostly those of the earliest timestamps."""
    after = st.sampled_from((1, 100, 995, 996, 1_000, 100_000))
    beside = st.builds(Now, st.just("later"), st.sampled_from((0, 0, 0, 1, -1)))
    usual = st.builds(Expire, now=_later, after_ms=after)
    exact = st.builds(Expire, now=beside, after_ms=after, since=st.integers(0, 6))
    return st.one_of(usual, exact)


def decided_transactions() -> st.SearchStrategy[Append]:
    """A transaction and its end, at once."""

    def written(producer: int, commit: bool, entry: Entry, roll: bool) -> Append:
        return Append((Data((entry,), producer), Marker(producer, commit)), roll)

    entry = st.builds(Entry, key=st.sampled_from(("a", "b")), value=st.just("v"))
    return st.builds(written, st.sampled_from((3, 4)), st.booleans(), entry, st.booleans())


def rising_times() -> st.SearchStrategy[Append]:
    """Batches of which each has a later timestamp than the one before."""

    def written(times_ms: list[int]) -> Append:
        entries = [Entry("a", "v", timestamp_ms=at_ms) for at_ms in sorted(times_ms)]
        return Append(tuple(Data((entry,)) for entry in entries), roll_after=False)

    times_ms = st.lists(st.sampled_from((5, 60, 900, 990)), min_size=2, max_size=4, unique=True)
    return times_ms.map(written)


def due_cleans(preset: str) -> st.SearchStrategy[CleanIfDue]:
    """A pass, if the log is due."""
    log_wide = st.sampled_from((None, None, 0, 1_000)) if preset == "kafka-2.8" else _none
    return st.builds(
        CleanIfDue,
        now=st.one_of(_later, _at_horizon, _at_lag),
        capacity=once_in(3, st.integers(1, 4), _none),
        log_horizon_ms=log_wide,
    )


_LAGS = (
    (0, _NEVER),
    (0, _NEVER),
    (0, _NEVER),
    (100, _NEVER),
    (995, _NEVER),
    (0, 1),
    (0, 100),
    (60, 500),
    (0, 5_000),
)


def topics() -> st.SearchStrategy[tuple[tuple[str, float], ...]]:
    """Settings that decide when a log is due; often it is."""
    return st.builds(
        lambda ratio, lags: (
            ("min.cleanable.dirty.ratio", ratio),
            ("min.compaction.lag.ms", lags[0]),
            ("max.compaction.lag.ms", lags[1]),
        ),
        st.sampled_from((0, 0, 0, 0.1, 0.3, 0.5, 1)),
        st.sampled_from(_LAGS),
    )


def moving(
    preset: str,
    usual: st.SearchStrategy[Step],
    clean: st.SearchStrategy[Step],
    writes: st.SearchStrategy[Write],
) -> st.SearchStrategy[list[Step]]:
    """Steps of which most move the ends of the log, or clean it if it is due; such a pass first.

    What belongs together comes together, with other steps in between.
    """
    due: st.SearchStrategy[Step] = due_cleans(preset)
    rolled: st.SearchStrategy[Step] = st.builds(
        Append, writes=st.lists(writes, min_size=1, max_size=3).map(tuple), roll_after=_mostly
    )
    deletion: st.SearchStrategy[Step] = st.just(Other("delete_old_segments"))
    cut, anew = moves("truncate"), moves("truncate_fully")
    reload: st.SearchStrategy[Step] = st.just(Other("reload"))
    roll: st.SearchStrategy[Step] = st.just(Other("roll"))
    last = st.builds(Spot, kind=st.just("offset"), which=st.integers(0, 2))
    cut_late = st.builds(Move, op=st.just("truncate"), to=last)
    all_silent = st.builds(Expire, now=st.just(Now("later", 5_000)), after_ms=st.just(1))
    idioms = (
        (rolled, due),
        (moves("high_watermark"), due),
        (cut, rolled, due),
        (cut, usual),
        (anew, rising_times(), reload, cut_late, roll, due),
        (reload, cut, rolled, due),
        (moves("high_watermark"), decided_transactions(), all_silent, cut, usual),
        (moves("delete_records"), due, deletion),
        (moves("delete_records"), deletion, usual),
        (clean, expiries(), rolled, clean),
        (clean, expiries(), rolled, clean),
        (anew, rolled, due),
        (usual,),
    )
    chosen = st.integers(0, len(idioms) - 1).flatmap(lambda which: st.tuples(*idioms[which]))
    return st.builds(
        lambda first, then: [first, *(step for idiom in then for step in idiom)],
        due,
        st.lists(chosen, min_size=1, max_size=4),
    )
