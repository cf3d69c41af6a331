"""Which transactions a log knows as open, and what a truncation makes of them (KIP-98)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.log import AbortedTransaction, Batch, Control, LastRecord
from tests.log.producing import data, filled, marker, noted, sent


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


# Reading a log again.


def test_rebuilding_sees_a_batch_that_was_kept_empty_and_not_one_that_is_gone() -> None:
    states = noted(sent(0, 0))
    assert states.rebuild([sent(1, 1, records=2).emptied()]) == []
    assert states.last_records() == {7: LastRecord(2, 0)}

    states.rebuild([])
    assert states.producers == {}


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


@pytest.mark.parametrize(("start", "entries"), [(1, 1), (2, 0)])
def test_an_index_entry_goes_with_its_marker_when_a_prefix_is_deleted(
    start: int, entries: int
) -> None:
    """Else its producer's next transaction would be taken for the aborted one."""
    log = filled(data(0), marker(1), data(2), marker(3, control=Control.COMMIT))
    log.delete_prefix(start)

    assert len(log.segments[0].aborted) == entries
