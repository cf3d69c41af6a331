"""Delete horizons, case by case (KIP-534), and what the rules before and beside it get wrong."""

import pytest

from sim.compaction import FIXES, TOMBSTONE_REMOVALS, Cleaning, clean
from sim.compaction.tombstones import HORIZON_HEADER
from sim.log import Record, Segment
from tests.compaction.logs import (
    RETENTION_MS,
    batch,
    batches_of,
    indexed,
    marker,
    offsets_of,
    passes,
    plan,
    record,
    records_of,
    segment,
    whole,
)

LAST_MODIFIED = TOMBSTONE_REMOVALS["last_modified"]


def deleted() -> list[Segment]:
    """A value, its tombstone and another key."""
    return [segment(batch(record(0, "k")), batch(record(1, "k", None)), batch(record(2, "z")))]


# Tombstones: cases 1a and 1b.


def test_case_1a_the_first_pass_stamps_the_batch_of_a_tombstone() -> None:
    result = passes(deleted(), 40)

    assert result.horizons == [(1, 40 + RETENTION_MS)]
    assert [b.delete_horizon_ms for b in batches_of(result.segments)] == [140, None]
    assert [r.reason for r in result.removals] == ["superseded"]


@pytest.mark.parametrize(("now_ms", "left"), [(139, [1, 2]), (140, [2]), (141, [2])])
def test_case_1b_a_pass_at_the_horizon_removes_it_and_one_ms_before_it_does_not(
    now_ms: int, left: list[int]
) -> None:
    assert offsets_of(passes(deleted(), 40, now_ms).segments) == left


def test_a_tombstone_that_is_new_to_the_pass_stays_however_late_it_is() -> None:
    assert offsets_of(passes(deleted(), 10_000).segments) == [1, 2]


def test_the_timestamps_of_records_do_not_matter() -> None:
    old = record(1, "k", None, timestamp_ms=-1)
    log = [segment(batch(record(0, "k")), batch(old))]

    assert passes(log, 40).horizons == [(1, 140)]


def test_a_later_pass_does_not_move_a_horizon_nor_does_another_retention() -> None:
    first = passes(deleted(), 40)
    second = passes(first.segments, 90, delete_retention_ms=7)

    assert second.horizons == []
    assert [b.delete_horizon_ms for b in batches_of(second.segments)] == [140, None]


def test_a_clock_that_goes_back_keeps_a_tombstone_longer() -> None:
    assert offsets_of(passes(deleted(), 40, 10, 139).segments) == [1, 2]
    assert offsets_of(passes(deleted(), 40, 10, 140).segments) == [2]


def test_one_horizon_counts_for_all_tombstones_of_a_batch() -> None:
    log = [segment(batch(record(0, "a", None), record(1, "b", None)), batch(record(2, "z")))]

    assert passes(log, 0).horizons == [(0, 100)]
    assert offsets_of(passes(log, 0, 100).segments) == [2]


def test_a_tombstone_above_the_bound_gets_no_horizon() -> None:
    assert passes(deleted(), 0, upper_bound=1).horizons == []


def test_a_superseded_tombstone_goes_at_once_and_its_batch_gets_no_horizon() -> None:
    log = [segment(batch(record(0, "k", None), record(1, "z")), batch(record(2, "k")))]
    result = passes(log, 0)

    assert (offsets_of(result.segments), result.horizons) == ([1, 2], [])


def test_the_horizon_is_copied_into_a_rebuilt_batch() -> None:
    made = batch(record(0, "k", None), record(1, "b", timestamp_ms=7))
    log = [segment(made), segment(batch(record(2, "b")))]
    first = passes(log[:1], 0)
    second = clean([*first.segments, log[1]], plan(now_ms=50, upper_bound=3))

    [rebuilt, _] = batches_of(second.segments)
    assert (rebuilt.delete_horizon_ms, [r.offset for r in rebuilt.records]) == (100, [0])
    assert (rebuilt.timestamp_ms, rebuilt.last_offset) == (0, 1)


