"""A scenario: everything a run of a simulated cluster depends on, as immutable data.

These are plain dataclasses so that generating thousands of them costs little; files are validated
with the bounds their annotations state (see `sim.simulate.scenario.file.load`). All times are
integer ms of simulated time, all offsets and sizes integers. Workload and faults are fixed lists:
they cannot depend on the rules, so that every rule set meets the same environment.

The promise of a topic whose settings change is that of its newest settings, whichever replica they
reached last: state is judged at rest, by the newest strategy over everything that was ever written.
KIP-280 says of a change only that what was compacted stays as it is, so on the way there a record
may be missing if a record beats it under any strategy that was in force on some replica. A loss
that the older strategy allowed and the newest does not excuse is what migrations are checked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from annotated_types import Gt

from sim.files.bounds import Rounds, Within
from sim.files.limits import EVENTS
from sim.protocol.rules.rules import Rules
from sim.simulate.faults.fault import Fault
from sim.simulate.scenario.model.cluster import (
    Change,
    LateMessages,
    Network,
    ReplicaSpec,
    SnapshotSettings,
    Timers,
    Topic,
    changed,
)
from sim.simulate.scenario.model.workload import Applications, Consumer, Workload
from sim.simulate.scenario.runnable import Expectation, Runnable


@dataclass(frozen=True, slots=True)
class Expect(Expectation):
    """What a timed run is expected to show; without `checked` all safety invariants are judged.

    `reached`: situations that have to occur; without them the run proves nothing. `unreached`:
    situations that must not occur.
    """

    reached: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run; reaching one makes it inconclusive."""

    max_events: Annotated[int, Gt(0), Within(EVENTS)] = 200_000


@dataclass(frozen=True, slots=True)
class Scenario(Runnable):
    """Everything a run depends on, the rules included.

    `last_rounds`: so often, when the cluster is at rest, every log is rolled and cleaned and the
    delete retention passes, before the end is judged. `unread` names settings of Kafka's that its
    file gives, and nothing reads.
    """

    unit = "ms"

    seed: int = 0
    duration_ms: int = 10_000
    topic: Topic = field(default_factory=Topic)
    replicas: tuple[ReplicaSpec, ...] = (ReplicaSpec("r1"), ReplicaSpec("r2"), ReplicaSpec("r3"))
    network: Network = field(default_factory=Network)
    late_messages: LateMessages = field(default_factory=LateMessages)
    timers: Timers = field(default_factory=Timers)
    workload: Workload = field(default_factory=Workload)
    applications: Applications = field(default_factory=Applications)
    consumers: tuple[Consumer, ...] = (Consumer("c1"),)
    faults: tuple[Fault, ...] = ()
    changes: tuple[Change, ...] = ()
    snapshots: SnapshotSettings = field(default_factory=SnapshotSettings)
    last_rounds: Rounds = 0
    expect: Expect = field(default_factory=Expect)
    limits: Limits = field(default_factory=Limits)
    unread: tuple[str, ...] = field(default=(), compare=False)

    @property
    def clock_skews(self) -> dict[str, int]:
        """How far the clock of each replica is ahead of simulated time in ms, by its name."""
        return {replica.name: replica.clock_skew_ms for replica in self.replicas}


class Promise(NamedTuple):
    """What a run is judged by.

    Attributes:
        rules: The newest settings; `delete_retention_ms` is the shortest any replica had.
        earlier: Other settings that were in force on some replica, in order.
    """

    rules: Rules
    earlier: tuple[Rules, ...]


def changes_of(scenario: Scenario) -> tuple[Change, ...]:
    """All changes of a scenario in order of time."""
    return tuple(sorted(scenario.changes, key=lambda change: change.at_ms))


def promise_of(scenario: Scenario) -> Promise:
    """The newest settings of a scenario, and all others that were in force before or beside."""
    newest = scenario.rules
    seen = [newest]
    for change in changes_of(scenario):
        if change.replica is not None:
            newest, _ = changed(newest, None, change)
            seen.append(newest)
    if len(seen) == 1:
        return Promise(newest, ())
    shortest = min(rules.topic.delete_retention_ms for rules in seen)
    earlier = tuple(dict.fromkeys(rules for rules in seen if rules != newest))
    return Promise(newest.with_values({"delete_retention_ms": shortest}), earlier)
