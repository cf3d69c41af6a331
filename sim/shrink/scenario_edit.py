"""Scenarios as values to shrink: parts that can be left out, and which of two is smaller.

Parts that are left hang together in any case: what belongs to something that is gone goes with it,
such as the end of a transaction without sends, a fault of a replica that is not there, or whatever
comes after the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from sim.rules import Settings
from sim.scenario.model import (
    Ask,
    Change,
    Consumer,
    EndTransaction,
    Fault,
    FaultKind,
    Network,
    ReplicaSpec,
    Scenario,
    Send,
    SentHeader,
    Timers,
    Topic,
    Workload,
)
from sim.scenario.model.changes import EVERY_REPLICA
from sim.scenario.model.snapshots import SnapshotSettings
from sim.shrink.engine import Shown, put_at

ROLES = ("leader", "follower")

Value: TypeAlias = Send | EndTransaction | Fault | Change | Ask | Consumer


class Part(NamedTuple):
    """One thing that a scenario can do without.

    Attributes:
        value: What it is.
        headers: Of a send: its headers in the place of the version header.
    """

    value: Value
    headers: tuple[SentHeader, ...] = ()

    @property
    def at_ms(self) -> int:
        """When it happens; a consumer is there from the beginning."""
        return 0 if isinstance(self.value, Consumer) else self.value.at_ms

    def moved(self, at_ms: int) -> Part:
        """The same at another time; the timestamp of a send moves with it."""
        value = self.value
        if isinstance(value, Consumer):
            return self
        if isinstance(value, Send):
            stamp = max(0, value.timestamp_ms + at_ms - value.at_ms)
            return Part(value._replace(at_ms=at_ms, timestamp_ms=stamp), self.headers)
        return Part(replace(value, at_ms=at_ms))


def parts_of(scenario: Scenario) -> list[Part]:
    """All parts in order of time, consumers first."""
    headers = dict(scenario.applications.headers)
    sends = [Part(s, headers.get(i, ())) for i, s in enumerate(scenario.workload.sends)]
    lists = (scenario.workload.ends, scenario.asks, scenario.faults, scenario.changes)
    others = [Part(value) for values in lists for value in values]
    timed = sorted(sends + others, key=lambda part: part.at_ms)
    return [Part(consumer) for consumer in scenario.consumers] + timed


def with_parts(scenario: Scenario, parts: Iterable[Part]) -> Scenario:
    """The scenario with these parts and no others, as far as they hang together."""
    kept = sorted(
        (part for part in parts if part.at_ms < scenario.duration_ms), key=lambda part: part.at_ms
    )
    values = [part.value for part in kept]
    sends = [part for part in kept if isinstance(part.value, Send)]
    headers = tuple((index, part.headers) for index, part in enumerate(sends) if part.headers)
    faults = tuple(_faults(scenario, values))
    return replace(
        scenario,
        workload=replace(
            scenario.workload,
            sends=tuple(value for value in values if isinstance(value, Send)),
            ends=tuple(_ends(values)),
        ),
        applications=replace(scenario.applications, headers=headers),
        asks=tuple(value for value in values if isinstance(value, Ask)),
        consumers=tuple(value for value in values if isinstance(value, Consumer)),
        faults=faults,
        changes=tuple(_changes(scenario, values, faults)),
    )


def _ends(values: Sequence[Value]) -> Iterator[EndTransaction]:
    """The ends of transactions in which something is sent, none of it later."""
    sends = [value for value in values if isinstance(value, Send)]
    last = {(send.producer, send.transaction): send.at_ms for send in sends}
    for end in values:
        if isinstance(end, EndTransaction):
            sent_ms = last.get((end.producer, end.transaction))
            if sent_ms is not None and sent_ms <= end.at_ms:
                yield end


def _faults(scenario: Scenario, values: Iterable[Value]) -> Iterator[Fault]:
    """The faults of replicas that are there by then."""
    known = {replica.name for replica in scenario.replicas}
    for fault in values:
        if not isinstance(fault, Fault):
            continue
        joins = fault.kind is FaultKind.ADD_REPLICA
        is_there = fault.target in known or (fault.target in ROLES and not joins)
        if joins == is_there:
            continue
        if joins:
            known.add(fault.target)
        peers = tuple(peer for peer in fault.peers if peer in known)
        if peers or not fault.peers:
            yield replace(fault, peers=peers)


def _changes(
    scenario: Scenario, values: Iterable[Value], faults: Iterable[Fault]
) -> Iterator[Change]:
    """The changes of replicas and consumers that there are."""
    there = {replica.name for replica in scenario.replicas} | {EVERY_REPLICA, None}
    there |= {fault.target for fault in faults if fault.kind is FaultKind.ADD_REPLICA}
    readers = {value.name for value in values if isinstance(value, Consumer)} | {None}
    for change in values:
        if isinstance(change, Change) and change.replica in there and change.consumer in readers:
            yield change


def without_replica(scenario: Scenario, name: str) -> Scenario:
    """The scenario without a replica, and without all that names it."""
    network = scenario.network
    links = tuple(link for link in network.links if name not in (link.source, link.target))
    smaller = replace(
        scenario,
        replicas=tuple(replica for replica in scenario.replicas if replica.name != name),
        network=replace(network, links=links),
    )
    return with_parts(smaller, [p for p in parts_of(scenario) if not _reads(p.value, name)])


def _reads(value: Value, replica: str) -> bool:
    return isinstance(value, Consumer) and value.replica == replica


class Section(NamedTuple):
    """Settings that belong together.

    Attributes:
        given: As the scenario has them.
        usual: As by default.
        put: Gives a scenario with others in their place.
    """

    given: Any
    usual: Any
    put: Callable[[Scenario, Any], Scenario]


def sections_of(scenario: Scenario) -> list[Section]:
    """The settings of a scenario: of network, timers, topic, ..., of each replica and consumer."""
    usual: dict[str, Any] = {
        "network": Network(),
        "timers": Timers(),
        "topic": Topic(),
        "snapshots": SnapshotSettings(),
    }
    own = scenario.workload
    if own.trace is None:
        usual["workload"] = replace(Workload(), sends=own.sends, ends=own.ends)
    found = [Section(getattr(scenario, n), usual[n], partial(_put, n, None)) for n in usual]
    for name, kind in (("replicas", ReplicaSpec), ("consumers", Consumer)):
        for index, each in enumerate(getattr(scenario, name)):
            found.append(Section(each, kind(each.name), partial(_put, name, index)))
    return found


def _put(name: str, index: int | None, scenario: Scenario, section: Any) -> Scenario:
    if index is not None:
        section = put_at(getattr(scenario, name), index, section)
    return replace(scenario, **{name: section})


def size_of(shown: Shown[Scenario]) -> Iterator[Any]:
    """What makes a scenario small: few events, then few parts, then the usual and the round."""
    scenario = shown.value
    parts = parts_of(scenario)
    yield len(shown.events)
    yield len(parts)
    yield len(scenario.replicas)
    yield len(scenario.settings.differing_from(Settings())) + (scenario.preset is not None)
    odd = sum(
        getattr(section.given, field.name) != getattr(section.usual, field.name)
        for section in sections_of(scenario)
        for field in fields(section.given)
    )
    yield odd + (scenario.last_rounds > 0)
    yield sum(map(_written, parts))
    yield scenario.duration_ms
    yield scenario.seed


def _written(part: Part) -> int:
    """How much there is to write of a part: digits that are not zeros at the end of a number."""
    value, numbers, words = part.value, [part.at_ms], 0
    if isinstance(value, Send):
        numbers += [value.timestamp_ms] if value.timestamp_ms != value.at_ms else []
        words = (value.version is not None) + (value.producer != 1) + (value.flag is not None)
    elif isinstance(value, Fault):
        numbers.append(value.duration_ms)
    return words + sum(len(str(number).rstrip("0")) for number in numbers)
