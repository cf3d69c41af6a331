"""What a truncation leaves of a segment's largest timestamp, which its age counts from."""

import pytest
from msgspec.structs import replace

from sim.protocol.log import Batch, Log, LogConfig, Record, data_batch

SIZE = 100


def stamped(offset: int, timestamp_ms: int) -> Batch:
    """A batch of 100 bytes."""
    batch = data_batch((Record(offset, "k", "v", timestamp_ms),), epoch=0)
    return replace(batch, size_bytes=SIZE)


def log_of(*times_ms: int, interval_bytes: int | None = 4096) -> Log:
    """A batch of each time, from offset 0 on."""
    log = Log(LogConfig(time_index_bytes=interval_bytes))
    for offset, timestamp_ms in enumerate(times_ms):
        log.append(stamped(offset, timestamp_ms), now_ms=0)
    return log


def test_a_truncation_of_what_is_in_memory_looks_for_what_is_the_largest_now() -> None:
    log = log_of(10, 20, 30)
    log.truncate_to(2)

    assert log.active.largest_timestamp_ms == 20


def test_one_that_takes_the_only_entry_of_the_time_index_after_a_restart_leaves_none() -> None:
    """LogSegment.truncateTo, .readLargestTimestamp: the age is that of the file then."""
    log = log_of(10, 20, 30)
    log.reopen()
    log.truncate_to(2)
    assert log.active.largest_timestamp_ms == -1

    log.truncate_to(1)
    assert log.active.largest_timestamp_ms == -1  # known by now: there is none
    log.append(stamped(1, 5), now_ms=0)
    assert log.active.largest_timestamp_ms == 5


@pytest.mark.parametrize(
    ("interval_bytes", "largest_ms"),
    [(SIZE - 1, 20), (SIZE, -1), (2 * SIZE - 1, -1), (None, 20)],
    ids=["entry of the second batch", "of the third", "of the third, too", "nobody asks"],
)
def test_an_entry_that_is_left_lets_it_look(interval_bytes: int | None, largest_ms: int) -> None:
    log = log_of(10, 20, 30, interval_bytes=interval_bytes)
    log.reopen()
    log.truncate_to(2)

    assert log.active.largest_timestamp_ms == largest_ms


def test_an_entry_names_the_batch_with_the_largest_timestamp_so_far() -> None:
    """It stays when what it was written beside goes."""
    log = log_of(10, 30, 20)
    log.reopen()
    log.truncate_to(2)

    assert log.active.largest_timestamp_ms == 30


@pytest.mark.parametrize("takes_it_into_memory", ["asked", "appended", "rolled", "recovered"])
def test_what_takes_the_largest_timestamp_into_memory(takes_it_into_memory: str) -> None:
    log = log_of(10, 20, 30)
    log.reopen(recovered_from=0 if takes_it_into_memory == "recovered" else None)
    match takes_it_into_memory:
        case "asked":
            assert log.active.largest_timestamp_ms == 30
        case "appended":
            log.append(stamped(3, 1), now_ms=0)
        case "rolled":
            log.roll(now_ms=0)
    log.truncate_to(2)

    assert log.active.largest_timestamp_ms == 20