def test_an_emptied_batch_has_no_horizon_any_more() -> None:
    log = [segment(batch(record(0, "z")), batch(record(1, "k", None))), segment(base=2)]
    result = passes(log, 0, 100, upper_bound=2, fix=FIXES["empty_batch"])

    assert result.emptied == [1]
    assert batches_of(result.segments)[1].delete_horizon_ms is None


def test_a_horizon_that_was_set_by_another_replica_s_pass_counts() -> None:
    """Hazard B: a follower's first pass takes value and tombstone together."""
    stamped = batch(record(1, "k", None))._replace(delete_horizon_ms=100)
    log = [segment(batch(record(0, "k")), stamped, batch(record(2, "z")))]

    assert offsets_of(passes(log, 99).segments) == [1, 2]
    result = passes(log, 100)
    assert [(r.offset, r.reason) for r in result.removals] == [(0, "superseded"), (1, "tombstone")]


# Markers: cases 2a and 2b.


def lone_marker() -> list[Segment]:
    """A marker whose transaction has no data in the log."""
    return indexed(segment(marker(0, 7, commit=True), batch(record(1, "z"))))


def test_case_2a_a_marker_without_data_gets_a_horizon() -> None:
    result = passes(lone_marker(), 5)

    assert (result.horizons, offsets_of(result.segments)) == ([(0, 105)], [0, 1])


@pytest.mark.parametrize(("now_ms", "left"), [(104, [0, 1]), (105, [1])])
def test_case_2b_a_marker_goes_at_its_horizon_and_not_one_ms_before(
    now_ms: int, left: list[int]
) -> None:
    assert offsets_of(passes(lone_marker(), 5, now_ms).segments) == left


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize(
    ("times", "left"),
    [
        ((0,), [1, 2]),
        ((0, 10), [1, 2]),
        ((0, 10, 109), [1, 2]),
        ((0, 10, 110), [2]),
        ((0, 200), [1, 2]),
        ((0, 200, 299), [1, 2]),
    ],
)
def test_a_marker_goes_in_the_third_pass_at_the_earliest(
    times: tuple[int, ...], left: list[int], commit: bool
) -> None:
    """The first takes the data, the second sets the horizon, a later one finds it due."""
    log = indexed(
        segment(batch(record(0, "z"), pid=7), marker(1, 7, commit=commit), batch(record(2, "z")))
    )

    assert offsets_of(passes(log, *times).segments) == left


# Hazard A: a horizon set in a partial round.


def partly_mapped() -> list[Segment]:
    """A key's value, two others, and the key's tombstone, which a map of two does not reach."""
    log = [batch(record(0, "k")), batch(record(1, "b")), batch(record(2, "c"))]
    return [segment(*log, batch(record(3, "k", None))), segment(base=4)]


def two_rounds(**changes: object) -> tuple[Cleaning, Cleaning]:
    """One at 0 with a map of two keys, and the next at 100 from where that ended."""
    changes = {"upper_bound": 4, "map_capacity": 2, **changes}
    first = clean(partly_mapped(), plan(now_ms=0, **changes))
    log = whole(partly_mapped(), first)
    dirty = first.next_dirty_offset
    return first, clean(log, plan(now_ms=100, first_dirty_offset=dirty, **changes))


def test_a_stamp_beyond_the_map_lets_value_and_tombstone_vanish_in_one_pass() -> None:
    first, second = two_rounds()

    assert (first.next_dirty_offset, first.horizons) == (2, [(3, 100)])
    assert [(r.offset, r.reason) for r in second.removals] == [(0, "superseded"), (3, "tombstone")]


def test_without_a_stamp_beyond_the_map_the_tombstone_outlives_its_value_by_the_retention() -> None:
    first, second = two_rounds(stamp_beyond_map=False)

    assert (first.next_dirty_offset, first.horizons) == (2, [])
    assert [(r.offset, r.reason) for r in second.removals] == [(0, "superseded")]
    assert second.horizons == [(3, 200)]


def test_an_unmapped_tombstone_stays_past_its_horizon() -> None:
    log = partly_mapped()
    log[0].batches[3] = log[0].batches[3]._replace(delete_horizon_ms=0)
    result = clean(log, plan(now_ms=500, upper_bound=4, map_capacity=2))

    assert 3 in offsets_of(result.segments)


