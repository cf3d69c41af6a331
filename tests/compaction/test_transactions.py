"""Aborted data, and the life of markers (CleanedTransactionMetadata)."""

import pytest

from sim.compaction import FIXES, TOMBSTONE_REMOVALS, OffsetMap, clean
from sim.compaction.copying import MARKER_KEYS
from sim.compaction.transactions import undivided_end
from sim.log import AbortedTransaction, Control, LastRecord, Segment, control_batch
from tests.compaction.logs import (
    aborted_of,
    batch,
    batches_of,
    indexed,
    marker,
    offsets_of,
    passes,
    plan,
    record,
    segment,
    two_transactions,
    whole,
)


def aborted() -> list[Segment]:
    """Aborted data, its marker, and another key."""
    data = batch(record(0, "d"), pid=7)
    return indexed(segment(data, marker(1, 7, commit=False), batch(record(2, "z"))))


# Aborted data.


def test_aborted_data_goes_in_the_first_pass_and_beats_nothing() -> None:
    data = batch(record(1, "k"), pid=7)
    log = indexed(segment(batch(record(0, "k")), data, marker(2, 7, commit=False)))

    result = passes(log, 0)
    assert offsets_of(result.segments) == [0, 2]
    assert [r.reason for r in result.removals] == ["aborted"]


def test_it_goes_whatever_its_key_and_also_beyond_the_map() -> None:
    data = batch(record(2, None), record(3, "c"), pid=7)
    log = indexed(
        segment(batch(record(0, "a"), record(1, "b")), data, marker(4, 7, commit=False)),
    )
    result = clean(log, plan(upper_bound=5, map_capacity=1))

    assert (result.next_dirty_offset, offsets_of(result.segments)) == (1, [0, 1, 4])


def test_data_without_a_transaction_between_that_of_an_aborted_one_stays() -> None:
    log = indexed(
        segment(
            batch(record(0, "d"), pid=7),
            batch(record(1, "e"), pid=7, sequence=4),
            batch(record(2, "f"), pid=8),
            marker(3, 7, commit=False),
            marker(4, 8, commit=True),
        )
    )

    assert offsets_of(passes(log, 0).segments) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        (False, True, [1, 2, 3, 4]),
        (True, False, [0, 1, 3, 4]),
        (False, False, [1, 3, 4]),
        (True, True, [0, 1, 2, 3, 4]),
    ],
)
def test_two_transactions_of_one_producer_are_told_apart(
    first: bool, second: bool, left: list[int]
) -> None:
    assert offsets_of(passes(two_transactions(first, second), 0).segments) == left


def test_an_ended_transaction_is_not_taken_for_the_producer_s_next_one() -> None:
    """Its data is gone: it is activated by its own marker, not by the next batch."""
    log = two_transactions(False, True)
    del log[0].batches[0]

    assert offsets_of(passes(log, 0).segments) == [1, 2, 3, 4]


def test_open_transactions_are_no_aborted_ones() -> None:
    log = indexed(segment(batch(record(0, "d"), pid=7), batch(record(1, "d"))))

    assert [r.reason for r in passes(log, 0).removals] == ["superseded"]


# The life of a marker. Its three passes: test_horizons.py.


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [(False, True, [2, 3, 4]), (True, False, [0, 1, 4]), (False, False, [4])],
)
def test_a_transaction_does_not_hold_the_marker_of_another_one_of_its_producer(
    first: bool, second: bool, left: list[int]
) -> None:
    assert offsets_of(passes(two_transactions(first, second), 0, 10, 110).segments) == left


