"""Becoming a follower: truncation of the log, and the questions to the leader before it.

| `truncation`       | becoming a follower cuts                                                    |
|--------------------|-----------------------------------------------------------------------------|
| `high_watermark`   | what is above the own high watermark; nothing is asked                      |
| `epoch_kip101`     | what is above the end of the own newest epoch in the leader's log           |
| `epoch_kip279`     | the same; if the leader does not know that epoch, the next older one is     |
|                    | asked about, and so on                                                      |
| `epoch_diverging`  | nothing: the leader says with the answer to a fetch where the logs part     |
| `none`             | nothing                                                                     |

Afterwards a log may still end above the leader's: where a high watermark was committed by a leader
who was replaced uncleanly, or where nothing is known of epochs. A fetch there is out of range, and
cuts the log to the leader's end (KAFKA-2143). With `none` it is answered without records, as
KIP-280's drawing needs it. Before 2.1 a broker went down instead of cutting where unclean elections
were not allowed (KAFKA-7414); here it never does.

Sources: KIP-101, KIP-279, KIP-320; AbstractFetcherThread.truncateToEpochEndOffsets,
ReplicaManager.lastOffsetForLeaderEpoch.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sim.protocol.events import Event
from sim.protocol.log import Log
from sim.protocol.replication.messages import (
    NO_ERROR,
    ErrorCode,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from sim.protocol.replication.replica import Replica, truncate
from sim.protocol.replication.snapshots import drop_download
from sim.protocol.rules import Rules
from sim.protocol.rules.replication import Truncation

_ASKING: Final[tuple[Truncation, ...]] = ("epoch_kip101", "epoch_kip279")
"""With these a new follower asks where its newest epoch ends before it fetches."""


UNDEFINED: Final = -1
"""UNDEFINED_EPOCH and UNDEFINED_EPOCH_OFFSET: an end that a leader does not know."""


class FollowResult(Struct, frozen=True, gc=False):
    """The effect of a step towards following a leader.

    Attributes:
        events: Events at the follower.
        request: Next question to the leader; None = the follower may fetch.
        refused: True when the epoch is below the follower's, so that it does not follow.
    """

    events: list[Event]
    request: OffsetsForLeaderEpochRequest | None = None
    refused: bool = False


def start_following(follower: Replica, epoch: int, *, rules: Rules) -> FollowResult:
    """Follows the leader of `epoch`: stops leading, drops a partly fetched snapshot, cuts or asks.

    With `fencing` a leader of an epoch below the highest seen one is not followed.
    """
    if rules.replication.fencing:
        if epoch < follower.epoch:
            return FollowResult([], refused=True)
        follower.sees(epoch)
    follower.leadership = None
    follower.fetching_failed = False
    events = drop_download(follower, reason="a new leader")
    if rules.replication.truncation == "high_watermark":
        events += truncate(follower, follower.log.high_watermark)
    return FollowResult(events, next_question(follower, epoch, rules=rules))


def next_question(
    follower: Replica, epoch: int, *, rules: Rules
) -> OffsetsForLeaderEpochRequest | None:
    """The question of a follower in `epoch` before it may fetch; None without one.

    A log without epochs has nothing to ask about, and what it holds is not cut.
    """
    if rules.replication.truncation not in _ASKING or not follower.log.epochs.entries:
        return None
    return OffsetsForLeaderEpochRequest(follower.name, epoch, follower.log.epochs.latest)


def answer_offsets_for_leader_epoch(
    leader: Replica, request: OffsetsForLeaderEpochRequest, *, rules: Rules
) -> OffsetsForLeaderEpochResponse:
    """Answers where the epoch that was asked for ends.

    With `fencing` the follower has to be in the leader's epoch (Partition.checkCurrentLeaderEpoch).
    """
    leadership, log, asked = leader.leadership, leader.log, request.leader_epoch
    error = NO_ERROR
    if rules.replication.fencing:
        epoch = leader.epoch if leadership is None else leadership.epoch
        if request.current_leader_epoch < epoch:
            error = ErrorCode.FENCED_LEADER_EPOCH
        elif request.current_leader_epoch > epoch:
            error = ErrorCode.UNKNOWN_LEADER_EPOCH
    if error is NO_ERROR and leadership is None:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    number = request.correlation_id
    if error is not NO_ERROR:
        return OffsetsForLeaderEpochResponse(error, correlation_id=number)
    found = _end_of_epoch(log, asked, rules=rules)
    return OffsetsForLeaderEpochResponse(error, *found, correlation_id=number)


def _end_of_epoch(log: Log, asked: int, *, rules: Rules) -> tuple[int, int]:
    """The epoch that is found for the one asked for, and where it ends; twice -1 = undefined.

    With `unknown_epoch: undefined` there is no answer for an epoch above all known ones, with
    `epoch_kip101` none for one below them either (LeaderEpochFileCache, 0.11).
    """
    epochs = log.epochs
    of_kip101 = rules.replication.truncation == "epoch_kip101"
    if rules.replication.unknown_epoch == "undefined" and (
        asked > epochs.latest or (of_kip101 and asked < epochs.entries[0].epoch)
    ):
        return UNDEFINED, UNDEFINED
    if not of_kip101:
        return epochs.end_offset_for(asked, log.log_end_offset)
    return asked, epochs.end_offset_for(asked, log.log_end_offset).end_offset


def receive_offsets_for_leader_epoch(
    follower: Replica,
    request: OffsetsForLeaderEpochRequest,
    response: OffsetsForLeaderEpochResponse,
    *,
    rules: Rules,
) -> FollowResult:
    """Cuts what the leader does not have, and may ask again (KIP-279).

    After an error nothing is cut, and the same is to be asked again. Where the leader knows no end,
    the follower cuts to the offset that it was to fetch from, its high watermark
    (AbstractFetcherThread.getOffsetTruncationState).
    """
    if response.error is not NO_ERROR:
        return FollowResult([], request)
    if response.end_offset == UNDEFINED:
        return FollowResult(truncate(follower, follower.log.high_watermark))
    log, asked, found = follower.log, request.leader_epoch, response.leader_epoch
    end = min(response.end_offset, log.log_end_offset)
    if rules.replication.truncation == "epoch_kip101":
        return FollowResult(truncate(follower, end))
    own = log.epochs.end_offset_for(found, log.log_end_offset)
    events = truncate(follower, min(own.end_offset, end))
    if found == asked or log.epochs.latest in (asked, found):
        return FollowResult(events)
    return FollowResult(events, next_question(follower, request.current_leader_epoch, rules=rules))