# Before KIP-534: one horizon for the pass, compared with the modification time of the segment.


def legacy_pass(
    log: list[Segment], now_ms: int, *, first_dirty: int, **changes: object
) -> Cleaning:
    """The horizon is the modification time of the last clean segment minus the retention."""
    times = [each.last_modified_ms for each in log if each.base_offset < first_dirty]
    horizon = times[-1] - RETENTION_MS if times else 0
    changes = {"upper_bound": log[-1].base_offset, "full_map": False, **changes}
    return clean(
        log,
        plan(
            removal=LAST_MODIFIED,
            now_ms=now_ms,
            first_dirty_offset=first_dirty,
            legacy_horizon_ms=horizon,
            **changes,
        ),
    )


def old_log() -> list[Segment]:
    """A value and its tombstone from the start of time, and a record of 900 ms later."""
    return [
        segment(batch(record(0, "k")), last_modified_ms=1),
        segment(batch(record(1, "k", None)), last_modified_ms=1),
        segment(batch(record(2, "z")), last_modified_ms=900),
        segment(batch(record(3, "y")), last_modified_ms=1_000),
        segment(base=4),
    ]


def test_kafka_4545_a_tombstone_goes_right_after_the_pass_that_took_its_values() -> None:
    """Too early: its retention ran from the append, long before a reader could need it."""
    log = old_log()
    first = legacy_pass(log, 1_000, first_dirty=0, upper_bound=3, segment_bytes=1)
    assert [r.offset for r in first.removals] == [0]

    second = legacy_pass(whole(log, first), 1_001, first_dirty=3, segment_bytes=1)
    assert [(r.offset, r.reason) for r in second.removals] == [(1, "tombstone")]


def test_kip_534_counts_from_the_pass_instead() -> None:
    log = old_log()
    first = clean(log, plan(now_ms=1_000, upper_bound=3, segment_bytes=1))
    second = clean(whole(log, first), plan(now_ms=1_001, upper_bound=4, segment_bytes=1))

    assert second.removals == ()


def test_kafka_8522_a_tombstone_that_is_merged_with_younger_segments_never_goes() -> None:
    """Never: the merged segment takes over the modification time of its last source."""
    log, offset = [*old_log()[:3], segment(base=3)], 3
    dirty = 0
    for round_ in range(20):
        now_ms = 1_000 + round_ * 50
        result = legacy_pass(log, now_ms, first_dirty=dirty)
        assert 1 in offsets_of(result.segments)
        merged = whole(log, result)[:-1]
        dirty = result.next_dirty_offset
        fresh = segment(batch(record(offset, f"key {offset}")), last_modified_ms=now_ms + 25)
        offset += 1
        log = [*merged, fresh, segment(base=offset)]
        assert merged[0].last_modified_ms == (900 if round_ == 0 else now_ms - 25)


@pytest.mark.parametrize(("modified_ms", "left"), [(800, [2]), (801, [1, 2])])
def test_a_segment_modified_at_the_pass_s_horizon_is_old_enough(
    modified_ms: int, left: list[int]
) -> None:
    log = [segment(*deleted()[0].batches, last_modified_ms=modified_ms), segment(base=3)]
    result = clean(log, plan(removal=LAST_MODIFIED, legacy_horizon_ms=800, upper_bound=3))

    assert offsets_of(result.segments) == left
    ranges = ((0, 1, 9_000), (1, 3, modified_ms))
    told = plan(removal=LAST_MODIFIED, legacy_horizon_ms=800, legacy_last_modified=ranges)
    assert offsets_of(clean(deleted(), told).segments) == left


# KIP-534, rejected: a checkpoint of (end offset, cleaning time) for each partition.


def checkpointed(log: list[Segment], *times: int) -> list[int]:
    """Offsets left after passes at these times; each knows where and when the last one ended."""
    rule, last = TOMBSTONE_REMOVALS["cleaning_checkpoint"], None
    for now_ms in times:
        result = clean(log, plan(removal=rule, now_ms=now_ms, upper_bound=3, last_cleaning=last))
        log, last = whole(log, result), (result.next_dirty_offset, now_ms)
    return offsets_of(log)


