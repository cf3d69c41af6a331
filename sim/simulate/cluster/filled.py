"""What the events of the simulator are for: says what used them up, and which setting makes them.

Nothing is counted while a run goes on. Of a run that is at its limit the last events are looked at,
each before it happens: what goes on for ever fills them as it filled those before.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from simpy import Environment, Process

WATCHED: Final = 1_000
"""So many events before the limit are looked at."""
_LEAST: Final = 0.15
"""Share of them above which a kind is named."""

_KINDS: Final = {
    "BackgroundTasks._look": "cleaners that look whether a log is due (log.cleaner.backoff.ms)",
    "BackgroundTasks._flush": "flushes by time (flush.ms)",
    "ConsumerFetch": "fetches of consumers (poll_ms of consumers, timers.fetch_wait_ms)",
    "Consumer.": "fetches of consumers (poll_ms of consumers, timers.fetch_wait_ms)",
    "FetchSnapshot": "snapshots on their way (controller.quorum.fetch.snapshot.max.bytes)",
    "OffsetsForLeaderEpoch": "fetches of followers (timers.fetch_wait_ms, timers.fetch_retry_ms)",
    "Fetch": "fetches of followers (timers.fetch_wait_ms, timers.fetch_retry_ms)",
    "Delayed._expire": "fetches of followers (timers.fetch_wait_ms, timers.fetch_retry_ms)",
    "Produce": "sends and their answers (workload)",
    "Timetable": "sends and their answers (workload)",
    "WriteTxnMarkers": "sends and their answers (workload)",
    "Removal": "removal bounds (timers.coordination_interval_ms)",
    "SnapshotTasks": "snapshots taken and deleted (timers.snapshot_interval_ms, "
    "timers.snapshot_cleaning_ms)",
    "look_for_laggards": "looks for laggards (timers.replica_lag_max_ms)",
    "QuorumMembership": "elections and their timers (timers.election_timeout_ms)",
    "Vote": "elections and their timers (timers.election_timeout_ms)",
    "QuorumEpoch": "elections and their timers (timers.election_timeout_ms)",
    "Controller": "the controller (timers.election_timeout_ms)",
    "Broker": "the controller (timers.election_timeout_ms)",
    "LeaderAndIsr": "the controller (timers.election_timeout_ms)",
    "AlterPartition": "the controller (timers.election_timeout_ms)",
}
"""What is in the name of a message, of a callback or of a process -> what it is for."""


class Filled:
    """The last events of a run, by what they are for."""

    def __init__(self) -> None:
        """None was looked at."""
        self._counts: Counter[str] = Counter()
        self._all = 0

    def note(self, env: Environment) -> None:
        """Look at the event that comes next."""
        self._all += 1
        name = _name_of(env._queue[0][3])  # noqa: SLF001 - SimPy tells no more than its time
        kind = next((kind for part, kind in _KINDS.items() if part in name), None)
        if kind is not None:
            self._counts[kind] += 1

    @property
    def text(self) -> str:
        """What fills the run, the most frequent first; empty = nothing that has a name."""
        told = [kind for kind, count in self._counts.most_common() if count > _LEAST * self._all]
        return ", ".join(told)


def _name_of(event: Any) -> str:
    """The class of a message, else who waits for the event."""
    message = getattr(event, "message", None)
    if message is not None:
        return type(message).__name__
    return " ".join(_waiting(callback) for callback in event.callbacks or ())


def _waiting(callback: Any) -> str:
    """A process by its function, a regular one by what it does; else what is called."""
    owner = getattr(callback, "__self__", None)
    if not isinstance(owner, Process):
        return f"{type(owner).__name__}.{getattr(callback, '__name__', '')}"
    life: Any = owner._generator  # noqa: SLF001 - a process tells its name alone
    frame = getattr(life, "gi_frame", None)
    held = {} if frame is None else frame.f_locals
    act = held.get("act")
    act = getattr(act, "func", act)
    if act is not None:
        return f"{type(getattr(act, '__self__', None)).__name__}.{act.__name__}"
    of = type(held["self"]).__name__ if "self" in held else ""
    return f"{of}.{getattr(life, '__name__', type(life).__name__)}"
