"""`compact,delete`: which segments go, and what a follower does about it."""

import pytest

from sim.log import Log, Record, data_batch
from sim.replication.leader import answer_fetch
from sim.replication.messages import Answer, FetchRequest
from sim.replication.replica import Leadership, Replica
from sim.replication.retention import (
    Retention,
    delete_old_segments,
    start_afresh,
    take_log_start,
)
from sim.rules.rules import Rules
from sim.trace import LogStartedAfresh, LogStartMoved

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


@pytest.mark.parametrize(("now_ms", "left"), [(110, [0, 1, 2]), (111, [1, 2]), (121, [2])])
def test_a_segment_goes_when_its_newest_record_is_older_than_the_retention(
    now_ms: int, left: list[int]
) -> None:
    replica = replica_of(10, 20, 200)

    events = delete_old_segments(replica, Retention(retention_ms=100), now_ms=now_ms)

    assert bases(replica) == left
    assert replica.log.log_start_offset == left[0]
    moved = [LogStartMoved("r1", left[0], 3, "retention.ms")] if left[0] else []
    assert events == moved


def test_only_a_prefix_goes_so_an_old_segment_behind_a_young_one_stays() -> None:
    replica = replica_of(200, 10, 200)

    assert delete_old_segments(replica, Retention(retention_ms=100), now_ms=150) == []
    assert bases(replica) == [0, 1, 2]


def test_nothing_goes_beyond_the_high_watermark() -> None:
    replica = replica_of(0, 0, 0, high_watermark=1)

    delete_old_segments(replica, Retention(retention_ms=100), now_ms=1_000)

    assert bases(replica) == [1, 2]


def test_when_everything_is_old_the_active_segment_is_rolled_and_goes_too() -> None:
    replica = replica_of(0, 0)

    delete_old_segments(replica, Retention(retention_ms=100), now_ms=1_000)

    assert (bases(replica), replica.log.log_start_offset) == ([2], 2)
    assert replica.log.log_end_offset == 2


def test_an_empty_active_segment_stays() -> None:
    replica = replica_of(0, 0, empty=True)

    delete_old_segments(replica, Retention(retention_ms=100), now_ms=1_000)
    delete_old_segments(replica, Retention(retention_ms=100), now_ms=2_000)

    assert bases(replica) == [2]


@pytest.mark.parametrize(
    ("limit", "left"),
    [(3 * SIZE, 3), (2 * SIZE + 1, 3), (2 * SIZE, 2), (SIZE, 1)],
)
def test_the_oldest_segments_go_while_the_rest_is_still_large_enough(limit: int, left: int) -> None:
    replica = replica_of(0, 0, 0)

    delete_old_segments(replica, Retention(retention_bytes=limit), now_ms=0)

    assert len(bases(replica)) == left


def test_without_a_retention_only_what_is_below_the_log_start_goes() -> None:
    replica = replica_of(0, 0, 0)
    replica.log.log_start_offset = 2

    assert delete_old_segments(replica, None, now_ms=1 << 40) == []
    assert bases(replica) == [2]


def test_deletion_moves_the_cleaners_checkpoint_up() -> None:
    replica = replica_of(0, 0, 200)

    delete_old_segments(replica, Retention(retention_ms=100), now_ms=150)

    assert replica.first_dirty_offset == 2


def test_a_follower_takes_over_the_leaders_log_start_up_to_its_own_high_watermark() -> None:
    replica = replica_of(0, 0, 0, high_watermark=2)

    assert take_log_start(replica, 3) == []
    assert take_log_start(replica, 2) == [LogStartMoved("r1", 2, 2, "the leader's log start")]
    assert take_log_start(replica, 1) == []
    assert replica.log.log_start_offset == 2


def test_a_fetch_below_the_log_start_is_out_of_range_and_the_follower_starts_afresh() -> None:
    leader = replica_of(0, 0, 200)
    leader.leadership = Leadership(1, 0, ("r1",), ("r1", "r2"))
    delete_old_segments(leader, Retention(retention_ms=100), now_ms=150)
    follower = Replica("r2")

    response = answer_fetch(
        leader, FetchRequest("r2", 1, 0, -1), rules=Rules(), snapshots=False
    ).response
    assert (response.answer, response.log_start_offset) == (Answer.OUT_OF_RANGE, 2)

    assert start_afresh(follower, 2) == [LogStartedAfresh("r2", 2, 0, 0)]
    assert (follower.log.log_start_offset, follower.log.log_end_offset) == (2, 2)
    assert follower.first_dirty_offset == 2
