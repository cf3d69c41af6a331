"""Becoming a follower: what is asked, what is answered, and what is cut (KIP-101, KIP-279)."""

import pytest

from sim.protocol.events import Event, SnapshotDeleted
from sim.protocol.log import Record
from sim.protocol.replication import Replica
from sim.protocol.replication.messages import (
    Answer,
    ErrorCode,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    SnapshotId,
)
from sim.protocol.replication.replica import Snapshot, truncate
from sim.protocol.replication.truncation import (
    answer_offsets_for_leader_epoch,
    receive_offsets_for_leader_epoch,
    start_following,
)
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, batch, elect, fetch, leading, with_log

KIP_279 = RULES.with_values({"truncation": "epoch_kip279"})

Exchange = tuple[OffsetsForLeaderEpochRequest, OffsetsForLeaderEpochResponse]


def follow(fetcher: Replica, source: Replica, rules: Rules) -> tuple[list[Event], list[Exchange]]:
    """All events, and what was asked and answered, until the follower may fetch."""
    assert source.leadership is not None
    result = start_following(fetcher, source.leadership.epoch, rules=rules)
    events, exchanges = list(result.events), []
    while result.request is not None:
        response = answer_offsets_for_leader_epoch(source, result.request, rules=rules)
        exchanges.append((result.request, response))
        assert response.error is ErrorCode.NONE
        result = receive_offsets_for_leader_epoch(fetcher, result.request, response, rules=rules)
        events += result.events
    return events, exchanges


def diverged() -> tuple[Replica, Replica]:
    """The follower: epoch 1 from 0, 2 from 1. The leader: epoch 1 from 0, 3 from 2."""
    source = leading(records=2)
    elect(source, epoch=3)
    fetcher = with_log("r2", 1, 2, 2, 2)
    fetcher.log.high_watermark = 1
    return source, fetcher


def test_who_could_not_append_a_fetch_fetches_from_the_next_leader() -> None:
    source, fetcher = diverged()
    fetcher.fetching_failed = True
    follow(fetcher, source, KIP_279)
    fetch(source, fetcher)

    assert fetcher.log.log_end_offset == source.log.log_end_offset == 2


@pytest.mark.parametrize(
    ("mode", "end", "asked"),
    [
        ("none", 4, []),
        ("epoch_diverging", 4, []),
        ("high_watermark", 1, []),
        ("epoch_kip101", 2, [2]),
        ("epoch_kip279", 1, [2]),
    ],
)
def test_what_becoming_a_follower_asks_and_cuts(mode: str, end: int, asked: list[int]) -> None:
    source, fetcher = diverged()
    _, exchanges = follow(fetcher, source, RULES.with_values({"truncation": mode}))

    assert fetcher.log.log_end_offset == end
    assert [request.leader_epoch for request, _ in exchanges] == asked


