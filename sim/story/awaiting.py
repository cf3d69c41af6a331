"""Whom a story's leaders hold the high watermark back for, beside the in-sync set.

A story has no replica.lag.time.max.ms: who has had all of a leader's log since that was elected
stays caught up, and is eligible while it is up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sim.replication import Replica
from sim.rules import Rules
from sim.trace import Event, LeaderElected, PositionRecorded, ReplicaCrashed, ReplicaWiped


class CaughtUp:
    """Who has caught up with whom, as the leaders know it (`high_watermark_waits_for`)."""

    def __init__(self, rules: Rules) -> None:
        """Nobody has."""
        self._rule = rules.replication.high_watermark_waits_for
        self._followers: dict[str, list[str]] = {}

    def follow(self, events: Iterable[Event], replicas: Mapping[str, Replica]) -> None:
        """Learn from what happened, and tell every leader."""
        if self._rule == "in_sync_set":
            return
        for event in events:
            if isinstance(event, PositionRecorded):
                caught_up = self._followers.setdefault(event.replica, [])
                reached = event.position >= replicas[event.replica].log.log_end_offset
                if reached and event.follower not in caught_up:
                    caught_up.append(event.follower)
            elif isinstance(event, LeaderElected | ReplicaCrashed | ReplicaWiped):
                self._followers.pop(event.replica, None)
        for name, replica in replicas.items():
            leadership = replica.leadership
            if leadership is not None:
                leadership.awaited = tuple(
                    other
                    for other in self._followers.get(name, ())
                    if other not in leadership.isr
                    and other in replicas
                    and (self._rule == "caught_up" or replicas[other].up)
                )
