"""Delete horizons, case by case (KIP-534)."""

import pytest

from sim.compaction import FIXES, TOMBSTONE_REMOVALS, Cleaning, clean
from sim.log import Record, Segment
from tests.compaction.logs import (
    RETENTION_MS,
    batch,
    batches_of,
    deleted,
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
