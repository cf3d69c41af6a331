"""The future of a run drawn anew from a moment on, its past as it was.

What chance decides is drawn anew: when and where faults strike, when producers send (with a mix
also what and how often), the latency and the loss of every message, election timeouts. What people
decide stays: settings and their changes, who reads, the cluster.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.scenario.generate.streams import Draws
from sim.scenario.model import Fault, FaultKind, Scenario, Send, Workload

_BY_ROLE = ("leader", "follower")


def seed_of(scenario: Scenario, at_ms: int, number: int) -> int:
    """The seed of one future; the same for the same scenario, moment and number everywhere."""
    text = f"{scenario.seed}/future/{at_ms}/{number}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


def future_of(scenario: Scenario, at_ms: int, seed: int, mix: Mix | None = None) -> Scenario:
    """The scenario with another future from `at_ms` (inclusive) on.

    With the mix that it was drawn from, sends and faults are those of another scenario of the mix.
    Without one, producers send what they meant to send, at other times, and each fault comes at
    another time and to another replica. Latencies and timeouts are left to a `Fork`.
    """
    if at_ms >= scenario.duration_ms:
        return scenario
    if mix is not None and mix.duration_ms == scenario.duration_ms:
        other = generate(seed, mix)
        workload = _joined(scenario.workload, other.workload, at_ms)
        names = [replica.name for replica in scenario.replicas]
        later = [_here(fault, names) for fault in other.faults if fault.at_ms >= at_ms]
    else:
        workload = _moved(scenario, at_ms, seed)
        later = _struck_otherwise(scenario, at_ms, seed)
    faults = [fault for fault in scenario.faults if fault.at_ms < at_ms]
    faults += sorted(later, key=lambda fault: fault.at_ms)
    return replace(scenario, workload=workload, faults=tuple(faults))


def _joined(past: Workload, other: Workload, at_ms: int) -> Workload:
    """The sends of one workload up to a moment, then those of another.

    Versions of a key go on where they were, and so do the numbers of a producer's transactions;
    those that are open at the moment end as they were to end.
    """
    sends = [send for send in past.sends if send.at_ms < at_ms]
    ahead = _versions(sends)
    behind = _versions([send for send in other.sends if send.at_ms < at_ms])
    begun: dict[int, int] = {}
    for send in sends:
        begun[send.producer] = max(begun.get(send.producer, 0), send.transaction)
    for send in other.sends:
        if send.at_ms < at_ms:
            continue
        version = send.version
        if version is not None:
            version = max(0, version + ahead.get(send.key, 0) - behind.get(send.key, 0))
        number = send.transaction and send.transaction + begun.get(send.producer, 0)
        sends.append(send._replace(version=version, transaction=number))
    known = {(send.producer, send.transaction) for send in sends}
    ends = [
        end
        for end in past.ends
        if end.at_ms < at_ms or end.transaction <= begun.get(end.producer, 0)
    ]
    for end in other.ends:
        number = end.transaction + begun.get(end.producer, 0)
        if end.at_ms >= at_ms and (end.producer, number) in known:
            ends.append(replace(end, transaction=number))
    return replace(past, sends=tuple(sends), ends=tuple(ends))


def _versions(sends: list[Send]) -> dict[str, int]:
    """The highest version that was sent of each key."""
    highest: dict[str, int] = {}
    for send in sends:
        if send.version is not None:
            highest[send.key] = max(highest.get(send.key, 0), send.version)
    return highest


def _here(fault: Fault, names: list[str]) -> Fault:
    """A fault of another scenario at the replica of this one that stands in for its target."""
    if fault.target in (*_BY_ROLE, *names) or fault.kind is FaultKind.ADD_REPLICA:
        return fault
    return replace(fault, target=names[sum(fault.target.encode()) % len(names)])


def _moved(scenario: Scenario, at_ms: int, seed: int) -> Workload:
    """The same sends and ends of transactions in the same order, at other times from a moment on.

    A send's timestamp moves with it.
    """
    workload = scenario.workload
    draws = Draws(seed, "sends")
    span = scenario.duration_ms - at_ms
    decided = sorted(
        [send.at_ms for send in workload.sends if send.at_ms >= at_ms]
        + [end.at_ms for end in workload.ends if end.at_ms >= at_ms]
    )
    times = iter(sorted(at_ms + draws.below(span) for _ in decided))
    moved: dict[int, int] = {}
    for old in decided:
        moved.setdefault(old, next(times))
    sends = [
        send
        if send.at_ms < at_ms
        else send._replace(
            at_ms=moved[send.at_ms],
            timestamp_ms=send.timestamp_ms + moved[send.at_ms] - send.at_ms,
        )
        for send in workload.sends
    ]
    ends = [
        end if end.at_ms < at_ms else replace(end, at_ms=moved[end.at_ms]) for end in workload.ends
    ]
    return replace(workload, sends=tuple(sends), ends=tuple(ends))


def _struck_otherwise(scenario: Scenario, at_ms: int, seed: int) -> list[Fault]:
    """The faults from a moment on, each at another time and to another replica."""
    names = [replica.name for replica in scenario.replicas]
    later = []
    for index, fault in enumerate(scenario.faults):
        if fault.at_ms < at_ms:
            continue
        draws = Draws(seed, f"faults/{index}")
        moment = at_ms + draws.below(scenario.duration_ms - at_ms)
        target = draws.choice(names)
        keeps = fault.target in _BY_ROLE or fault.kind is FaultKind.ADD_REPLICA
        keeps = keeps or bool(fault.peers)
        later.append(replace(fault, at_ms=moment, target=fault.target if keeps else target))
    return later
