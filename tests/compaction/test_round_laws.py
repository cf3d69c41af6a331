"""Laws of a cleaner's rounds: what one leaves for the next, for producers, for segments."""

from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.compaction import TOMBSTONE_REMOVALS, CleaningPass, clean
from sim.protocol.events import Cleaned
from sim.protocol.log import Segment
from sim.protocol.replication import Replica
from sim.protocol.replication.cleaning import Cleaner
from sim.protocol.rules import Rules
from tests.compaction.histories import Case, cases
from tests.compaction.logs import (
    RETENTION_MS,
    aborted_of,
    batch,
    batches_of,
    changed,
    record,
    whole,
)
from tests.log.producing import noted


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
    """Sequence, epoch, open or not; a marker that was emptied does not tell its epoch any more.

    Rules that let one marker evict another lose the end of a transaction: that is their hazard.
    """
    plan = changed(case.plan, markers_by_key=False, last_abort_only=False)
    left = batches_of(after(case.segments, plan))
    states = noted(*left)

    before = case.log.producers
    for pid, last in plan.last_records.items():
        by_marker = [b for b in left if b.producer_id == pid and b.control and b.records]
        if last.offset is None and last.epoch not in {b.producer_epoch for b in by_marker}:
            continue
        assert states.last_sequences()[pid] == before.last_sequences()[pid]
        assert states.last_records()[pid] == last
        assert states.has_open(pid) == before.has_open(pid)


PASSES = st.lists(
    st.sampled_from(["a", "b", "a", (1, 99), (3, 100), (99, 0), (99, 100), (99, 250)]), max_size=14
)


@given(
    st.sampled_from(["horizon", "record_horizon", "cleaning_checkpoint", "cleaning_checkpoint"]),
    PASSES,
)
def test_a_tombstone_stays_for_its_retention_after_the_first_pass_that_reads_it_and_goes_then(
    rule: str, steps: list[str | tuple[int, int]]
) -> None:
    """A reader that began before that pass has `delete.retention.ms` to see it (KIP-534)."""
    rules = Rules.of(tombstone_removal=rule, delete_retention_ms=RETENTION_MS)
    replica, cleaner, now_ms = Replica("r1"), Cleaner(rules), 0
    first_read_ms: dict[int, int] = {}
    for step in [*steps, (99, 0), (99, RETENTION_MS)]:
        end = replica.log.log_end_offset
        if isinstance(step, str):
            replica.log.append(batch(record(end, step, None)), now_ms=now_ms)
            replica.log.high_watermark = end + 1
            continue
        bound, now_ms = min(step[0], end), now_ms + step[1]
        done = cleaner.run(replica, upper_bound=bound, now_ms=now_ms, rescan=True)
        for event in done.events:
            for one in event.removals if isinstance(event, Cleaned) else ():
                if one.reason == "tombstone":
                    assert now_ms >= first_read_ms[one.offset] + RETENTION_MS
        for offset in range(bound):
            first_read_ms.setdefault(offset, now_ms)

    assert not [record for batch in replica.log.batches() for record in batch.records]
