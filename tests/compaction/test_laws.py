"""Laws of the cleaner: they hold for any log and any combination of rules."""

from collections.abc import Sequence

from hypothesis import given

from sim.compaction import Cleaning, CleaningPass, clean
from sim.compaction.fixes import Tail
from sim.log import Batch, Record, Segment
from tests.compaction.histories import Case, cases
from tests.compaction.logs import aborted_of, batches_of, offsets_of, records_of, whole
from tests.compaction.model import Model
from tests.log.wire import decode, encode, readable

HORIZON_HEADER = "delete-horizon"


def after(case: Case) -> tuple[list[Segment], Cleaning]:
    """The whole log after the pass, and what the pass says about itself."""
    result = clean(case.segments, case.plan)
    return whole(case.segments, result), result


def touchable(case: Case) -> list[Batch]:
    """The batches that a pass may touch: those that end below its bound."""
    return [b for b in batches_of(case.segments) if b.last_offset < case.plan.upper_bound]


def unstamped(record: Record) -> Record:
    """The record without the header that `record_horizon` adds."""
    return record._replace(headers=tuple(h for h in record.headers if h[0] != HORIZON_HEADER))


@given(cases())
def test_a_pass_does_what_a_slow_reading_of_the_rules_says(case: Case) -> None:
    """Every removal, horizon, empty batch, index entry and number, from a second cleaner."""
    result = clean(case.segments, case.plan)
    expected = Model(case.segments, case.plan).expected()

    assert {removal.offset: removal.reason for removal in result.removals} == expected.reasons
    assert [
        (each.base_offset, each.batches, each.aborted, each.last_modified_ms)
        for each in result.segments
    ] == expected.segments
    assert result.replaced == expected.replaced
    assert result.next_dirty_offset == expected.next_dirty_offset
    assert result.horizons == expected.horizons
    assert (result.emptied, result.dropped) == (expected.emptied, expected.dropped)
    assert (result.messages_read, result.messages_written) == expected.messages


@given(cases())
def test_what_stays_is_in_its_old_order_at_its_old_offsets(case: Case) -> None:
    left, _ = after(case)

    assert offsets_of(left) == sorted(offsets_of(left))
    assert set(offsets_of(left)) <= set(offsets_of(case.segments))
    ends = [(b.base_offset, b.last_offset) for b in batches_of(left)]
    assert ends == sorted(ends)
    assert set(ends) <= {(b.base_offset, b.last_offset) for b in batches_of(case.segments)}


@given(cases())
def test_every_record_either_stays_or_is_removed_with_a_reason(case: Case) -> None:
    left, result = after(case)

    removed = [removal.offset for removal in result.removals]
    assert sorted([*removed, *offsets_of(left)]) == offsets_of(case.segments)
    assert removed == sorted(removed)
    before = {record.offset: record for record in records_of(case.segments)}
    for removal in result.removals:
        record = before[removal.offset]
        assert (removal.uid, removal.key) == (record.uid, record.key)


@given(cases())
def test_who_superseded_a_record_has_its_key_and_a_higher_version(case: Case) -> None:
    before = {record.offset: record for record in records_of(case.segments)}
    version = case.plan.policy.strategy.version

    result = clean(case.segments, case.plan)
    for removal in result.removals:
        assert (removal.winner_offset is not None) == (removal.reason == "superseded")
        if removal.winner_offset is not None and removal.key is not None:
            winner = result.winners[removal.key]
            assert winner.offset == removal.winner_offset
            assert version(winner) > version(before[removal.offset])


@given(cases())
def test_a_winning_value_of_the_mapped_range_stays(case: Case) -> None:
    left, result = after(case)

    if case.plan.given_map is None:
        winners = result.winners.values()
        assert {r.offset for r in winners if not case.plan.policy.is_tombstone(r)} <= set(
            offsets_of(left)
        )


@given(cases())
def test_nothing_that_reaches_the_bound_is_touched(case: Case) -> None:
    left, result = after(case)

    bound = case.plan.upper_bound
    beyond = [b for b in batches_of(case.segments) if b.last_offset >= bound]
    assert [b for b in batches_of(left) if b.last_offset >= bound] == beyond
    touched = [*(r.offset for r in result.removals), *result.emptied, *result.dropped]
    assert all(offset < bound for offset in touched)
    assert all(base < bound for base, _ in result.horizons)
    assert [e for e in aborted_of(left) if e.last_offset >= bound] == [
        e for e in aborted_of(case.segments) if e.last_offset >= bound
    ]


