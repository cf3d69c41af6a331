"""Laws of a cleaner's rounds: what one leaves for the next, for producers, for segments."""

from hypothesis import given

from sim.compaction import TOMBSTONE_REMOVALS, CleaningPass, clean
from sim.log import Control, ProducerStates, Segment
from tests.compaction.histories import Case, cases
from tests.compaction.logs import aborted_of, batches_of, changed, records_of, whole
from tests.compaction.model import Model


def after(segments: list[Segment], plan: CleaningPass) -> list[Segment]:
    """The whole log after a pass."""
    return whole(segments, clean(segments, plan))


def is_dirty(plan: CleaningPass) -> bool:
    """There is something between the first dirty offset and the bound."""
    return plan.first_dirty_offset < plan.upper_bound


@given(cases())
def test_the_same_pass_twice_takes_only_markers_whose_data_went_the_first_time(case: Case) -> None:
    """Not so with a small map, which reaches farther once something in its way is gone."""
    plan = changed(case.plan, map_capacity=None, markers_by_key=False)
    model = Model(case.segments, plan)
    once = after(case.segments, plan)

    again = clean(once, plan)
    markers = {b.base_offset: b for b in batches_of(case.segments) if b.control is not None}
    for removal in again.removals:
        assert removal.reason == "marker"
        assert not model.may_be_discarded(markers[removal.offset])


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
def test_a_round_ends_between_the_first_dirty_offset_and_the_bound(case: Case) -> None:
    plan = changed(case.plan, given_map=None)
    result = clean(case.segments, plan)

    assert plan.first_dirty_offset <= result.next_dirty_offset <= plan.upper_bound
    if is_dirty(plan) and plan.map_capacity != 0:
        assert result.next_dirty_offset > plan.first_dirty_offset
    if plan.map_capacity is None:
        assert result.next_dirty_offset == plan.upper_bound or not (is_dirty(plan) or plan.rescan)


@given(cases())
def test_nothing_enters_the_map_then_nothing_happens(case: Case) -> None:
    clean_log = changed(case.plan, first_dirty_offset=case.plan.upper_bound, rescan=False)
    for plan in (clean_log, changed(case.plan, map_capacity=0)):
        result = clean(case.segments, changed(plan, given_map=None))

        assert (result.segments, result.replaced, result.removals) == ([], 0, ())
        assert result.next_dirty_offset == plan.first_dirty_offset


@given(cases())
def test_the_index_keeps_the_aborted_transactions_whose_data_was_still_seen(case: Case) -> None:
    result = clean(case.segments, case.plan)

    assert aborted_of(result.segments) == [
        entry
        for entry in aborted_of(case.segments[: result.replaced])
        if entry.last_offset >= case.plan.upper_bound
        or any(
            batch.transactional and batch.control is None
            for batch in batches_of(case.segments)
            if batch.producer_id == entry.producer_id
            and entry.first_offset <= batch.base_offset < entry.last_offset
        )
    ]


@given(cases())
def test_an_entry_of_the_index_stays_in_the_segment_of_its_marker(case: Case) -> None:
    left = after(case.segments, changed(case.plan, markers_by_key=False))

    for segment in left:
        offsets = [b.base_offset for b in segment.batches if b.control is Control.ABORT]
        assert {entry.last_offset for entry in segment.aborted} <= set(offsets)


@given(cases())
def test_segments_keep_their_bases_and_grouping_keeps_to_the_limit(case: Case) -> None:
    result = clean(case.segments, case.plan)

    sources = case.segments[: result.replaced]
    starts = [each.base_offset for each in result.segments]
    assert starts == sorted(set(starts) & {each.base_offset for each in sources})
    assert starts[:1] == [each.base_offset for each in sources[:1]]
    limit = case.plan.segment_bytes
    for number, merged in enumerate(result.segments):
        end = starts[number + 1] if number + 1 < len(starts) else 1 << 40
        group = [each for each in sources if merged.base_offset <= each.base_offset < end]
        assert all(merged.base_offset <= b.base_offset < end for b in merged.batches)
        assert merged.last_modified_ms == group[-1].last_modified_ms
        size = sum(each.size_bytes for each in group)
        following = [each.size_bytes for each in sources if each.base_offset == end]
        assert len(group) == 1 or limit is None or size <= limit
        assert limit is not None or not following
        assert all(limit is None or size + more > limit for more in following)


@given(cases())
def test_the_last_batch_of_an_active_producer_stays_empty_if_need_be(case: Case) -> None:
    left = {(b.producer_id, b.last_offset) for b in batches_of(after(case.segments, case.plan))}

    for batch in batches_of(case.segments):
        last = case.plan.last_records.get(batch.producer_id)
        if last is not None and batch.control is None and batch.last_offset == last.offset:
            assert (batch.producer_id, batch.last_offset) in left
        if last is not None and last.offset is None and batch.control is not None:
            assert batch.producer_epoch != last.epoch or (
                (batch.producer_id, batch.last_offset) in left
            )


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


@given(cases())
def test_records_read_are_those_written_and_those_removed_one_by_one(case: Case) -> None:
    """Batches that are known to go whole are not read."""
    result = clean(case.segments, case.plan)

    left = {b.last_offset for b in batches_of(result.segments)}
    unread = {
        record.offset
        for batch in batches_of(case.segments)
        for record in batch.records
        if batch.last_offset not in left
    }
    looked_at = [
        removal
        for removal in result.removals
        if removal.reason not in {"aborted", "marker"} or removal.offset not in unread
    ]
    assert result.messages_read == result.messages_written + len(looked_at)
    bound = case.plan.upper_bound
    kept = [b for b in batches_of(result.segments) if b.last_offset < bound]
    assert result.messages_written == sum(len(b.records) for b in kept)


@given(cases())
def test_without_a_limit_all_covered_segments_become_one(case: Case) -> None:
    result = clean(case.segments, changed(case.plan, segment_bytes=None))

    assert len(result.segments) == min(result.replaced, 1)
    assert len(records_of(result.segments)) <= len(records_of(case.segments))