def test_a_commit_marker_stays_as_long_as_a_record_of_its_transaction_does() -> None:
    log = [segment(batch(record(0, "d"), pid=7), marker(1, 7, commit=True), batch(record(2, "z")))]

    assert offsets_of(passes(log, 0, 100, 200, 300).segments) == [0, 1, 2]


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_an_empty_batch_of_the_transaction_keeps_its_marker(commit: bool) -> None:
    empty = batch(record(0, "d"), pid=7).emptied()
    log = indexed(segment(empty, marker(1, 7, commit=commit), batch(record(2, "z"))))

    result = clean(log, plan(last_records={7: LastRecord(0, 0)}))
    assert result.horizons == []
    assert len(aborted_of(result.segments)) == (not commit)


def test_a_due_marker_stays_while_something_of_its_transaction_is_seen() -> None:
    due = marker(1, 7, commit=True)._replace(delete_horizon_ms=0)
    log = [segment(batch(record(0, "d"), pid=7), due)]

    assert offsets_of(passes(log, 500).segments) == [0, 1]


def test_an_empty_transaction_s_marker_is_stamped_in_its_first_pass() -> None:
    log = indexed(segment(marker(0, 7, commit=False), marker(1, 8, commit=True)))

    assert passes(log, 0).horizons == [(0, 100), (1, 100)]


@pytest.mark.parametrize(
    ("last", "bound", "ends"),
    [(None, 9, [2]), (LastRecord(None, 3), 9, [1, 2]), (LastRecord(None, 2), 9, [2])],
)
def test_a_marker_that_is_its_producer_s_last_word_stays_empty_when_it_is_due(
    last: LastRecord | None, bound: int, ends: list[int]
) -> None:
    due = marker(1, 7, commit=True, producer_epoch=3)._replace(delete_horizon_ms=0)
    log = [segment(due, batch(record(2, "z")))]
    keep = {} if last is None else {7: last}
    result = clean(log, plan(upper_bound=bound, last_records=keep))

    assert [b.last_offset for b in batches_of(result.segments)] == ends
    assert [r.reason for r in result.removals] == ["marker"]
    again = clean(result.segments, plan(upper_bound=bound, last_records=keep))
    assert batches_of(again.segments) == batches_of(result.segments)
    forgotten = clean(result.segments, plan(upper_bound=bound))
    assert [b.last_offset for b in batches_of(forgotten.segments)] == [2]


def test_the_last_marker_of_a_round_stays_empty_when_it_is_due() -> None:
    due = marker(0, 7, commit=True)._replace(delete_horizon_ms=0)
    result = clean([segment(due)], plan(upper_bound=1, fix=FIXES["empty_batch"]))

    assert (result.emptied, result.messages_read, result.messages_written) == ([0], 1, 0)


def test_a_leader_change_is_never_discarded() -> None:
    change = control_batch(0, epoch=1, control=Control.LEADER_CHANGE, timestamp_ms=0)
    log = [segment(change._replace(delete_horizon_ms=0), batch(record(1, "z")))]

    assert offsets_of(passes(log, 0, 100, 200).segments) == [0, 1]


@pytest.mark.parametrize(("limit", "left"), [(1, [1, 2]), (2, [2])])
def test_coordination_holds_markers_back_too(limit: int, left: list[int]) -> None:
    rule = TOMBSTONE_REMOVALS["coordinated"]

    held = passes(aborted(), 0, 10, 110, removal=rule, removal_limit=limit)
    assert offsets_of(held.segments) == left


@pytest.mark.parametrize(("horizon", "left"), [(29, [1, 2]), (30, [2]), (None, [1, 2])])
def test_before_kip_534_a_marker_went_by_its_segment_s_time_in_the_second_pass(
    horizon: int | None, left: list[int]
) -> None:
    changes: dict[str, object] = {
        "removal": TOMBSTONE_REMOVALS["last_modified"],
        "markers_like_tombstones": True,
        "legacy_horizon_ms": horizon,
    }
    log = aborted()
    log[0].last_modified_ms = 30
    first = clean(log, plan(**changes))
    second = clean(whole(log, first), plan(**changes))

    assert offsets_of(first.segments) == [1, 2]
    assert (offsets_of(second.segments), second.horizons) == (left, [])


