"""What a log knows of its producers (KIP-98; ProducerStateManager, ProducerAppendInfo)."""

import pytest

from sim.protocol.log import Control, LastRecord, Record, control_batch, data_batch
from sim.protocol.log.producers import MAX_SEQUENCE, REMEMBERED_BATCHES, SentBatch, advance_sequence
from tests.log.producing import data, marker, noted, sent

# Sequence numbers.


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


@pytest.mark.parametrize(("sequence", "known"), [(0, True), (2, True), (3, False), (9, False)])
def test_a_sequence_at_or_below_the_newest_was_overtaken(sequence: int, known: bool) -> None:
    states = noted(sent(10, 0, records=3))

    assert (states.overtaken(7, 0, sequence) is not None) is known
    assert states.overtaken(7, 1, sequence) is states.overtaken(8, 0, sequence) is None
    assert noted(marker(0)).overtaken(7, 0, sequence) is None


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


def test_a_batch_without_sequence_numbers_is_its_producers_last_and_opens_a_transaction() -> None:
    states = noted(sent(3, 5, transactional=True), sent(4, -1, transactional=True))

    assert states.last_records() == {7: LastRecord(4, 0)}
    assert states.last_sequences() == {7: -1}
    assert states.has_open(7)
    assert states.first_unstable_offset(9) == 3


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


def test_batches_without_a_producer_are_not_noted() -> None:
    plain = data_batch((Record(0, "k", "v"),), epoch=1)
    change = control_batch(1, epoch=1, control=Control.LEADER_CHANGE, timestamp_ms=0)

    assert noted(plain, change).producers == {}
