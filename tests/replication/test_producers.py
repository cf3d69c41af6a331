"""What a replica knows of idempotent producers (KIP-98)."""

import pytest

from sim.log import Batch, Control, Record, control_batch, data_batch
from sim.replication.producers import LastBatch, ProducerStates


def sent(offset: int, sequence: int, *, records: int = 1, transactional: bool = False) -> Batch:
    """A batch of producer 7."""
    made = tuple(Record(offset + index, "k", "v") for index in range(records))
    return data_batch(
        made, epoch=1, producer_id=7, base_sequence=sequence, transactional=transactional
    )


def test_the_newest_batch_of_a_producer_is_known_by_its_last_sequence_and_offset() -> None:
    states = ProducerStates()
    states.note(sent(10, 0, records=3))

    assert states.last == {7: LastBatch(2, 12)}


@pytest.mark.parametrize(("sequence", "repeated"), [(0, True), (2, True), (3, False), (9, False)])
def test_a_sequence_number_at_or_below_the_last_one_is_a_repetition(
    sequence: int, repeated: bool
) -> None:
    states = ProducerStates()
    states.note(sent(10, 0, records=3))

    assert (states.repeated(7, sequence) is not None) is repeated
    assert states.repeated(8, sequence) is None


def test_batches_without_a_producer_are_not_noted() -> None:
    states = ProducerStates()
    states.note(data_batch((Record(0, "k", "v"),), epoch=1))

    assert (states.last, states.open_since) == ({}, {})


def test_a_transaction_is_open_from_its_first_batch_to_its_marker() -> None:
    states = ProducerStates()
    states.note(sent(4, 0, transactional=True))
    states.note(sent(5, 1, transactional=True))
    assert states.open_since == {7: 4}

    marker = control_batch(6, epoch=1, control=Control.ABORT, timestamp_ms=0, producer_id=7)
    states.note(marker)
    assert states.open_since == {}


def test_rebuilding_sees_a_batch_that_was_kept_empty_and_not_one_that_is_gone() -> None:
    states = ProducerStates()
    states.note(sent(0, 0))
    states.rebuild([sent(1, 1, records=2).emptied()])
    assert states.last == {7: LastBatch(2, 2)}

    states.rebuild([])
    assert states.last == {}