# Before KAFKA-14055 markers were looked up by their key.


def keyed(offset: int, control: Control) -> list[Segment]:
    """A committed transaction, an aborted one, and a record with the key of a marker."""
    same = batch(record(offset, MARKER_KEYS[control]))
    log = [
        batch(record(1, "a"), pid=7),
        marker(2, 7, commit=True),
        batch(record(3, "b"), pid=8),
        marker(4, 8, commit=False),
    ]
    return indexed(segment(*sorted([*log, same], key=lambda each: each.base_offset)))


@pytest.mark.parametrize(
    ("control", "offset", "gone"),
    [
        (Control.COMMIT, 9, [2]),
        (Control.ABORT, 9, [4]),
        (Control.COMMIT, 0, []),
        (Control.LEADER_CHANGE, 9, []),
    ],
)
def test_a_later_user_record_with_a_marker_s_very_bytes_evicted_it(
    control: Control, offset: int, gone: list[int]
) -> None:
    log = keyed(offset, control)

    old = clean(log, plan(markers_by_key=True))
    superseded = [(r.offset, r.winner_offset) for r in old.removals if r.reason == "superseded"]
    assert superseded == [(each, offset) for each in gone]
    assert old.evicted_markers == dict(superseded)
    new = clean(log, plan())
    assert {2, 4} <= set(offsets_of(new.segments))


@pytest.mark.parametrize(("latest", "evicted"), [(1, {}), (2, {2: 9})])
def test_a_marker_beyond_the_map_was_not_looked_up(latest: int, evicted: dict[int, int]) -> None:
    key = MARKER_KEYS[Control.COMMIT]
    given = OffsetMap({key: record(9, key)}, 1 << 62, latest)
    result = clean(keyed(9, Control.COMMIT), plan(markers_by_key=True, given_map=given))

    assert result.evicted_markers == evicted


def test_an_evicted_abort_marker_makes_later_data_of_its_producer_look_aborted() -> None:
    """Its entry of the index stays, and nothing ends it any more: committed data is lost."""
    log = keyed(9, Control.ABORT)
    first = clean(log, plan(markers_by_key=True))
    assert aborted_of(first.segments) == [AbortedTransaction(8, 3, 4, 5)]

    later = segment(batch(record(10, "c"), pid=8), marker(11, 8, commit=True))
    second = clean([*first.segments, later], plan(markers_by_key=True))
    assert [(r.offset, r.reason) for r in second.removals] == [(10, "aborted")]


def test_of_all_abort_markers_the_last_one_stays_and_the_index_forgets_the_others() -> None:
    log = indexed(
        segment(
            batch(record(0, "a"), pid=1),
            marker(1, 1, commit=False),
            batch(record(2, "b"), pid=2),
            marker(3, 2, commit=False),
            batch(record(4, "c"), pid=3),
            marker(5, 3, commit=True),
            batch(record(6, "d")),
        )
    )

    as_one = clean(log, plan(last_abort_only=True))
    each_its_own = clean(log, plan())

    assert offsets_of(as_one.segments) == [3, 4, 5, 6]
    assert [entry.last_offset for entry in aborted_of(as_one.segments)] == [3]
    assert as_one.evicted_markers == {1: 3}
    assert offsets_of(each_its_own.segments) == [1, 3, 4, 5, 6]


# Where state may be folded to.


def test_no_transaction_reaches_across_an_undivided_end() -> None:
    """7 is decided at 2, above the last stable offset: 8 is open from 1 on."""
    log = [batch(record(0, "d"), pid=7), batch(record(1, "e"), pid=8), marker(2, 7, commit=True)]

    assert undivided_end(log, below=1) == 0
    assert undivided_end(log, below=3) == 0
    assert undivided_end([*log, marker(3, 8, commit=True)], below=4) == 4
    assert undivided_end([batch(record(0, "z")), *log[2:]], below=3) == 3
