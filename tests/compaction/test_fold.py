"""The table that a log stands for is the same after a pass."""

from hypothesis import given

from sim.protocol.compaction import FIXES, STRATEGIES, clean, fold
from tests.compaction.histories import Case, cases, stable_end
from tests.compaction.logs import batches_of, changed, whole


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
