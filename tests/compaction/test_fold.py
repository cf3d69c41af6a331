"""Folding a log into the table it stands for."""

from hypothesis import given

from sim.protocol.compaction import FIXES, STRATEGIES, TOMBSTONE_MARKS, clean, fold
from sim.protocol.log import Batch
from tests.compaction.histories import Case, cases, stable_end
from tests.compaction.logs import batch, batches_of, changed, record, whole


def table(batches: list[Batch], below: int, strategy: str = "offset") -> dict[str, int]:
    """Key -> offset of its winner."""
    folded = fold(
        batches,
        below=below,
        strategy=STRATEGIES[strategy],
        is_tombstone=TOMBSTONE_MARKS["null_value"],
    )
    return {key: winner.offset for key, winner in folded.items()}


def test_the_last_value_of_a_key_counts_and_a_tombstone_removes_it() -> None:
    log = [batch(record(0, "a")), batch(record(1, "b")), batch(record(2, "a", None))]

    assert table(log, 2) == {"a": 0, "b": 1}
    assert table(log, 3) == {"b": 1}


def test_a_snapshot_is_what_the_log_goes_on_from() -> None:
    folded = fold(
        [batch(record(5, "a", None)), batch(record(6, "b"))],
        below=7,
        strategy=STRATEGIES["offset"],
        is_tombstone=TOMBSTONE_MARKS["null_value"],
        base=[record(1, "a"), record(2, "c")],
    )

    assert {key: winner.offset for key, winner in folded.items()} == {"b": 6, "c": 2}


@given(cases())
def test_a_pass_over_the_decided_log_with_a_full_map_does_not_change_the_table(case: Case) -> None:
    """Whatever the strategy and the removal rule, unless a loser is kept for its offset's sake.

    With versions only when nothing is open: a loser above the bound comes back when a tombstone of
    a higher version goes below it.
    """
    full = changed(
        case.plan,
        full_map=True,
        first_dirty_offset=0,
        upper_bound=stable_end(case.log),
        map_capacity=None,
        given_map=None,
        markers_by_key=False,
    )
    if stable_end(case.log) < case.log.log_end_offset:
        full = changed(full, strategy=STRATEGIES["offset"])
    if not full.policy.strategy.latest_wins and full.policy.fix is FIXES["leo_retention"]:
        full = changed(full, fix=FIXES["empty_batch"])
    left = whole(case.segments, clean(case.segments, full))

    tables = [
        fold(
            batches_of(segments),
            below=1_000,
            strategy=full.policy.strategy,
            is_tombstone=full.policy.is_tombstone,
        )
        for segments in (case.segments, left)
    ]
    assert tables[0] == tables[1]