@pytest.mark.parametrize(
    ("mode", "asked", "told"),
    [
        ("epoch_kip101", 1, (-1, -1)),  # below all that is known: undefined before KIP-279
        ("epoch_kip101", 3, (3, 2)),
        ("epoch_kip101", 5, (5, 3)),
        ("epoch_kip101", 6, (-1, -1)),
        ("epoch_kip279", 1, (1, 0)),
        ("epoch_kip279", 3, (2, 2)),
        ("epoch_kip279", 5, (5, 3)),
        ("epoch_kip279", 6, (-1, -1)),
    ],
)
def test_a_broker_does_not_know_where_an_epoch_above_its_newest_ends(
    mode: str, asked: int, told: tuple[int, int]
) -> None:
    rules = RULES.with_values({"truncation": mode, "unknown_epoch": "undefined", "fencing": False})
    source = with_log("r1", 2, 2)
    elect(source, epoch=5)
    source.log.append(batch(2, epoch=5), now_ms=0)
    question = OffsetsForLeaderEpochRequest("r2", 9, asked)
    answer = answer_offsets_for_leader_epoch(source, question, rules=rules)

    assert (answer.error, answer.leader_epoch, answer.end_offset) == (ErrorCode.NONE, *told)


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (1, ErrorCode.FENCED_LEADER_EPOCH),
        (2, ErrorCode.NONE),
        (3, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_leader_answers_followers_of_its_own_epoch_alone(epoch: int, error: ErrorCode) -> None:
    source = leading(epoch=2)
    request = OffsetsForLeaderEpochRequest("r2", epoch, 1, correlation_id=7)
    unfenced = KIP_279.with_values({"fencing": False})

    answer = answer_offsets_for_leader_epoch(source, request, rules=KIP_279)
    assert (answer.error, answer.correlation_id) == (error, 7)
    answer = answer_offsets_for_leader_epoch(source, request, rules=unfenced)
    assert answer.error is ErrorCode.NONE


@pytest.mark.parametrize(
    ("fencing", "epoch", "refused"), [(True, 1, False), (True, 3, True), (False, 3, False)]
)
def test_a_follower_follows_the_epoch_that_is_led_and_refuses_an_older_one(
    fencing: bool, epoch: int, refused: bool
) -> None:
    replica = leading("r2", epoch=epoch)
    result = start_following(replica, 2, rules=RULES.with_values({"fencing": fencing}))

    assert (result.refused, replica.leadership is not None) == (refused, refused)
    assert replica.epoch == max(2, epoch)


@pytest.mark.parametrize("mode", ["high_watermark", "epoch_kip101", "epoch_kip279"])
@pytest.mark.parametrize("last_epoch", [2, None])
def test_a_fetch_above_the_leaders_log_end_is_out_of_range_and_cuts_the_tail(
    mode: str, last_epoch: int | None
) -> None:
    rules = RULES.with_values({"truncation": mode, "fencing": False, "unknown_epoch": "undefined"})
    source, fetcher = leading(records=1), with_log("r2", 1, 2, 2)
    fetcher.log.high_watermark = 2  # committed by a leader that is not led by any more
    if last_epoch is None:
        fetcher.log.epochs.entries.clear()
    follow(fetcher, source, rules)
    assert fetcher.log.log_end_offset > source.log.log_end_offset

    assert fetch(source, fetcher, rules=rules) is Answer.OUT_OF_RANGE
    assert fetcher.log.log_end_offset == fetcher.log.high_watermark == 1
    assert source.leadership is not None
    assert "r2" not in source.leadership.positions
    assert fetch(source, fetcher, rules=rules) is Answer.RECORDS


def test_a_fetch_above_the_log_end_without_a_last_epoch_is_out_of_range_where_epochs_diverge() -> (
    None
):
    source, fetcher = leading(records=1), with_log("r2", 1, 1)
    fetcher.log.epochs.entries.clear()

    assert fetch(source, fetcher) is Answer.OUT_OF_RANGE
    assert fetcher.log.log_end_offset == 1


def test_a_follower_that_keeps_its_tail_is_believed_to_be_above_the_log_end() -> None:
    rules = RULES.with_values({"truncation": "none", "follower_position": "request"})
    source, fetcher = leading(records=1), with_log("r2", 1, 1)

    assert fetch(source, fetcher, rules=rules) is Answer.RECORDS
    assert source.leadership is not None
    assert source.leadership.positions == {"r2": 2}
    assert fetcher.log.log_end_offset == 2


def test_a_cut_takes_the_snapshots_and_stubs_of_what_it_cuts_off() -> None:
    replica = with_log("r1", 1, 1, 1, 1)
    for end in (1, 2, 3, 6):  # the last one was fetched, and not installed
        id_ = SnapshotId(end, epoch=1)
        replica.snapshots[id_] = Snapshot(id_, ())
    replica.stubs = {key: Record(offset, key, None, 0) for offset, key in enumerate("abc")}
    events = truncate(replica, 2)

    assert [id_.end_offset for id_ in replica.snapshots] == [1, 2, 6]
    assert [*replica.stubs] == ["a", "b"]
    assert events[1:] == [SnapshotDeleted("r1", 3, 1)]
