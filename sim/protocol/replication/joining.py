"""Replicas that are about to join the in-sync set: when they had all of the leader's log.

A high watermark waits for them, too, unless it waits for the in-sync set alone
(`high_watermark_waits_for`). A follower is caught up while it is at the leader's log end, and for
`replica.lag.time.max.ms` after it was. Whether it may join is known outside: to the controller, or
to a story. Times are in ms of one clock of the caller's.

Sources: Replica.updateFetchStateOrThrow and .resetReplicaState, ReplicaState.isCaughtUp;
Partition.maybeIncrementLeaderHW and .isReplicaIsrEligible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from sim.protocol.replication.replica import FetchTimes, Leadership, Replica
from sim.protocol.rules import Rules

REPLICA_LAG_MAX_MS: Final = 30_000
"""`replica.lag.time.max.ms` of Kafka (KIP-537)."""


def waits_for_joining(rules: Rules) -> bool:
    """Decides whether high watermarks may wait for replicas that are not in sync."""
    replication = rules.replication
    return replication.commit == "isr" and replication.high_watermark_waits_for != "in_sync_set"


def trust_the_in_sync(leader: Replica, *, now_ms: int) -> None:
    """Starts a new leader with its in-sync replicas as caught up, and the others as unknown.

    A leader that was elected from outside the set counts as alone in it: no follower is caught up.
    """
    leadership, name = leader.leadership, leader.name
    if leadership is not None:
        isr = leadership.isr
        others = [other for other in isr if other != name] if name in isr else []
        leadership.fetch_times = {other: FetchTimes(now_ms, now_ms) for other in others}


def note_fetch(leadership: Leadership, follower: str, offset: int, end: int, now_ms: int) -> None:
    """Notes a fetch at an offset, by which a follower may be caught up now, or at its last fetch.

    `end` is the leader's log end offset. A fetch below that of the fetch before says nothing.
    """
    times = leadership.fetch_times.get(follower)
    if times is None:
        times = leadership.fetch_times[follower] = FetchTimes()
    if offset >= end:
        times.caught_up_ms = now_ms
    elif offset >= times.leader_end and times.fetch_ms > times.caught_up_ms:
        times.caught_up_ms = times.fetch_ms
    times.leader_end = end
    times.fetch_ms = now_ms


def caught_up_ms(leadership: Leadership, follower: str) -> int:
    """Time, in ms, when a follower last had everything; long ago for an unknown one."""
    return leadership.fetch_times.get(follower, _UNKNOWN).caught_up_ms


_UNKNOWN: Final = FetchTimes()


def is_caught_up(leader: Replica, follower: str, *, now_ms: int, lag_max_ms: int) -> bool:
    """Decides whether a follower had the leader's whole log within `lag_max_ms`."""
    leadership = leader.leadership
    return leadership is not None and (
        now_ms - caught_up_ms(leadership, follower) <= lag_max_ms
        or leadership.positions.get(follower) == leader.log.log_end_offset
    )


def wait_for_joining(
    leader: Replica,
    replicas: Iterable[str],
    *,
    isr: Collection[str],
    eligible: Collection[str],
    now_ms: int,
    lag_max_ms: int,
    rules: Rules,
) -> None:
    """Holds a leader's high watermark back for those that are about to join, as the rules say.

    To be called again whenever time has passed or `eligible` has changed.

    Args:
        leader: Replica that leads.
        replicas: All replicas of the partition, in order.
        isr: Those that are in sync, or will be in a moment: they are waited for anyway.
        eligible: Those that may join.
        now_ms: The time in ms.
        lag_max_ms: `replica.lag.time.max.ms`.
        rules: Rules, which say for which replicas to wait.
    """
    leadership, rule = leader.leadership, rules.replication.high_watermark_waits_for
    if leadership is None or rule == "in_sync_set":
        return
    leadership.awaited = tuple(
        [
            name
            for name in replicas
            if name != leader.name
            and name not in isr
            and is_caught_up(leader, name, now_ms=now_ms, lag_max_ms=lag_max_ms)
            and (rule == "caught_up" or name in eligible)
        ]
    )


def in_sync_end(leader: Replica) -> int:
    """Up to where all that are in sync have a leader's log, as far as it knows (exclusive)."""
    leadership, end = leader.leadership, leader.log.log_end_offset
    if leadership is None:
        return 0
    known = [leadership.positions.get(name, 0) for name in leadership.isr if name != leader.name]
    return min([end, *known])


def laggards(leader: Replica) -> tuple[str, ...]:
    """The in-sync replicas that hold a leader's high watermark back."""
    leadership, mark = leader.leadership, leader.log.high_watermark
    if leadership is None or leader.log.log_end_offset <= mark:
        return ()
    others = [name for name in leadership.isr if name != leader.name]
    return tuple([name for name in others if leadership.positions.get(name, 0) <= mark])


def held_back_by(leader: Replica, rules: Rules) -> tuple[str, ...]:
    """The joining replicas that hold a high watermark below what all in sync have; may be empty."""
    leadership, reached = leader.leadership, in_sync_end(leader)
    if leadership is None or reached <= leader.log.high_watermark:
        return ()
    if leadership.in_sync < rules.topic.min_isr:
        return ()
    return tuple([one for one in leadership.awaited if leadership.positions.get(one, -1) < reached])
