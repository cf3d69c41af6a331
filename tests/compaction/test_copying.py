"""What stays of each batch and of each record (Cleaner.cleanInto, MemoryRecords.filterTo)."""

import pytest

from sim.compaction import FIXES, STRATEGIES, CleaningPass, clean
from sim.log import Batch, LastRecord, Log
from sim.trace import Removal
from tests.compaction.logs import (
    batch,
    batches_of,
    marker,
    offsets_of,
    plan,
    record,
    records_of,
    segment,
)
from tests.log.wire import encode


def left_of(*batches: Batch, **changes: object) -> list[Batch]:
    """The batches after one pass over a segment of these."""
    return batches_of(clean([segment(*batches)], plan(**changes)).segments)


# Batches.


def test_a_batch_that_loses_nothing_is_copied_as_it_is() -> None:
    made = batch(record(0, "a"), record(1, "b"))

    [kept] = left_of(made)
    assert kept is made


def test_a_batch_that_loses_records_keeps_its_header_and_the_others_their_offsets() -> None:
    made = batch(
        record(3, "k", timestamp_ms=9),
        record(4, "a", timestamp_ms=5),
        record(5, "k", timestamp_ms=7),
        record(6, "k", timestamp_ms=8),
        pid=1,
        sequence=4,
    )

    [kept, _] = left_of(made, batch(record(7, "k")))
    assert (kept.base_offset, kept.last_offset, offsets_of([segment(kept)])) == (3, 6, [4])
    assert (kept.producer_id, kept.base_sequence, kept.epoch) == (1, 4, 1)
    assert kept.timestamp_ms == 5
    assert kept.size_bytes == len(encode(kept)) < made.size_bytes


def test_a_batch_of_which_nothing_stays_goes() -> None:
    assert [b.base_offset for b in left_of(batch(record(0, "k")), batch(record(1, "k")))] == [1]


LAST = LastRecord(1, 0)


@pytest.mark.parametrize(
    ("last", "ends"),
    [
        ({1: LAST}, [1, 2]),
        ({1: LastRecord(0, 0)}, [2]),
        ({1: LastRecord(2, 0)}, [2]),
        ({1: LastRecord(None, 0)}, [2]),
        ({2: LAST}, [2]),
        ({}, [2]),
    ],
)
def test_the_batch_that_ends_at_its_producer_s_last_offset_stays(
    last: dict[int, LastRecord], ends: list[int]
) -> None:
    """By offset, not by sequence, because coordinators use sequence 0 again (KAFKA-8335)."""
    sent = batch(record(0, "k"), record(1, "k"), pid=1, sequence=0)
    result = clean([segment(sent, batch(record(2, "k")))], plan(last_records=last))

    left = batches_of(result.segments)
    assert [b.last_offset for b in left] == ends
    assert result.emptied == ends[:-1]
    if len(ends) == 2:
        assert left[0] == sent.emptied()


def test_an_empty_batch_goes_when_its_producer_has_sent_another_or_is_forgotten() -> None:
    sent = [batch(record(i, "k"), pid=1, sequence=i) for i in range(2)]
    log = Log()
    for each in [sent[0].emptied(), sent[1], batch(record(2, "k"))]:
        log.append(each, now_ms=0)

    result = clean(log.segments, plan(last_records=log.producers.last_records()))
    assert ([b.last_offset for b in batches_of(result.segments)], result.dropped) == ([1, 2], [0])
    forgotten = clean(result.segments, plan())
    assert [b.last_offset for b in batches_of(forgotten.segments)] == [2]


def test_aborted_data_that_is_its_producer_s_last_batch_stays_empty() -> None:
    log = Log()
    for each in [batch(record(0, "d"), pid=7, sequence=-1), marker(1, 7, commit=False)]:
        log.append(each, now_ms=0)

    result = clean(log.segments, plan(last_records={7: LastRecord(0, 0)}))
    assert [len(b.records) for b in batches_of(result.segments)] == [0, 1]
    assert (result.messages_read, result.messages_written) == (2, 1)


# Records.


def test_records_without_a_key_go_and_are_counted_apart() -> None:
    result = clean([segment(batch(record(0, None), record(1, "a"), record(2, None, None)))], plan())

    assert [r.offset for r in result.removed["no key"]] == [0, 2]
    assert offsets_of(result.segments) == [1]


def beyond(**changes: object) -> CleaningPass:
    """A pass whose map holds one key."""
    return plan(map_capacity=1, upper_bound=9, full_map=False, **changes)


@pytest.mark.parametrize(
    ("key", "value"),
    [("k", "v"), ("k", None), (None, "v"), (None, None)],
    ids=["beaten", "tombstone", "unkeyed", "unkeyed null"],
)
def test_beyond_the_map_a_record_stays_whatever_it_is(key: str | None, value: str | None) -> None:
    due = batch(record(2, key, value))._replace(delete_horizon_ms=0)
    log = [segment(batch(record(0, "k")), batch(record(1, "b")), due, batch(record(3, "k")))]
    result = clean(log, beyond(now_ms=50))

    assert (result.next_dirty_offset, offsets_of(result.segments)) == (1, [0, 1, 2, 3])
    assert 2 not in offsets_of(clean(log, plan(now_ms=50)).segments)


