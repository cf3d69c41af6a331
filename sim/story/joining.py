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
        self._held_since: dict[tuple[str, str], int] = {}

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

    def note_held(self, replicas: Mapping[str, Replica], step: int) -> None:
        """Note from which step on whose position holds the high watermark of which leader back."""
        held = {(one.name, name) for one in replicas.values() for name in _holding_back(one)}
        self._held_since = {pair: self._held_since.get(pair, step) for pair in sorted(held)}

    def why_held(self, leader: Replica) -> str | None:
        """Say what holds a leader's high watermark back; None = nothing does."""
        rule, leadership = self._rules.replication.high_watermark_waits_for, leader.leadership
        names = _holding_back(leader)
        if leadership is None or not names:
            return None
        waits = [
            f"{name} ("
            + (
                "in the in-sync set"
                if name in leadership.isr
                else f"high_watermark_waits_for: {rule}"
            )
            + f"; since step {self._held_since.get((leader.name, name), 0)})"
            for name in names
        ]
        return f"its high watermark, {leader.log.high_watermark}, waits for {', '.join(waits)}"

    def read(self, leader: Replica, request: FetchRequest, now_ms: int) -> None:
        """Note a fetch that a leader answers with what it has."""
        if self._waits and leader.leadership is not None:
            progress = leader.leadership.progress
            if request.follower not in progress:
                begin_progress(leader.leadership, [request.follower], now_ms)
            end = leader.log.log_end_offset
            note_fetch(progress[request.follower], request.offset, end, now_ms)


def _holding_back(leader: Replica) -> list[str]:
    """Those without whose positions the high watermark would be higher (`commit: isr`)."""
    leadership, mark = leader.leadership, leader.log.high_watermark
    if leadership is None or not leader.up or leader.log.log_end_offset <= mark:
        return []
    members = [name for name in (*leadership.isr, *leadership.awaited) if name != leader.name]
    return [name for name in members if leadership.positions.get(name, -1) <= mark]
