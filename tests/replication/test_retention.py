"""`compact,delete`: which segments go, and what a follower does about it."""

import pytest

from sim.protocol.events import LogStartedAfresh, LogStartMoved
from sim.protocol.log import Log, Record, data_batch
from sim.protocol.replication.cleaning import (
    Retention,
    delete_old_segments,
    take_log_start,
)
from sim.protocol.replication.follower import receive_fetch
from sim.protocol.replication.leader import answer_fetch
from sim.protocol.replication.messages import Answer, FetchRequest
from sim.protocol.replication.replica import Leadership, Replica
from sim.protocol.rules import Rules

SIZE = data_batch((Record(0, "k", "v", 0),), epoch=1).size_bytes


def replica_of(*segments: int, high_watermark: int | None = None, empty: bool = False) -> Replica:
    """One record per segment, each of a timestamp; the last one is active, or an empty one is."""
    replica = Replica("r1")
    log: Log = replica.log
    for offset, timestamp_ms in enumerate(segments):
        if offset:
            log.roll(now_ms=0)
        log.append(data_batch((Record(offset, "k", "v", timestamp_ms),), epoch=1), now_ms=0)
    if empty:
        log.roll(now_ms=0)
    log.high_watermark = log.log_end_offset if high_watermark is None else high_watermark
    return replica


def bases(replica: Replica) -> list[int]:
    return [segment.base_offset for segment in replica.log.segments]


def test_a_follower_takes_over_the_leaders_log_start_up_to_its_own_high_watermark() -> None:
    replica = replica_of(0, 0, 0, high_watermark=2)

    assert take_log_start(replica, 3) == []
    assert take_log_start(replica, 2) == [LogStartMoved("r1", 2, 2, "the leader's log start")]
    assert take_log_start(replica, 1) == []
    assert replica.log.log_start_offset == 2


@pytest.mark.parametrize(
    ("made", "retention", "now_ms", "left"),
    [
        # A segment goes when its newest record is older than the retention.
        (replica_of(10, 20, 200), Retention(100), 110, [0, 1, 2]),
        (replica_of(10, 20, 200), Retention(100), 111, [1, 2]),
        (replica_of(10, 20, 200), Retention(100), 121, [2]),
        # Only a prefix goes, and nothing beyond the high watermark.
        (replica_of(200, 10, 200), Retention(100), 150, [0, 1, 2]),
        (replica_of(0, 0, 0, high_watermark=1), Retention(100), 1_000, [1, 2]),
        # When everything is old the active segment is rolled and goes too, unless it is empty.
        (replica_of(0, 0), Retention(100), 1_000, [2]),
        (replica_of(0, 0, empty=True), Retention(100), 1_000, [2]),
        # The oldest go while the rest is still large enough.
        (replica_of(0, 0, 0), Retention(None, 2 * SIZE + 1), 0, [0, 1, 2]),
        (replica_of(0, 0, 0), Retention(None, 2 * SIZE), 0, [1, 2]),
        (replica_of(0, 0, 0), Retention(None, SIZE), 0, [2]),
    ],
)
def test_old_segments_go_from_the_start(
    made: Replica, retention: Retention, now_ms: int, left: list[int]
) -> None:
    cause = "retention.ms" if retention.retention_bytes is None else "retention.bytes"
    committed = made.log.high_watermark
    events = delete_old_segments(made, retention, now_ms=now_ms)

    assert bases(made) == left
    assert made.log.log_start_offset == made.first_dirty_offset == left[0]
    assert events == ([LogStartMoved("r1", left[0], committed, cause)] if left[0] else [])


def test_what_went_for_its_age_counts_once_where_the_size_is_limited_too() -> None:
    replica = replica_of(10, 20, 200, 200)
    events = delete_old_segments(replica, Retention(100, 2 * SIZE), now_ms=150)

    assert bases(replica) == [2, 3]
    assert events == [LogStartMoved("r1", 2, 4, "retention.bytes")]


def test_without_a_retention_only_what_is_below_the_log_start_goes() -> None:
    replica = replica_of(0, 0, 0)
    replica.log.log_start_offset = 2

    assert delete_old_segments(replica, None, now_ms=1 << 40) == []
    assert bases(replica) == [2]


def test_a_fetch_below_the_log_start_is_out_of_range_and_the_follower_starts_afresh() -> None:
    leader, follower = replica_of(0, 0, 200), Replica("r2")
    leader.leadership = Leadership(1, 0, ("r1",), ("r1", "r2"))
    delete_old_segments(leader, Retention(retention_ms=100), now_ms=150)
    request = FetchRequest("r2", 1, 0, -1)
    response = answer_fetch(leader, request, rules=Rules(), snapshots=False).response
    assert (response.answer, response.log_start_offset) == (Answer.OUT_OF_RANGE, 2)

    events = receive_fetch(follower, response, rules=Rules(), now_ms=150).events
    assert events == [LogStartedAfresh("r2", 2, 0, 0)]
    assert (follower.log.log_start_offset, follower.log.log_end_offset) == (2, 2)
    assert (follower.first_dirty_offset, follower.cleanly_compacted_offset) == (2, 2)