def test_a_batch_that_straddles_the_end_of_the_map_is_decided_as_far_as_it_goes() -> None:
    keys = ["a", None, "a", "b", "c", None, "a"]
    made = batch(*(record(offset, key) for offset, key in enumerate(keys)))
    changes = {"map_capacity": 2, "upper_bound": 9, "full_map": False}

    first = clean([segment(made)], plan(**changes))
    assert (first.next_dirty_offset, offsets_of(first.segments)) == (4, [2, 3, 4, 5, 6])
    second = clean(first.segments, plan(first_dirty_offset=4, **changes))
    assert (second.next_dirty_offset, offsets_of(second.segments)) == (9, [3, 4, 6])


def test_a_null_value_beyond_the_map_is_stamped_on_sight_with_or_without_a_key() -> None:
    log = [segment(batch(record(0, "a")), batch(record(1, "b")), batch(record(2, None, None)))]

    assert clean(log, beyond()).horizons == [(2, 100)]
    assert clean(log, beyond(stamp_beyond_map=False)).horizons == []


# Versions (KIP-280) and the clean section.


def versioned() -> list[Batch]:
    """Version 5 in the clean section, then 3 and 4."""
    return [batch(record(i, "k", version=version)) for i, version in enumerate([5, 3, 4])]


@pytest.mark.parametrize(("full", "left"), [(True, [0]), (False, [0, 2])])
def test_a_lower_version_that_comes_later_stays_beside_a_clean_one_unless_the_map_is_full(
    full: bool, left: list[int]
) -> None:
    """The hole in apache/kafka PR 8103: a later round does not repair it."""
    changes = {"strategy": STRATEGIES["header"], "full_map": full, "upper_bound": 3}
    result = clean([segment(*versioned())], plan(first_dirty_offset=1, **changes))
    assert offsets_of(result.segments) == left

    again = clean(result.segments, plan(first_dirty_offset=3, rescan=True, **changes))
    assert offsets_of(again.segments) == left


def test_with_a_small_map_a_removed_tombstone_lets_a_later_lower_version_back_in() -> None:
    """A dropped record is final, and its version is forgotten with it."""
    due = batch(record(0, "k", None, version=9))._replace(delete_horizon_ms=0)
    log = [segment(due, batch(record(1, "b")), batch(record(2, "k", version=3)))]
    changes = {"strategy": STRATEGIES["header"], "upper_bound": 3}

    assert offsets_of(clean(log, plan(**changes)).segments) == [1]
    first = clean(log, plan(map_capacity=1, **changes))
    rest = clean(first.segments, plan(first_dirty_offset=first.next_dirty_offset, **changes))
    assert (first.next_dirty_offset, offsets_of(rest.segments)) == (1, [1, 2])


# What the pass says.


def test_removals_are_told_in_offset_order_with_their_reasons() -> None:
    log = [
        segment(
            batch(record(0, None)),
            batch(record(1, "k", None))._replace(delete_horizon_ms=0),
            batch(record(2, "a")),
            batch(record(3, "a")),
            marker(4, 7, commit=True)._replace(delete_horizon_ms=0),
        )
    ]
    result = clean(log, plan())

    assert result.removals == (
        Removal(0, 1, None, "no key", None),
        Removal(1, 2, "k", "tombstone", None),
        Removal(2, 3, "a", "superseded", 3),
        Removal(4, 5, None, "marker", None),
    )


@pytest.mark.parametrize(
    ("batches", "read", "written"),
    [
        ([batch(record(0, "a"), record(1, "b"))], 2, 2),
        ([batch(record(0, "a"), record(1, "a"))], 2, 1),
        ([batch(record(0, None))], 1, 0),
        ([batch(record(0, "a")).emptied()], 0, 0),
        ([marker(0, 7, commit=True)], 1, 1),
        ([marker(0, 7, commit=True)._replace(delete_horizon_ms=0)], 0, 0),
        ([batch(record(0, "d"), pid=7), marker(1, 7, commit=False)], 1, 1),
        ([batch(record(0, "d"), pid=7), marker(1, 7, commit=True)], 2, 2),
    ],
)
def test_batches_that_go_whole_are_not_read(batches: list[Batch], read: int, written: int) -> None:
    log = Log()
    for each in batches:
        log.append(each, now_ms=0)
    result = clean(log.segments, plan(upper_bound=9))

    assert (result.messages_read, result.messages_written) == (read, written)


def test_a_batch_that_reaches_the_bound_is_neither_read_nor_touched() -> None:
    straddling = batch(record(1, "k"), record(2, None))
    result = clean([segment(batch(record(0, "k")), straddling)], plan(upper_bound=2))

    assert batches_of(result.segments)[1] is straddling
    assert (result.messages_read, result.messages_written) == (1, 1)


def test_a_fully_cleaned_log_keeps_its_first_segment_and_the_end_of_its_round() -> None:
    log = [segment(batch(record(0, None))), segment(batch(record(1, None))), segment(base=2)]

    gone = clean(log, plan(upper_bound=2))
    assert [(s.base_offset, s.batches) for s in gone.segments] == [(0, [])]
    kept = clean(log, plan(upper_bound=2, fix=FIXES["empty_batch"]))
    assert [b.last_offset for b in batches_of(kept.segments)] == [1]
    assert records_of(kept.segments) == []
