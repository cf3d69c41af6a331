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


@pytest.mark.parametrize(
    ("times_ms", "reopened", "interval_bytes", "left_ms"),
    [
        # What is in memory is looked for anew; after a restart the time index has to have an entry.
        ((10, 20, 30), False, 4096, 20),
        ((10, 20, 30), True, 4096, -1),
        ((10, 20, 30), True, SIZE - 1, 20),
        ((10, 20, 30), True, SIZE, -1),
        ((10, 20, 30), True, 2 * SIZE - 1, -1),
        # An entry names the batch with the largest so far; it stays when another batch goes.
        ((10, 30, 20), True, 4096, 30),
        # Nobody asks for an index.
        ((10, 20, 30), True, None, 20),
    ],
)
def test_a_truncation_leaves_the_largest_timestamp_that_memory_or_the_time_index_knows(
    times_ms: tuple[int, ...], reopened: bool, interval_bytes: int | None, left_ms: int
) -> None:
    """LogSegment.truncateTo, .readLargestTimestamp: without one the age is that of the file."""
    log = log_of(*times_ms, interval_bytes=interval_bytes)
    if reopened:
        log.reopen()
    log.truncate_to(2)

    assert log.active.largest_timestamp_ms == left_ms


def test_that_there_is_none_is_known_until_the_next_append() -> None:
    log = log_of(10, 20, 30)
    log.reopen()
    log.truncate_to(2)
    log.truncate_to(1)

    assert log.active.largest_timestamp_ms == -1
    log.append(stamped(1, 5), now_ms=0)
    assert log.active.largest_timestamp_ms == 5


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
