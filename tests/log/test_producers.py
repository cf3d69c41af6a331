"""What a log knows of its producers (KIP-98; ProducerStateManager, ProducerAppendInfo)."""

import pytest

from sim.protocol.log import Control, LastRecord
from sim.protocol.log.producers import REMEMBERED_BATCHES, SentBatch
from tests.log.producing import data, marker, noted, sent

# Sequence numbers.


def test_the_last_five_batches_are_remembered() -> None:
    states = noted(*(sent(offset, offset) for offset in range(6)))

    assert REMEMBERED_BATCHES == 5
    assert states.repeated(7, 0, 0, 0) is None
    assert states.repeated(7, 0, 1, 1) == SentBatch(1, 1, 1, 1)
    assert states.repeated(7, 0, 5, 5) == SentBatch(5, 5, 5, 5)


@pytest.mark.parametrize(("sequence", "known"), [(0, True), (2, True), (3, False), (9, False)])
def test_a_sequence_at_or_below_the_newest_was_overtaken(sequence: int, known: bool) -> None:
    states = noted(sent(10, 0, records=3))

    assert (states.overtaken(7, 0, sequence) is not None) is known
    assert states.overtaken(7, 1, sequence) is states.overtaken(8, 0, sequence) is None
    assert noted(marker(0)).overtaken(7, 0, sequence) is None


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


# Expiry.


def test_the_newest_batch_or_marker_counts_and_an_open_transaction_never_expires() -> None:
    states = noted(data(0))
    assert states.expire(now_ms=10**9, after_ms=100) == ()

    states.note(marker(1, timestamp_ms=50))
    assert states.expire(now_ms=149, after_ms=100) == ()
    assert states.expire(now_ms=150, after_ms=100) == (7,)
