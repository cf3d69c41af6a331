"""What a log knows of its producers (KIP-98; ProducerStateManager, ProducerAppendInfo)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.log import (
    AbortedTransaction,
    Batch,
    Control,
    LastRecord,
    Log,
    ProducerStates,
    Record,
    control_batch,
    data_batch,
)
from sim.log.producers import MAX_SEQUENCE, REMEMBERED_BATCHES, SentBatch, advance_sequence


def sent(
    offset: int,
    sequence: int,
    *,
    records: int = 1,
    pid: int = 7,
    epoch: int = 0,
    transactional: bool = False,
    timestamp_ms: int = 0,
) -> Batch:
    """A batch of a producer."""
    made = tuple(Record(offset + index, "k", "v", timestamp_ms) for index in range(records))
    return data_batch(
        made,
        epoch=1,
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def data(offset: int, pid: int = 7) -> Batch:
    """A batch in a transaction."""
    return sent(offset, offset, pid=pid, transactional=True)


def marker(
    offset: int,
    pid: int = 7,
    *,
    control: Control = Control.ABORT,
    epoch: int = 0,
    timestamp_ms: int = 0,
) -> Batch:
    """A transaction marker."""
    return control_batch(
        offset,
        epoch=1,
        control=control,
        timestamp_ms=timestamp_ms,
        producer_id=pid,
        producer_epoch=epoch,
    )


def noted(*batches: Batch) -> ProducerStates:
    """What is known after these batches."""
    states = ProducerStates()
    for batch in batches:
        states.note(batch)
    return states


def filled(*batches: Batch) -> Log:
    """A log of these batches, all below its high watermark."""
    log = Log()
    for batch in batches:
        log.append(batch, now_ms=0)
    log.high_watermark = log.log_end_offset
    return log


# Sequence numbers.


def test_the_newest_batch_of_a_producer_is_known_by_its_last_sequence_and_offset() -> None:
    states = noted(sent(10, 0, records=3))

    assert states.last_sequences() == {7: 2}
    assert states.last_records() == {7: LastRecord(12, 0)}


def test_the_last_sequence_comes_from_the_header_so_a_batch_with_holes_says_the_same() -> None:
    thinned = sent(10, 5, records=3)
    thinned = thinned.rebuilt(thinned.records[:1], None)

    assert noted(thinned).last_sequences() == noted(thinned.emptied()).last_sequences() == {7: 7}
    assert noted(thinned.emptied()).last_records() == {7: LastRecord(12, 0)}


def test_the_last_five_batches_are_remembered() -> None:
    states = noted(*(sent(offset, offset) for offset in range(6)))

    assert REMEMBERED_BATCHES == 5
    assert states.repeated(7, 0, 0, 0) is None
    assert states.repeated(7, 0, 1, 1) == SentBatch(1, 1, 1, 1)
    assert states.repeated(7, 0, 5, 5) == SentBatch(5, 5, 5, 5)


@pytest.mark.parametrize(
    ("pid", "epoch", "first", "last", "found"),
    [
        (7, 0, 0, 2, True),
        (7, 0, 0, 1, False),
        (7, 0, 1, 2, False),
        (7, 1, 0, 2, False),
        (8, 0, 0, 2, False),
    ],
)
def test_a_repetition_has_the_producer_the_epoch_and_both_sequences(
    pid: int, epoch: int, first: int, last: int, found: bool
) -> None:
    states = noted(sent(10, 0, records=3))

    assert states.repeated(pid, epoch, first, last) == (SentBatch(0, 2, 10, 12) if found else None)


@pytest.mark.parametrize(
    ("sequence", "by", "after"),
    [
        (0, 0, 0),
        (0, 1, 1),
        (MAX_SEQUENCE - 1, 1, MAX_SEQUENCE),
        (MAX_SEQUENCE, 0, MAX_SEQUENCE),
        (MAX_SEQUENCE, 1, 0),
        (MAX_SEQUENCE - 1, 4, 2),
    ],
)
def test_after_2147483647_comes_0(sequence: int, by: int, after: int) -> None:
    assert MAX_SEQUENCE == 2**31 - 1
    assert advance_sequence(sequence, by) == after


def test_a_batch_over_the_wrap_is_known_by_both_its_sequences() -> None:
    states = noted(sent(10, MAX_SEQUENCE, records=3))

    assert states.last_sequences() == {7: 1}
    assert states.repeated(7, 0, MAX_SEQUENCE, 1) is not None


@pytest.mark.parametrize(("sequence", "known"), [(0, True), (2, True), (3, False), (9, False)])
def test_a_sequence_at_or_below_the_newest_was_overtaken(sequence: int, known: bool) -> None:
    states = noted(sent(10, 0, records=3))

    assert (states.overtaken(7, sequence) is not None) is known
    assert states.overtaken(8, sequence) is None
    assert noted(marker(0)).overtaken(7, sequence) is None


def test_a_new_epoch_forgets_the_batches_of_the_old_one() -> None:
    states = noted(sent(0, 5), sent(1, 0, epoch=1))

    assert states.last_sequences() == {7: 0}
    assert states.repeated(7, 0, 5, 5) is None
    assert states.last_records() == {7: LastRecord(1, 1)}


def test_a_marker_with_a_new_epoch_leaves_its_producer_known_by_the_marker_alone() -> None:
    """As transactions of version 2 do (KIP-890)."""
    states = noted(data(0), marker(1, epoch=1))

    assert states.last_sequences() == {7: -1}
    assert states.last_records() == {7: LastRecord(None, 1)}


def test_a_marker_of_the_same_epoch_leaves_the_last_batch_as_it_is() -> None:
    assert noted(data(0), marker(1)).last_records() == {7: LastRecord(0, 0)}


def test_a_producer_of_which_only_a_marker_is_left_is_known() -> None:
    states = noted(marker(3, epoch=2))

    assert states.last_sequences() == {7: -1}
    assert states.last_records() == {7: LastRecord(None, 2)}


@pytest.mark.parametrize("control", [Control.ABORT, Control.COMMIT])
def test_an_empty_control_batch_says_no_more_than_that_there_was_a_producer(
    control: Control,
) -> None:
    """Not its epoch, and it ends nothing."""
    empty = marker(3, control=control, epoch=2, timestamp_ms=50).emptied()

    assert noted(empty).last_records() == {7: LastRecord(None, -1)}
    assert noted(empty).expire(now_ms=100, after_ms=101) == (7,)
    states = noted(data(0), empty)
    assert (states.has_open(7), states.last_records()) == (True, {7: LastRecord(0, 0)})


def test_batches_without_a_producer_are_not_noted() -> None:
    plain = data_batch((Record(0, "k", "v"),), epoch=1)
    change = control_batch(1, epoch=1, control=Control.LEADER_CHANGE, timestamp_ms=0)

    assert noted(plain, change).producers == {}


def test_a_batch_without_sequence_numbers_protects_nothing_but_opens_a_transaction() -> None:
    states = noted(sent(4, -1, transactional=True))

    assert (states.last_records(), states.last_sequences()) == ({}, {})
    assert states.has_open(7)
    assert states.first_unstable_offset(9) == 4


# Transactions.


def test_a_transaction_is_open_from_its_first_batch_to_its_marker() -> None:
    states = noted(data(4), data(5))
    assert states.producers[7].open_since == 4

    states.note(marker(6))
    assert not states.has_open(7)
    assert not states.has_open(8)


@pytest.mark.parametrize(
    ("below", "unstable"), [(0, 0), (2, 0), (3, 3), (6, 3), (7, None)], ids=lambda value: value
)
def test_a_decided_transaction_is_unstable_until_its_marker_is_below_the_high_watermark(
    below: int, unstable: int | None
) -> None:
    states = noted(data(0), marker(2, control=Control.COMMIT), data(3), marker(6))

    assert states.first_unstable_offset(below) == unstable


def test_the_oldest_transaction_that_is_open_or_undecided_for_readers_counts() -> None:
    states = noted(data(0, 7), data(1, 8), data(2, 9), marker(3, 7), marker(4, 9))

    assert states.first_unstable_offset(3) == 0
    assert states.first_unstable_offset(4) == 1
    states.note(marker(5, 8))
    assert states.first_unstable_offset(5) == 1
    assert states.first_unstable_offset(6) is None


def test_an_empty_transaction_is_never_unstable() -> None:
    assert noted(marker(0)).first_unstable_offset(0) is None


def test_an_abort_that_closes_a_transaction_enters_the_index() -> None:
    states = noted(data(4), data(5))

    assert states.note(marker(6)) == AbortedTransaction(7, 4, 6, 7)
    assert states.note(marker(7)) is None
    states.note(data(8))
    assert states.note(marker(9, control=Control.COMMIT)) is None


@pytest.mark.parametrize(
    ("others", "stable"),
    [([], 6), ([data(1, 8)], 1), ([data(1, 8), marker(2, 8)], 6), ([data(2, 8), data(3, 9)], 2)],
)
def test_its_last_stable_offset_is_where_the_oldest_other_open_transaction_begins(
    others: list[Batch], stable: int
) -> None:
    """Without one it is the offset after the marker."""
    states = noted(data(0), *others)

    assert states.note(marker(5)) == AbortedTransaction(7, 0, 5, stable)


def test_the_index_is_that_of_the_segment_which_holds_the_marker() -> None:
    log = filled(data(0))
    log.roll(now_ms=0)
    log.append(marker(1), now_ms=0)

    assert [each.aborted for each in log.segments] == [[], [AbortedTransaction(7, 0, 1, 2)]]


# Expiry.


@pytest.mark.parametrize(("now_ms", "gone"), [(149, ()), (150, (7,)), (151, (7,))])
def test_a_producer_expires_when_it_was_silent_for_that_long(
    now_ms: int, gone: tuple[int, ...]
) -> None:
    states = noted(sent(0, 0, timestamp_ms=50))

    assert states.expire(now_ms=now_ms, after_ms=100) == gone
    assert set(states.producers) == {7} - set(gone)


def test_the_newest_batch_or_marker_counts_and_an_open_transaction_never_expires() -> None:
    states = noted(data(0))
    assert states.expire(now_ms=10**9, after_ms=100) == ()

    states.note(marker(1, timestamp_ms=50))
    assert states.expire(now_ms=149, after_ms=100) == ()
    assert states.expire(now_ms=150, after_ms=100) == (7,)


def test_only_the_silent_ones_expire() -> None:
    states = noted(sent(0, 0, pid=1), sent(1, 0, pid=2, timestamp_ms=60), sent(2, 0, pid=3))

    assert states.expire(now_ms=100, after_ms=50) == (1, 3)
    assert list(states.producers) == [2]


# Reading a log again.


def test_rebuilding_sees_a_batch_that_was_kept_empty_and_not_one_that_is_gone() -> None:
    states = noted(sent(0, 0))
    assert states.rebuild([sent(1, 1, records=2).emptied()]) == []
    assert states.last_records() == {7: LastRecord(2, 0)}

    states.rebuild([])
    assert states.producers == {}


def test_rebuilding_returns_the_aborted_transactions_it_met() -> None:
    states = ProducerStates()
    batches = [data(0), data(1, 8), marker(2), marker(3, 8, control=Control.COMMIT), marker(4)]

    assert states.rebuild(batches) == [AbortedTransaction(7, 0, 2, 1)]


@given(st.lists(st.sampled_from([(kind, pid) for kind in "sdca" for pid in (7, 8)]), max_size=8))
def test_a_reloaded_log_knows_what_it_knew_from_appending(steps: list[tuple[str, int]]) -> None:
    batches = []
    for offset, (kind, pid) in enumerate(steps):
        if kind in "sd":
            batches.append(sent(offset, offset, pid=pid, transactional=kind == "d"))
        else:
            control = Control.COMMIT if kind == "c" else Control.ABORT
            batches.append(marker(offset, pid, control=control))
    log = filled(*batches)
    before = (log.producers.producers, log.producers.first_unstable_offset(0))
    log.reload_producers()

    assert (log.producers.producers, log.producers.first_unstable_offset(0)) == before


# Truncation and deletion.


def test_truncation_opens_a_transaction_again_and_forgets_its_index_entry() -> None:
    log = filled(data(0), data(1), marker(2))
    log.truncate_to(2)

    assert log.producers.producers[7].open_since == 0
    assert log.producers.first_unstable_offset(2) == 0
    assert log.active.aborted == []
    log.truncate_to(1)
    assert log.producers.last_records() == {7: LastRecord(0, 0)}
    log.truncate_to(0)
    assert log.producers.producers == {}


def test_truncation_behind_the_marker_keeps_the_entry() -> None:
    log = filled(data(0), marker(1), sent(2, 0, pid=1))
    log.truncate_to(2)

    assert log.active.aborted == [AbortedTransaction(7, 0, 1, 2)]
    assert list(log.producers.producers) == [7]


def test_truncation_across_segments_reads_what_is_left_of_all_of_them() -> None:
    log = filled(sent(0, 0, pid=1), data(1))
    log.roll(now_ms=0)
    log.append(marker(2), now_ms=0)
    log.append(sent(3, 1, pid=1), now_ms=0)
    log.truncate_to(3)

    assert log.producers.last_sequences() == {1: 0, 7: 1}
    log.truncate_to(2)
    assert log.producers.has_open(7)


@pytest.mark.parametrize(("start", "entries"), [(1, 1), (2, 0)])
def test_an_index_entry_goes_with_its_marker_when_a_prefix_is_deleted(
    start: int, entries: int
) -> None:
    """Else its producer's next transaction would be taken for the aborted one."""
    log = filled(data(0), marker(1), data(2), marker(3, control=Control.COMMIT))
    log.delete_prefix(start)

    assert len(log.segments[0].aborted) == entries


def test_a_reset_log_knows_nobody() -> None:
    log = filled(data(0), marker(1))
    log.reset_to(5)

    assert (log.producers.producers, log.active.aborted) == ({}, [])
