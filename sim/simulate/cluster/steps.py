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

PURPOSES: Final = {
    "cleaners that look whether a log is due (log.cleaner.backoff.ms)": "BackgroundTasks._look",
    "flushes by time (flush.ms)": "BackgroundTasks._flush",
    "fetches of consumers (poll_ms of consumers, timers.fetch_wait_ms)": "ConsumerFetch _poll",
    "snapshots on their way (controller.quorum.fetch.snapshot.max.bytes)": "FetchSnapshot",
    "fetches of followers (timers.fetch_wait_ms, timers.fetch_retry_ms)": "OffsetsForLeaderEpoch "
    "Fetch _replicate Delayed",
    "sends and their answers (workload)": "Produce WriteTxnMarkers _decide _live _deliver",
    "removal bounds (timers.coordination_interval_ms)": "Removal",
    "snapshots taken and deleted (timers.snapshot_interval_ms, timers.snapshot_cleaning_ms)": (
        "SnapshotTasks"
    ),
    "looks for laggards (timers.replica_lag_max_ms)": "_look_for_laggards",
    "elections and their timers (timers.election_timeout_ms)": "Vote QuorumEpoch _succeed "
    "_stand_without_a_leader _campaign_again _check_quorum",
    "the controller (timers.election_timeout_ms)": "_session Broker LeaderAndIsr AlterPartition",
}
"""Purpose of events -> parts of names: of a message, of a function that is called, of a process.

The first purpose counts of which a part is in the name.
"""


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
        """Number of steps taken so far."""
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
            purposes[purpose_of(_names_of(event, env.active_process))] += 1

        env.schedule = noted  # type: ignore[method-assign,assignment]

    def _mostly(self) -> str:
        """The purposes of most of the last events, the most frequent first; empty = none."""
        purposes = self._purposes or Counter[str]()
        least = _LEAST * purposes.total()
        return ", ".join(one for one, count in purposes.most_common() if one and count > least)


def purpose_of(names: str) -> str:
    """The purpose of a message, a function or a process by its name; empty = it has none."""
    found = (one for one, parts in PURPOSES.items() if any(part in names for part in parts.split()))
    return next(found, "")


def _names_of(event: Event, process: Process | None) -> str:
    """The message or the function that an event carries, and the process that schedules it."""
    value: Any = event.value
    value = getattr(value, "func", value)
    if callable(value):
        carried = f"{type(value.__self__).__name__}.{value.__name__}"
    else:
        carried = type(value).__name__
    return carried if process is None else f"{carried} {process.name}"
