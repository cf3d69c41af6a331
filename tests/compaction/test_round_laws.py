"""Laws of a cleaner's rounds: what one leaves for the next, for producers, for segments."""

from hypothesis import given

from sim.protocol.compaction import TOMBSTONE_REMOVALS, CleaningPass, clean
from sim.protocol.log import ProducerStates, Segment
from tests.compaction.histories import Case, cases
from tests.compaction.logs import aborted_of, batches_of, changed, whole


def after(segments: list[Segment], plan: CleaningPass) -> list[Segment]:
    """The whole log after a pass."""
    return whole(segments, clean(segments, plan))


def is_dirty(plan: CleaningPass) -> bool:
    """There is something between the first dirty offset and the bound."""
    return plan.first_dirty_offset < plan.upper_bound


@given(cases())
def test_repeating_a_pass_comes_to_rest(case: Case) -> None:
    """Data, then the horizon of its marker, or the marker; no fourth pass finds anything."""
    plan = changed(case.plan, map_capacity=None, markers_by_key=False)
    log = case.segments
    for _ in range(3):
        log = after(log, plan)

    assert batches_of(after(log, plan)) == batches_of(log)
    assert aborted_of(after(log, plan)) == aborted_of(log)


@given(cases())
def test_rounds_with_a_small_map_end_with_the_values_of_one_unbounded_round(case: Case) -> None:
    """For the offset strategy; for versions only with a full map and while no tombstone goes."""
    plan = changed(case.plan, given_map=None, rescan=False, markers_by_key=False)
    if not plan.policy.strategy.latest_wins:
        plan = changed(plan, full_map=True, removal=TOMBSTONE_REMOVALS["never"])
    small = changed(plan, map_capacity=plan.map_capacity or 1)
    log = case.segments
    for _ in range(plan.upper_bound):
        if is_dirty(small):
            result = clean(log, small)
            log = whole(log, result)
            small = changed(small, first_dirty_offset=result.next_dirty_offset)

    assert not is_dirty(small)
    at_once = after(case.segments, changed(plan, map_capacity=None))
    assert values_of(log, plan) == values_of(at_once, plan)


def values_of(segments: list[Segment], plan: CleaningPass) -> list[tuple[int, str | None]]:
    """Offset and key of every record that is no tombstone and no marker."""
    return [
        (record.offset, record.key)
        for batch in batches_of(segments)
        for record in batch.records
        if batch.control is None and not plan.policy.is_tombstone(record)
    ]


@given(cases())
def test_a_reloaded_log_knows_its_protected_producers_as_before(case: Case) -> None:
    """Sequence, epoch, open or not; a marker that was emptied does not tell its epoch any more."""
    plan = changed(case.plan, markers_by_key=False)
    left = batches_of(after(case.segments, plan))
    states = ProducerStates()
    states.rebuild(left)

    before = case.log.producers
    for pid, last in plan.last_records.items():
        by_marker = [b for b in left if b.producer_id == pid and b.control and b.records]
        if last.offset is None and last.epoch not in {b.producer_epoch for b in by_marker}:
            continue
        assert states.last_sequences()[pid] == before.last_sequences()[pid]
        assert states.last_records()[pid] == last
        assert states.has_open(pid) == before.has_open(pid)
