"""Scenarios as values to shrink: their size, parts that can be left out, and the passes.

A part that depends on a removed one is removed with it: the end of a transaction without sends, a
fault of an absent replica, and all parts after the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from sim.diagnose.shrink.engine import (
    Pass,
    ShownTarget,
    ShrinkKind,
    chunks,
    plainer,
    put_at,
    without,
)
from sim.protocol.rules import Rules
from sim.simulate.faults import ROLES, Fault, Partition
from sim.simulate.scenario.model import (
    EVERY_REPLICA,
    Change,
    Consumer,
    EndTransaction,
    LateMessages,
    Network,
    ReplicaSpec,
    Scenario,
    Send,
    SnapshotSettings,
    Timers,
    Topic,
    Workload,
)

Value: TypeAlias = Send | EndTransaction | Fault | Change | Consumer


class ScenarioPart(NamedTuple):
    """A part of a scenario that can be left out.

    Attributes:
        value: The part itself.
    """

    value: Value

    @property
    def at_ms(self) -> int:
        """Time of the part in ms; 0 for a consumer."""
        return 0 if isinstance(self.value, Consumer) else self.value.at_ms

    def moved(self, to: Callable[[int], int]) -> ScenarioPart:
        """Moves the part to another time, with the timestamp of a send and the end of a fault."""
        value = self.value
        if isinstance(value, Consumer):
            return self
        at_ms = to(value.at_ms)
        if isinstance(value, Send):
            stamp = max(0, value.timestamp_ms + at_ms - value.at_ms)
            return ScenarioPart(value._replace(at_ms=at_ms, timestamp_ms=stamp))
        if isinstance(value, Fault) and value.duration_ms:
            lasts_ms = max(1, to(value.at_ms + value.duration_ms) - at_ms)
            return ScenarioPart(replace(value, at_ms=at_ms, duration_ms=lasts_ms))
        return ScenarioPart(replace(value, at_ms=at_ms))


def parts_of(scenario: Scenario) -> list[ScenarioPart]:
    """The parts of a scenario in order of time, consumers first."""
    workload = scenario.workload
    lists = (workload.sends, workload.ends, scenario.faults, scenario.changes)
    parts = [ScenarioPart(value) for values in lists for value in values]
    timed = sorted(parts, key=lambda part: part.at_ms)
    return [ScenarioPart(consumer) for consumer in scenario.consumers] + timed


def with_parts(scenario: Scenario, parts: Iterable[ScenarioPart]) -> Scenario:
    """Replaces the parts of a scenario.

    Parts at or after its end, and those that depend on an absent one, are left out.
    """
    before_end = [part for part in parts if part.at_ms < scenario.duration_ms]
    kept = list(_together(scenario, sorted(before_end, key=lambda part: part.at_ms)))

    def of(kind: type) -> Any:
        return tuple(part.value for part in kept if isinstance(part.value, kind))

    return replace(
        scenario,
        workload=replace(scenario.workload, sends=of(Send), ends=of(EndTransaction)),
        consumers=of(Consumer),
        faults=of(Fault),
        changes=of(Change),
    )


def _together(scenario: Scenario, parts: Iterable[ScenarioPart]) -> Iterator[ScenarioPart]:
    """Yields the parts whose replicas, consumers and transactions exist at their time."""
    there: set[Any] = {replica.name for replica in scenario.replicas}
    there |= {None, EVERY_REPLICA, *ROLES}
    for part in parts:
        match part.value:
            case Send(producer=producer, transaction=number):
                there.add((producer, number))
            case Consumer(name=name):
                there.add(name)
            case EndTransaction(producer=producer, transaction=number):
                if (producer, number) not in there:
                    continue
            case Change(replica=replica, consumer=consumer):
                if not {replica, consumer} <= there:
                    continue
            case Fault() as fault:
                peers = tuple(peer for peer in fault.peers if peer in there)
                if fault.joins == (fault.target in there) or bool(peers) != bool(fault.peers):
                    continue
                there.add(fault.target)
                if isinstance(fault, Partition):
                    fault = replace(fault, peers=peers)
                yield ScenarioPart(fault)
                continue
        yield part


def without_replica(scenario: Scenario, name: str) -> Scenario:
    """Removes a replica from a scenario, and all parts that name it."""
    network = scenario.network
    links = tuple(link for link in network.links if name not in (link.source, link.target))
    others = tuple(replica for replica in scenario.replicas if replica.name != name)
    smaller = replace(scenario, replicas=others, network=replace(network, links=links))
    parts = parts_of(scenario)
    return with_parts(smaller, [p for p in parts if getattr(p.value, "replica", None) != name])


def by_default(scenario: Scenario) -> Scenario:
    """The scenario with the same parts, and defaults for all other values."""
    workload = scenario.workload
    if workload.trace is None:  # sends of the first producer at their own times, plain
        sends = tuple(
            send._replace(
                producer=send.producer if send.transaction else 1,
                timestamp_ms=send.at_ms,
                version=None,
                flag=None,
                headers=(),
            )
            for send in workload.sends
        )
        workload = Workload(sends, workload.ends, instances=workload.instances)
    return replace(
        scenario,
        seed=0,
        last_rounds=0,
        preset=None,
        rules=Rules(),
        topic=Topic(),
        replicas=tuple(ReplicaSpec(replica.name) for replica in scenario.replicas),
        network=Network(),
        late_messages=LateMessages(),
        timers=Timers(),
        workload=workload,
        consumers=tuple(Consumer(consumer.name) for consumer in scenario.consumers),
        snapshots=SnapshotSettings(),
    )


def size_of(shown: ShownTarget[Scenario]) -> Iterator[Any]:
    """Yields the size: events, parts, replicas, deviations from defaults, duration in ms, seed."""
    scenario, parts = shown.value, parts_of(shown.value)
    yield len(shown.events)
    yield len(parts)
    yield len(scenario.replicas)
    yield sum(1 for _ in plainer(scenario, by_default(scenario)))
    yield scenario.duration_ms
    yield scenario.seed


# The passes.

ONE_BY_ONE_UP_TO = 40
"""Number of parts up to which each pause is shortened on its own; else the run as one pause."""
FAST = Network((1, 1))


def shorter(shown: ShownTarget[Scenario]) -> Iterator[Scenario]:
    """Yields scenarios that end at the violation, after the last part, or at half the time."""
    scenario, whole = shown.value, parts_of(shown.value)
    last = max((part.at_ms for part in whole), default=0) + 1
    for duration_ms in (shown.violation.at + 1, last, scenario.duration_ms // 2):
        if 0 < duration_ms < scenario.duration_ms:
            yield with_parts(replace(scenario, duration_ms=duration_ms), whole)


def _part_chunks(shown: ShownTarget[Scenario]) -> Iterator[range]:
    return chunks(len(parts_of(shown.value)))


def _dropped(shown: ShownTarget[Scenario], left_out: range) -> Iterator[Scenario]:
    yield with_parts(shown.value, without(parts_of(shown.value), *left_out))


def _dropped_eagerly(shown: ShownTarget[Scenario], left_out: range) -> Iterator[Scenario]:
    """Yields scenarios without some parts, whose cleaner runs as often as it may."""
    topic = replace(shown.value.topic, segment_bytes=1, min_cleanable_dirty_ratio=0.0)
    yield from (replace(fewer, topic=topic) for fewer in _dropped(shown, left_out))


def fewer_replicas(shown: ShownTarget[Scenario]) -> Iterator[Scenario]:
    """Yields scenarios without one replica."""
    replicas = shown.value.replicas
    for replica in reversed(replicas) if len(replicas) > 1 else ():
        yield without_replica(shown.value, replica.name)


def default_settings(shown: ShownTarget[Scenario]) -> Iterator[Scenario]:
    """Yields scenarios with more defaults, a fast network, or a replica that never cleans.

    A cleaner that is slower by default may need a run of twice the length.
    """
    scenario, plain, network = shown.value, by_default(shown.value), shown.value.network
    yield replace(plain, network=FAST, rules=scenario.rules)
    yield replace(scenario, network=FAST)
    yield replace(scenario, network=replace(network, latency_ms=FAST.latency_ms))
    yield from plainer(scenario, plain)
    yield replace(scenario, replicas=plain.replicas, duration_ms=2 * scenario.duration_ms)
    for index, spec in enumerate(scenario.replicas):
        idle = replace(spec, cleaner_backoff_ms=None)
        yield replace(scenario, replicas=put_at(scenario.replicas, index, idle))


def _retimed(scenario: Scenario, to: Callable[[int], int]) -> Scenario:
    longer = replace(scenario, duration_ms=max(1, to(scenario.duration_ms)))
    return with_parts(longer, [part.moved(to) for part in parts_of(scenario)])


def _times(scenario: Scenario) -> list[int]:
    """The times in ms of the start and the end, and of the parts if these are few, in order."""
    whole = parts_of(scenario)
    few = whole if len(whole) <= ONE_BY_ONE_UP_TO else []
    return sorted({part.at_ms for part in few} | {0, scenario.duration_ms})


def earlier(shown: ShownTarget[Scenario]) -> Iterator[Scenario]:
    """Yields scenarios with one pause shortened to 1 ms, or to half."""
    for before, after in pairwise(_times(shown.value)):
        for left_ms in (1, (after - before) // 2):
            if left_ms < after - before:
                yield _retimed(shown.value, partial(_sooner, after, after - before - left_ms))


def _sooner(since_ms: int, gain_ms: int, time_ms: int) -> int:
    return time_ms - gain_ms if time_ms >= since_ms else time_ms


SCENARIOS = ShrinkKind(
    (
        Pass(shorter),
        Pass(_part_chunks, _dropped_eagerly),
        Pass(_part_chunks, _dropped),
        Pass(fewer_replicas),
        Pass(default_settings),
        Pass(shorter),
        Pass(earlier),
    ),
    size=size_of,
    key=lambda scenario: scenario,
)
"""Scenarios: the passes that remove the most come first."""