def test_a_cleaning_checkpoint_removes_when_the_last_pass_is_the_retention_ago() -> None:
    assert checkpointed(deleted(), 0, 99) == [1, 2]
    assert checkpointed(deleted(), 0, 100) == [2]


def test_a_cleaning_checkpoint_never_removes_if_passes_come_oftener_than_the_retention() -> None:
    """There is one pair only, and each pass writes it anew."""
    assert checkpointed(deleted(), *range(0, 10_000, 99)) == [1, 2]
    assert checkpointed(deleted(), *range(0, 10_000, 100)) == [2]


# KIP-534, rejected: a header with the horizon in each tombstone.


def with_headers(*times: int) -> Cleaning:
    """Passes over the deleted key with a horizon for each record."""
    return passes(deleted(), *times, removal=TOMBSTONE_REMOVALS["record_horizon"])


def test_a_record_horizon_is_a_header_that_a_client_can_see() -> None:
    """Counted in the size of the batch, beside the headers that the record had."""
    before = batches_of(deleted())[1]
    [after, _] = batches_of(with_headers(40).segments)

    assert after.records[0].headers == ((HORIZON_HEADER, (140).to_bytes(8, "big")),)
    assert after.size_bytes == before.size_bytes + 1 + len(HORIZON_HEADER) + 1 + 8
    assert after.delete_horizon_ms is None
    assert with_headers(40).horizons == [(1, 140)]
    assert with_headers(40, 60).horizons == []


@pytest.mark.parametrize(("now_ms", "left"), [(139, [1, 2]), (140, [2])])
def test_a_record_horizon_counts_for_its_record(now_ms: int, left: list[int]) -> None:
    assert offsets_of(with_headers(40, now_ms).segments) == left


# The price: a batch may grow.

NOW_MS = 1_700_000_000_000
DAY_MS = 86_400_000


def recent() -> Record:
    """A tombstone of now."""
    return record(0, "k", None, timestamp_ms=NOW_MS)


def stamped_at_limit(limit: int | None, made: list[Segment]) -> Cleaning:
    """The pass that gives the tombstone a horizon a day ahead."""
    return clean(made, plan(now_ms=NOW_MS, delete_retention_ms=DAY_MS, max_message_bytes=limit))


def test_negative_deltas_push_a_batch_over_the_limit_and_one_byte_less_does_not() -> None:
    """The delta of a day takes four bytes where it took one."""
    mates = [record(offset, f"z{offset}", timestamp_ms=NOW_MS) for offset in range(1, 10)]
    made = batch(recent(), *mates)
    grown = made.size_bytes + 10 * 3

    log = [segment(made)]
    assert stamped_at_limit(grown - 1, log).oversized == [(0, grown)]
    assert stamped_at_limit(grown, log).oversized == []
    assert stamped_at_limit(None, log).oversized == []
    [after] = batches_of(stamped_at_limit(None, log).segments)
    assert after.size_bytes == grown
    assert {r.timestamp_ms for r in records_of(stamped_at_limit(None, log).segments)} == {NOW_MS}


def test_a_batch_that_was_over_the_limit_before_and_does_not_grow_is_not_told() -> None:
    made = batch(recent(), record(1, "z", "v" * 100, timestamp_ms=NOW_MS + DAY_MS))
    beaten = [segment(made), segment(batch(record(2, "z")))]

    assert stamped_at_limit(70, beaten).oversized == []
    assert stamped_at_limit(60, [segment(batch(recent()))]).oversized == [(0, 72)]


def test_a_header_in_each_tombstone_can_push_a_batch_over_the_limit_too() -> None:
    rule = TOMBSTONE_REMOVALS["record_horizon"]
    [made] = batches_of([segment(batch(recent()))])
    grown = made.size_bytes + 24
    told = [
        clean([segment(made)], plan(removal=rule, max_message_bytes=limit)).oversized
        for limit in (grown - 1, grown)
    ]

    assert told == [[(0, grown)], []]


def test_a_marker_grows_with_its_horizon_too() -> None:
    log = [segment(marker(0, 7, commit=True))]
    [after] = batches_of(clean(log, plan(now_ms=NOW_MS)).segments)

    assert after.size_bytes > batches_of(log)[0].size_bytes
