"""The steps of a run: counted, bounded by `limits.max_events`, and named when they are used up.

Nothing is noted while a run goes on. When it nears its limit, the last events are noted as they are
scheduled: what goes on for ever fills them as it filled those before.
"""

from __future__ import annotations

from collections import Counter
from itertools import repeat
from operator import length_hint
from typing import Any, Final

from simpy import Environment, Event, Process
from simpy.core import StopSimulation

WATCHED: Final = 1_000
"""So many events before the limit are noted."""
_LEAST: Final = 0.15
"""Share of them above which a purpose is named."""

_WORKLOAD: Final = "sends and their answers (workload)"
_CONSUMERS: Final = "fetches of consumers (poll_ms of consumers, timers.fetch_wait_ms)"
_FOLLOWERS: Final = "fetches of followers (timers.fetch_wait_ms, timers.fetch_retry_ms)"
_ELECTIONS: Final = "elections and their timers (timers.election_timeout_ms)"
_CONTROLLER: Final = "the controller (timers.election_timeout_ms)"

_KINDS: Final = {
    "BackgroundTasks._look": "cleaners that look whether a log is due (log.cleaner.backoff.ms)",
    "BackgroundTasks._flush": "flushes by time (flush.ms)",
    "ConsumerFetch": _CONSUMERS,
    "_poll": _CONSUMERS,
    "FetchSnapshot": "snapshots on their way (controller.quorum.fetch.snapshot.max.bytes)",
    "OffsetsForLeaderEpoch": _FOLLOWERS,
    "Fetch": _FOLLOWERS,
    "_replicate": _FOLLOWERS,
    "Delayed": _FOLLOWERS,
    "Produce": _WORKLOAD,
    "WriteTxnMarkers": _WORKLOAD,
    "_decide": _WORKLOAD,
    "_live": _WORKLOAD,
    "_deliver": _WORKLOAD,
    "Removal": "removal bounds (timers.coordination_interval_ms)",
    "SnapshotTasks": "snapshots taken and deleted (timers.snapshot_interval_ms, "
    "timers.snapshot_cleaning_ms)",
    "_look_for_laggards": "looks for laggards (timers.replica_lag_max_ms)",
    "_stand_without_a_leader": _ELECTIONS,
    "_campaign_again": _ELECTIONS,
    "_succeed": _ELECTIONS,
    "_check_quorum": _ELECTIONS,
    "Vote": _ELECTIONS,
    "QuorumEpoch": _ELECTIONS,
    "_session": _CONTROLLER,
    "Broker": _CONTROLLER,
    "LeaderAndIsr": _CONTROLLER,
    "AlterPartition": _CONTROLLER,
}
"""Part of the name of a message, of a function that is called, or of a process -> its purpose."""


class UsedUp(Exception):
    """The limit was reached; the text names what most of the last events were for."""


class Steps:
    """The steps of one simulation, each one of `simpy.Environment`'s own."""

    def __init__(self, env: Environment, limit: int) -> None:
        """Starts at the first event; there are at most `limit`."""
        self._env = env
        self._limit = limit
        self._unwatched = repeat(None, max(0, limit - WATCHED))
        self._watched = repeat(None, min(limit, WATCHED))
        self._purposes: Counter[str] | None = None

    @property
    def taken(self) -> int:
        """How many there were."""
        return self._limit - length_hint(self._unwatched) - length_hint(self._watched)

    def go_on_until(self, event: Event) -> None:
        """Takes steps until an event happens, which comes last.

        Raises:
            UsedUp: The limit is reached before.
        """
        step = self._env.step
        event.callbacks.append(StopSimulation.callback)
        try:
            for _ in self._unwatched:
                step()
            self._watch()
            for _ in self._watched:
                step()
        except StopSimulation:
            return
        raise UsedUp(self._mostly())

    def _watch(self) -> None:
        """Notes each event that is scheduled from now on (SimPy's guide, Monitoring)."""
        if self._purposes is not None:
            return
        env, schedule = self._env, self._env.schedule
        purposes = self._purposes = Counter[str]()

        def noted(event: Event, *when: Any) -> None:
            schedule(event, *when)
            name = _name_of(event, env.active_process)
            purposes[next((kind for part, kind in _KINDS.items() if part in name), "")] += 1

        env.schedule = noted  # type: ignore[method-assign,assignment]

    def _mostly(self) -> str:
        """The purposes of most of the last events, the most frequent first; empty = none."""
        purposes = self._purposes or Counter[str]()
        least = _LEAST * purposes.total()
        return ", ".join(one for one, count in purposes.most_common() if one and count > least)


def _name_of(event: Event, process: Process | None) -> str:
    """The class of the message or the function that an event carries, else who schedules it."""
    value: Any = event.value
    value = getattr(value, "func", value)
    if callable(value):
        return f"{type(value.__self__).__name__}.{value.__name__}"
    if process is not None and not isinstance(value, tuple):
        return process.name
    return type(value).__name__
