"""A scenario taken apart into what can be left out one by one, and put together again.

Parts that are left hang together in any case: what belongs to something that is gone goes with it,
such as the end of a transaction without sends, a fault of a replica that is not there, or whatever
comes after the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from sim.scenario.model import (
    Ask,
    Change,
    Consumer,
    EndTransaction,
    Fault,
    FaultKind,
    Scenario,
    Send,
    SentHeader,
)
from sim.scenario.model.changes import EVERY_REPLICA

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
            later = at_ms - value.at_ms
            stamp = max(0, value.timestamp_ms + later)
            return Part(value._replace(at_ms=at_ms, timestamp_ms=stamp), self.headers)
        return Part(replace(value, at_ms=at_ms), self.headers)


def parts_of(scenario: Scenario) -> list[Part]:
    """All parts in order of time, consumers first."""
    workload = scenario.workload
    headers = dict(scenario.applications.headers)
    found = [Part(consumer) for consumer in scenario.consumers]
    timed = [Part(send, headers.get(index, ())) for index, send in enumerate(workload.sends)]
    others: Iterable[Value] = (
        *workload.ends,
        *scenario.asks,
        *scenario.faults,
        *scenario.changes,
    )
    timed += [Part(value) for value in others]
    return found + sorted(timed, key=lambda part: part.at_ms)


def with_parts(scenario: Scenario, parts: Sequence[Part]) -> Scenario:
    """The scenario with these parts and no others, as far as they hang together."""
    parts = [part for part in parts if part.at_ms < scenario.duration_ms]
    parts = sorted(parts, key=lambda part: part.at_ms)
    sends = [part for part in parts if isinstance(part.value, Send)]
    faults = _faults(scenario, parts)
    consumers = tuple(part.value for part in parts if isinstance(part.value, Consumer))
    headers = [(index, part.headers) for index, part in enumerate(sends) if part.headers]
    return replace(
        scenario,
        workload=replace(
            scenario.workload,
            sends=tuple(part.value for part in sends if isinstance(part.value, Send)),
            ends=_ends(parts),
        ),
        applications=replace(scenario.applications, headers=tuple(headers)),
        asks=tuple(part.value for part in parts if isinstance(part.value, Ask)),
        consumers=consumers,
        faults=faults,
        changes=_changes(scenario, parts, faults, consumers),
    )


def _ends(parts: Iterable[Part]) -> tuple[EndTransaction, ...]:
    """The ends of transactions in which something is sent."""
    last: dict[tuple[int, int], int] = {}
    found: list[EndTransaction] = []
    for part in parts:
        value = part.value
        if isinstance(value, Send):
            last[value.producer, value.transaction] = value.at_ms
        elif isinstance(value, EndTransaction):
            found.append(value)
    return tuple(
        end for end in found if last.get((end.producer, end.transaction), 1 << 62) <= end.at_ms
    )


def _faults(scenario: Scenario, parts: Iterable[Part]) -> tuple[Fault, ...]:
    """The faults of replicas that are there by then."""
    known = {replica.name for replica in scenario.replicas}
    found: list[Fault] = []
    for part in parts:
        fault = part.value
        if not isinstance(fault, Fault):
            continue
        if fault.kind is FaultKind.ADD_REPLICA:
            if fault.target in known:
                continue
            known.add(fault.target)
        elif fault.target not in known and fault.target not in ROLES:
            continue
        peers = tuple(peer for peer in fault.peers if peer in known)
        if fault.peers and not peers:
            continue
        found.append(fault if peers == fault.peers else replace(fault, peers=peers))
    return tuple(found)


def _changes(
    scenario: Scenario,
    parts: Iterable[Part],
    faults: Iterable[Fault],
    consumers: Iterable[Consumer],
) -> tuple[Change, ...]:
    """The changes of replicas and consumers that there are."""
    joined = {fault.target for fault in faults if fault.kind is FaultKind.ADD_REPLICA}
    replicas = {replica.name for replica in scenario.replicas} | joined | {EVERY_REPLICA, None}
    readers = {consumer.name for consumer in consumers} | {None}
    return tuple(
        part.value
        for part in parts
        if isinstance(part.value, Change)
        and part.value.replica in replicas
        and part.value.consumer in readers
    )


def without_replica(scenario: Scenario, name: str) -> Scenario:
    """The scenario without a replica, and without all that names it."""
    network = scenario.network
    links = tuple(link for link in network.links if name not in (link.source, link.target))
    smaller = replace(
        scenario,
        replicas=tuple(replica for replica in scenario.replicas if replica.name != name),
        network=replace(network, links=links),
    )
    kept = [
        part
        for part in parts_of(scenario)
        if not (isinstance(part.value, Consumer) and part.value.replica == name)
    ]
    return with_parts(smaller, kept)
