"""Followers that are about to join the in-sync set, which a leader's high watermark waits for.

Which ones, the rule `high_watermark_waits_for` says. Without a wait, a follower that has caught up
would find the high watermark ahead of it again whenever it asks to join.

Sources: Partition.maybeIncrementLeaderHW, Replica.updateFetchStateOrThrow and .resetReplicaState,
ReplicaState.isCaughtUp; KAFKA-15021.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from sim.replication.replica import FollowerProgress, Leadership, Replica
from sim.rules import Rules

LONG_AGO_MS: Final = -(10**9)
"""When a follower had everything that is not known to have had it."""
LAG_MAX_MS: Final = 30_000
"""The default of `replica.lag.time.max.ms`, in ms."""


def begin_progress(leadership: Leadership, followers: Iterable[str], now_ms: int) -> None:
    """Start to follow the progress of a new leader's followers; in-sync ones count as caught up."""
    for name in followers:
        caught_up_ms = now_ms if name in leadership.isr else LONG_AGO_MS
        leadership.progress[name] = FollowerProgress(now_ms, caught_up_ms, caught_up_ms)


def note_fetch(progress: FollowerProgress, offset: int, leader_end: int, now_ms: int) -> None:
    """Note a fetch at `offset`: the follower is caught up now, or was at its fetch before."""
    if offset >= leader_end:
        progress.caught_up_ms = now_ms
    elif offset >= progress.leader_end and progress.fetch_ms > progress.caught_up_ms:
        progress.caught_up_ms = progress.fetch_ms
    progress.leader_end = leader_end
    progress.fetch_ms = progress.contact_ms = now_ms


def is_caught_up(leader: Replica, follower: str, now_ms: int, lag_max_ms: int) -> bool:
    """Whether a follower is at the log end, or was within the last `lag_max_ms`."""
    leadership = leader.leadership
    if leadership is None:
        return False
    progress = leadership.progress.get(follower)
    caught_up_ms = LONG_AGO_MS if progress is None else progress.caught_up_ms
    return (
        now_ms - caught_up_ms <= lag_max_ms
        or leadership.positions.get(follower) == leader.log.log_end_offset
    )


def await_joining(
    leader: Replica,
    followers: Iterable[str],
    isr: Collection[str],
    is_eligible: Callable[[str], bool],
    *,
    rules: Rules,
    now_ms: int,
    lag_max_ms: int,
) -> None:
    """Decide which followers outside the in-sync set the high watermark waits for from now on.

    Args:
        leader: The leader; it gets them as `Leadership.awaited`.
        followers: All that may join.
        isr: The in-sync set that they would join.
        is_eligible: Whether one may join as far as the controller is concerned: it is neither
            fenced nor shutting down, and the leader knows its newest incarnation.
        rules: `high_watermark_waits_for` decides.
        now_ms: The time, in ms.
        lag_max_ms: `replica.lag.time.max.ms`.
    """
    rule, leadership = rules.replication.high_watermark_waits_for, leader.leadership
    if rule == "in_sync_set" or leadership is None:
        return
    leadership.awaited = tuple(
        [
            name
            for name in followers
            if name != leader.name
            and name not in isr
            and is_caught_up(leader, name, now_ms, lag_max_ms)
            and (rule == "caught_up" or is_eligible(name))
        ]
    )