@given(cases())
def test_beyond_the_reach_of_the_map_only_aborted_data_and_markers_go(case: Case) -> None:
    result = clean(case.segments, case.plan)

    for removal in result.removals:
        if removal.offset >= result.next_dirty_offset:
            assert removal.reason in {"aborted", "marker"}
    if not case.plan.policy.stamp_beyond_map:
        stamped = dict(result.horizons)
        for batch in touchable(case):
            if batch.base_offset in stamped and batch.last_offset >= result.next_dirty_offset:
                assert batch.control is not None


@given(cases())
def test_a_record_that_stays_reads_back_byte_for_byte(case: Case) -> None:
    """Timestamps included, although a horizon takes the place they are counted from."""
    left, result = after(case)

    before = {record.offset: record for record in records_of(case.segments)}
    for batch in batches_of(left):
        read = decode(encode(batch))
        assert read == readable(batch)
        for old, new in ((before[r.offset]._replace(uid=0), r) for r in read.records):
            if new.headers == old.headers:
                assert new == old
            else:
                assert unstamped(new) == unstamped(old)
                assert len(new.headers) == len(old.headers) + 1
                assert case.plan.policy.removal.name == "record_horizon"
                assert case.plan.policy.is_tombstone(old)
                assert batch.base_offset in dict(result.horizons)
    assert [r.uid for r in records_of(left)] == [before[o].uid for o in offsets_of(left)]


@given(cases())
def test_the_size_of_a_batch_is_the_number_of_its_bytes(case: Case) -> None:
    left, _ = after(case)

    assert all(batch.size_bytes == len(encode(batch)) for batch in batches_of(left))
    assert all(each.size_bytes == sum(b.size_bytes for b in each.batches) for each in left)


@given(cases())
def test_a_batch_keeps_the_header_it_was_appended_with(case: Case) -> None:
    """All but its records, its size, its largest timestamp and its horizon."""
    left, _ = after(case)

    before = {batch.last_offset: batch for batch in batches_of(case.segments)}
    for batch in batches_of(left):
        old = before[batch.last_offset]
        assert batch == old._replace(
            records=batch.records,
            size_bytes=batch.size_bytes,
            timestamp_ms=batch.timestamp_ms,
            delete_horizon_ms=batch.delete_horizon_ms,
        )
        if not batch.records:
            assert (batch.timestamp_ms, batch.delete_horizon_ms) == (old.timestamp_ms, None)


@given(cases())
def test_a_horizon_once_set_stays(case: Case) -> None:
    left, result = after(case)

    had = {b.base_offset: b.delete_horizon_ms for b in batches_of(case.segments)}
    for batch in batches_of(left):
        before = had[batch.base_offset]
        if before is not None and batch.records:
            assert batch.delete_horizon_ms == before
        if batch.delete_horizon_ms != before and batch.records:
            assert (batch.base_offset, batch.delete_horizon_ms) in result.horizons
    now_ms = case.plan.now_ms + case.plan.delete_retention_ms
    assert all(at == now_ms for _, at in result.horizons)


@given(cases())
def test_a_batch_over_the_limit_is_told_when_the_pass_made_it_larger(case: Case) -> None:
    left, result = after(case)

    before = {b.base_offset: b.size_bytes for b in batches_of(case.segments)}
    limit = case.plan.max_message_bytes
    assert result.oversized == [
        (b.base_offset, b.size_bytes)
        for b in batches_of(left)
        if limit is not None and b.size_bytes > limit and b.size_bytes > before[b.base_offset]
    ]


@given(cases())
def test_the_fix_keeps_what_it_says(case: Case) -> None:
    left, _ = after(case)

    before = batches_of(case.segments)
    last = before[-1] if before else None
    kept = case.plan.policy.fix.keeps(Tail(last, case.plan.upper_bound, case.plan.high_watermark))
    if kept.record_offset is not None:
        assert kept.record_offset in offsets_of(left)
    if kept.batch_end in [b.last_offset for b in before]:
        assert kept.batch_end in [b.last_offset for b in batches_of(left)]


@given(cases())
def test_a_pass_leaves_its_arguments_alone(case: Case) -> None:
    before = photograph(case.segments, case.plan)

    assert clean(case.segments, case.plan) is not clean(case.segments, case.plan)
    assert clean(case.segments, case.plan).removals == clean(case.segments, case.plan).removals
    assert photograph(case.segments, case.plan) == before


def photograph(segments: Sequence[Segment], plan: CleaningPass) -> list[object]:
    """Everything about the arguments that could change."""
    found: list[object] = [
        {name: getattr(each, name) for name in Segment.__slots__}
        | {"batches": list(each.batches), "aborted": list(each.aborted)}
        for each in segments
    ]
    given_map = None if plan.given_map is None else dict(plan.given_map.winners)
    return [*found, given_map, dict(plan.last_records)]
