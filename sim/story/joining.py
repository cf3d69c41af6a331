"""Whom the high watermark of a story's leaders waits for beside the in-sync set, and since when.

`sim.replication.joining` decides; a replica of a story is eligible while it is up. A story has the
default of `replica.lag.time.max.ms`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sim.replication import Replica
from sim.replication.joining import LAG_MAX_MS, await_joining, begin_progress, note_fetch
from sim.replication.messages import FetchRequest
from sim.rules import Rules
from sim.trace import Event, LeaderElected


class Joining:
    """The progress of followers, kept where the rule `high_watermark_waits_for` asks for it."""

    def __init__(self, rules: Rules) -> None:
        """Starts without a leader."""
        self._rules = rules
        self._waits = rules.replication.high_watermark_waits_for != "in_sync_set"

    def follow(self, events: Iterable[Event], replicas: Mapping[str, Replica], now_ms: int) -> None:
        """Begin anew with each leader that was elected, and see whom every leader waits for."""
        if not self._waits:
            return
        for event in events:
            if isinstance(event, LeaderElected):
                leadership = replicas[event.replica].leadership
                others = [name for name in replicas if name != event.replica]
                if leadership is not None:
                    begin_progress(leadership, others, now_ms)
        for leader in replicas.values():
            leadership = leader.leadership
            if leadership is not None:
                await_joining(
                    leader,
                    replicas,
                    leadership.isr,
                    lambda name: replicas[name].up,
                    rules=self._rules,
                    now_ms=now_ms,
                    lag_max_ms=LAG_MAX_MS,
                )

    def read(self, leader: Replica, request: FetchRequest, now_ms: int) -> None:
        """Note a fetch that a leader answers with what it has."""
        if self._waits and leader.leadership is not None:
            progress = leader.leadership.progress
            if request.follower not in progress:
                begin_progress(leader.leadership, [request.follower], now_ms)
            end = leader.log.log_end_offset
            note_fetch(progress[request.follower], request.offset, end, now_ms)
