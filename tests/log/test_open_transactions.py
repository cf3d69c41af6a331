"""Which transactions a log knows as open, and what a truncation makes of them (KIP-98)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.log import Control, LastRecord, Log
from tests.log.producing import data, filled, marker, noted, sent

# Reading a log again.


def test_rebuilding_sees_a_batch_that_was_kept_empty_and_not_one_that_is_gone() -> None:
    states = noted(sent(0, 0))
    assert states.rebuild([sent(1, 1, records=2).emptied()]) == []
    assert states.last_records() == {7: LastRecord(2, 0)}

    states.rebuild([])
    assert states.producers == {}


STEPS = st.lists(
    st.sampled_from([("d", 7), ("a", 7), ("c", 7), ("s", 7), ("d", 8), ("a", 8)]), max_size=9
)


@given(STEPS, st.sets(st.integers(1, 4)), st.integers(0, 6), st.booleans())
def test_a_log_that_was_cut_or_reloaded_knows_of_producers_what_the_batches_that_are_left_say(
    steps: list[tuple[str, int]], rolled: set[int], end: int, reloads: bool
) -> None:
    """Of their batches the newest alone, after a cut."""
    batches = []
    for offset, (kind, pid) in enumerate(steps):
        if kind in "sd":
            transactional = kind == "d"
            one = sent(offset, offset, pid=pid, transactional=transactional, timestamp_ms=offset)
        else:
            control = Control.COMMIT if kind == "c" else Control.ABORT
            one = marker(offset, pid, control=control, timestamp_ms=offset)
        batches.append(one)
    log, anew = Log(), Log()
    for each in batches:
        if each.base_offset in rolled:
            log.roll(now_ms=0)
        log.append(each, now_ms=0)
    log.truncate_to(end)
    if reloads:
        log.reload_producers()
    for each in batches[:end]:
        anew.append(each, now_ms=0)

    assert known_of(log) == known_of(anew)


def known_of(log: Log) -> tuple[object, ...]:
    """What a log knows of each producer, and of aborted transactions."""
    each = {
        pid: (one.epoch, one.last_timestamp_ms, one.open_since)
        for pid, one in log.producers.producers.items()
    }
    aborted = [entry for segment in log.segments for entry in segment.aborted]
    states = log.producers
    return each, states.last_records(), states.last_sequences(), aborted, log.aborted_ever


@pytest.mark.parametrize(("start", "entries"), [(1, 1), (2, 0)])
def test_an_index_entry_goes_with_its_marker_when_a_prefix_is_deleted(
    start: int, entries: int
) -> None:
    """Else its producer's next transaction would be taken for the aborted one."""
    log = filled(data(0), marker(1), data(2), marker(3, control=Control.COMMIT))
    log.delete_prefix(start)

    assert len(log.segments[0].aborted) == entries
