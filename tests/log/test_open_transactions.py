"""Which producers and open transactions a log knows after a truncation or a restart (KIP-98)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.log import Batch, Control, LastRecord, Log
from tests.log.producing import data, filled, marker, sent

# Reading a log again.


def test_rebuilding_sees_a_batch_that_was_kept_empty_and_not_one_that_is_gone() -> None:
    log = filled(sent(0, 0), sent(1, 1, records=2), sent(3, 0, pid=8))
    log.active.batches[:] = [log.active.batches[1].emptied()]
    log.reload_producers()

    assert log.producers.last_records() == {7: LastRecord(2, 0)}


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


def without_its_prefix() -> Log:
    """A log whose snapshots alone know of producer 7, whose batch is below the log start."""
    log = segmented([sent(0, 0)], [sent(1, 0, pid=8)], [sent(2, 1, pid=8)])
    log.delete_prefix(1)
    return log


def cleaned_and_cut() -> Log:
    """A log whose cleaner took producer 7's batch for a newer one, which was then cut off."""
    log = segmented([sent(0, 0), sent(1, 0, pid=8)], [sent(2, 1)])
    del log.segments[0].batches[0]
    log.truncate_to(2)
    return log


def segmented(*segments: list[Batch]) -> Log:
    """A log of these segments, all below its high watermark."""
    log = Log()
    for number, batches in enumerate(segments):
        if number:
            log.roll(now_ms=0)
        for each in batches:
            log.append(each, now_ms=0)
    log.high_watermark = log.log_end_offset
    return log


@pytest.mark.parametrize("made", [without_its_prefix, cleaned_and_cut])
def test_a_restart_knows_the_producers_that_a_cut_does(made: Callable[[], Log]) -> None:
    """Those that only a snapshot remembers, too."""
    cut, restarted = made(), made()
    cut.append(sent(cut.log_end_offset, 5, pid=9), now_ms=0)
    cut.truncate_to(restarted.log_end_offset)
    restarted.reload_producers()

    assert known_of(restarted) == known_of(cut)
    assert restarted.producers.last_sequences()[7] == 0


def test_a_restart_finds_the_open_transaction_that_a_cut_overlooked() -> None:
    """The snapshot that the cut took lies in the active segment, which is read again."""
    log = filled(data(0), marker(1))
    log.producers.expire(now_ms=10, after_ms=1)
    log.truncate_to(1)
    assert (log.snapshots.offsets, log.producers.producers) == ([1], {})

    log.reload_producers()

    assert log.producers.has_open(7)


def test_a_restart_removes_snapshots_at_which_no_segment_begins_but_that_of_the_log_end() -> None:
    log = segmented([sent(0, 0), sent(1, 1), sent(2, 2)])
    log.truncate_to(1)
    log.append(sent(1, 1), now_ms=0)
    log.roll(now_ms=0)
    log.append(sent(2, 2), now_ms=0)
    log.append(sent(3, 3), now_ms=0)
    log.truncate_to(3)
    assert log.snapshots.offsets == [1, 2, 3]
    log.append(sent(3, 3), now_ms=0)

    log.reload_producers()

    assert log.snapshots.offsets == [2, 4]


@pytest.mark.parametrize(("high_watermark", "unstable"), [(1, 0), (2, None)])
def test_after_a_restart_a_transaction_is_undecided_until_its_marker_is_committed(
    high_watermark: int, unstable: int | None
) -> None:
    log = segmented([data(0), marker(1, control=Control.COMMIT)], [sent(2, 0, pid=8)])
    log.high_watermark = high_watermark

    log.reload_producers()

    assert log.producers.first_unstable_offset(log.high_watermark) == unstable


def test_a_restart_forgets_what_a_crash_lost() -> None:
    log = segmented([sent(0, 0)], [sent(1, 1), sent(2, 0, pid=8)])
    log.reload_producers()
    log.lose_tail(1)

    log.reload_producers()

    assert (log.snapshots.offsets, log.producers.last_sequences()) == ([1, 2], {7: 1})


@pytest.mark.parametrize(("start", "entries"), [(1, 1), (2, 0)])
def test_an_index_entry_goes_with_its_marker_when_a_prefix_is_deleted(
    start: int, entries: int
) -> None:
    """Else its producer's next transaction would be taken for the aborted one."""
    log = filled(data(0), marker(1), data(2), marker(3, control=Control.COMMIT))
    log.delete_prefix(start)

    assert len(log.segments[0].aborted) == entries
