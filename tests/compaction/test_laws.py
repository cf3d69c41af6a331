"""Laws of the cleaner: they hold for any log and any combination of rules."""

from collections.abc import Sequence
from dataclasses import fields

from hypothesis import given, settings
from msgspec.structs import replace

from sim.protocol.compaction import CleaningPass, clean
from sim.protocol.log import Segment
from tests.audits.second_reading import Order, Reading
from tests.compaction.histories import Case, cases
from tests.compaction.logs import batch, batches_of, changed, offsets_of, plan, record, segment


@given(cases())
@settings(max_examples=200)
def test_a_pass_does_what_a_slow_reading_of_the_rules_says(case: Case) -> None:
    """Every removal, horizon, index entry and number; and its arguments stay as they are."""
    before = photograph(case.segments, case.plan)
    result = clean(case.segments, case.plan)
    expected = Reading(case.segments, order_of(case.plan)).expected()

    assert list(result.removals) == expected.removals
    assert [
        (each.base_offset, each.batches, each.aborted, each.last_modified_ms)
        for each in result.segments
    ] == [group.segment for group in expected.groups]
    per_call = case.plan.policy.indexes_calls
    for each, group in zip(result.segments, expected.groups, strict=True):
        assert each.first_timestamp_ms in group.first_ms(per_call=per_call)
    assert result.replaced == expected.replaced
    assert result.next_dirty_offset == expected.next_dirty_offset
    assert result.horizons == expected.horizons
    assert (result.emptied, result.dropped) == (expected.emptied, expected.dropped)
    assert (result.oversized, result.rewritten) == (expected.oversized, expected.rewritten)
    assert (result.messages_read, result.messages_written) == expected.messages
    assert photograph(case.segments, case.plan) == before


def order_of(made: CleaningPass) -> Order:
    """The same pass in the words of the slow reading."""
    policy, given_map = made.policy, made.given_map
    named = {
        *("full_map", "stamp_beyond_map", "markers_like_tombstones", "indexes_calls"),
        *("markers_by_key", "last_abort_only", "unmapped_version", "is_tombstone"),
        "unstamped_by_segment",
    }
    own = {"version", "fix", "removal", "last_records", "given_map"}
    return Order(
        version=policy.strategy.version,
        fix=policy.fix.name,
        removal=policy.removal.name,
        last_records={pid: (last.offset, last.epoch) for pid, last in made.last_records.items()},
        given_map=None if given_map is None else (given_map.latest_offset, given_map.winners),
        **{name: getattr(policy, name) for name in named},
        **{
            each.name: getattr(made, each.name)
            for each in fields(Order)
            if each.name not in named | own
        },
    )


@given(cases())
def test_a_pass_that_explains_does_the_same_and_has_a_reason_for_every_record(case: Case) -> None:
    plain, told = (
        clean(case.segments, case.plan),
        clean(case.segments, changed(case.plan, explains=True)),
    )
    gone = {one.offset: (one.reason, one.winner_offset) for one in told.removals}
    markers = {batch.base_offset for batch in batches_of(case.segments) if batch.control}
    stays = {
        record.offset: case.plan.policy.is_tombstone(record)
        for batch in batches_of(told.segments)
        if batch.control is None and batch.last_offset < case.plan.upper_bound
        for record in batch.records
    }

    assert batches_of(told.segments) == batches_of(plain.segments)
    assert told.removals == plain.removals
    assert told.reasons.keys() == gone.keys() | stays.keys()
    for offset, (why, winner_offset, asked) in told.reasons.items():
        if offset in gone:
            assert gone[offset] == (why, winner_offset)
        # A marker may be asked for the age of its segment first, and be evicted by its key then.
        assert (asked is not None) == (why in ("tombstone", "waits")) or offset in markers
        assert (why == "beyond map") == (offset in stays and offset >= told.next_dirty_offset)
        assert why != "waits" or stays[offset]
        assert why != "protected" or offset == told.protected_offset


def test_a_batch_over_the_end_of_the_map_is_decided_up_to_its_last_mapped_record() -> None:
    made = batch(record(0, "a"), record(1, "b", None), record(2, "c"))
    done = clean(
        [segment(replace(made, delete_horizon_ms=0))],
        plan(map_capacity=2, upper_bound=9, full_map=False),
    )

    assert (done.next_dirty_offset, offsets_of(done.segments)) == (2, [0, 2])


def photograph(segments: Sequence[Segment], made: CleaningPass) -> list[object]:
    """Everything about the arguments that could change."""
    found: list[object] = [
        {name: getattr(each, name) for name in Segment.__slots__}
        | {"batches": list(each.batches), "aborted": list(each.aborted)}
        for each in segments
    ]
    given_map = None if made.given_map is None else dict(made.given_map.winners)
    return [*found, given_map, dict(made.last_records)]
