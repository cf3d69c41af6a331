"""Small scenarios for the timed world, and a recorder of what happens in them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sim.protocol.events import (
    Appended,
    Copied,
    Event,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotInstalled,
    Truncated,
)
from sim.protocol.rules import Rules
from sim.simulate.cluster import SimulationResult, simulate
from sim.simulate.faults import FAULTS, Fault
from sim.simulate.scenario.model import (
    Consumer,
    Network,
    ReplicaSpec,
    Scenario,
    Send,
    Timers,
    Topic,
    Workload,
)

E = TypeVar("E")

THREE = (ReplicaSpec("r1"), ReplicaSpec("r2"), ReplicaSpec("r3"))


@dataclass
class Story:
    """What a scenario led to."""

    outcome: SimulationResult
    events: list[tuple[int, Event]]

    def of(self, kind: type[E], where: Callable[[E], bool] = lambda _: True) -> list[tuple[int, E]]:
        """The events of a kind with their times in ms."""
        return [(at, e) for at, e in self.events if isinstance(e, kind) and where(e)]

    def digest(self) -> str:
        """One short text for the whole story."""
        return hashlib.blake2b(repr(self.events).encode(), digest_size=16).hexdigest()


def tell(scenario: Scenario) -> Story:
    """Simulate a scenario and keep every event."""
    events: list[tuple[int, Event]] = []
    outcome = simulate(scenario, lambda at, new: events.extend((at, event) for event in new))
    return Story(outcome, events)


def sends(
    count: int = 40, *, every_ms: int = 50, keys: int = 4, start_ms: int = 100, producers: int = 1
) -> tuple[Send, ...]:
    """A steady stream of writes; every value is another one, so that records can be told apart."""
    times = [start_ms + index * every_ms for index in range(count)]
    return tuple(
        Send(at, 1 + index % producers, f"k{index % keys}", f"v{index}", at)
        for index, at in enumerate(times)
    )


def fault(kind: str, at_ms: int, target: str, duration_ms: int = 0, **more: Any) -> Fault:
    """A fault."""
    return FAULTS[kind](at_ms, target, duration_ms, **more)


def scenario(
    *faults: Fault,
    rules: Rules | None = None,
    replicas: tuple[ReplicaSpec, ...] = THREE,
    workload: Workload | None = None,
    duration_ms: int = 4_000,
    **more: Any,
) -> Scenario:
    """Three replicas under Kafka's in-sync sets, 40 writes in two seconds, and these faults."""
    return Scenario(
        id="test",
        seed=more.pop("seed", 7),
        duration_ms=duration_ms,
        rules=rules or Rules.of(commit="isr", fix="empty_batch", map_range="dirty"),
        replicas=replicas,
        topic=more.pop("topic", Topic(segment_bytes=600, segment_ms=500)),
        network=more.pop("network", Network((1, 5))),
        timers=more.pop("timers", Timers(replica_lag_max_ms=400, fetch_wait_ms=200)),
        workload=workload or Workload(sends=sends()),
        consumers=more.pop("consumers", (Consumer("c1"),)),
        faults=faults,
        **more,
    )


def log_ends(story: Story) -> dict[str, int]:
    """Where each replica's log ends, as its events say."""
    ends: dict[str, int] = {}
    for _, event in story.events:
        match event:
            case Appended():
                ends[event.replica] = event.batch.last_offset + 1
            case Copied() | ReplicaRestarted() | ReplicaCrashed():
                ends[event.replica] = event.log_end_offset
            case Truncated():
                ends[event.replica] = event.target
            case SnapshotInstalled():
                ends[event.replica] = event.end_offset
            case ReplicaWiped():
                ends[event.replica] = 0
    return ends
