"""The future of a run drawn anew from a moment on, its past as it was.

What chance decides is drawn anew: when and where faults strike, when producers send (with a mix
also what and how often), the latency and the loss of every message, election timeouts. What people
decide stays: settings and their changes, who reads, the cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace
from hashlib import blake2b
from math import comb
from typing import NamedTuple

from sim.simulate.faults import Fault
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws
from sim.simulate.scenario.model import Scenario, Send, Workload

LEVEL = 0.05
"""Of 20 intervals at most one misses the true share, on average."""

_HALVINGS = 40


class Interval(NamedTuple):
    """Where a share lies with confidence 1 - `LEVEL`."""

    low: float
    high: float


def clopper_pearson(events: int, tries: int) -> Interval:
    """The exact interval of a share (Clopper and Pearson 1934), two-sided.

    Needs 0 <= `events` <= `tries`, and `tries` above 0.
    """
    return Interval(_low_end(events, tries), 1.0 - _low_end(tries - events, tries))


def _low_end(events: int, tries: int) -> float:
    """Finds the share at which so many events or more have a chance of `LEVEL` / 2."""
    low, high = 0.0, 1.0 if events else 0.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        ways = [comb(tries, n) * share**n * (1 - share) ** (tries - n) for n in range(tries + 1)]
        low, high = (share, high) if sum(ways[events:]) < LEVEL / 2 else (low, share)
    return (low + high) / 2


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
    ahead = _highest((send.key, send.version) for send in sends)
    behind = _highest((send.key, send.version) for send in other.sends if send.at_ms < at_ms)
    begun = _highest((send.producer, send.transaction) for send in sends)
    for send in other.sends:
        if send.at_ms >= at_ms:
            version = send.version
            if version is not None:
                version = max(0, version + ahead[send.key] - behind[send.key])
            number = send.transaction and send.transaction + begun[send.producer]
            sends.append(send._replace(version=version, transaction=number))
    known = {(send.producer, send.transaction) for send in sends}
    ends = [e for e in past.ends if e.at_ms < at_ms or e.transaction <= begun[e.producer]]
    later = [end for end in other.ends if end.at_ms >= at_ms]
    ends += [replace(end, transaction=end.transaction + begun[end.producer]) for end in later]
    ends = [end for end in ends if end.at_ms < at_ms or (end.producer, end.transaction) in known]
    return replace(past, sends=tuple(sends), ends=tuple(ends))


def _highest(numbers: Iterable[tuple[Hashable, int | None]]) -> Counter[Hashable]:
    """The highest number of each; 0 where there is none."""
    highest: Counter[Hashable] = Counter()
    for name, number in numbers:
        highest[name] = max(highest[name], number or 0)
    return highest


def _here(fault: Fault, names: list[str]) -> Fault:
    """A fault of another scenario at the replica of this one that stands in for its target."""
    if fault.target in (*_BY_ROLE, *names) or fault.joins:
        return fault
    return replace(fault, target=names[sum(fault.target.encode()) % len(names)])


def _moved(scenario: Scenario, at_ms: int, seed: int) -> Workload:
    """Moves sends and ends of transactions to other times from a moment on, in the same order.

    A send's timestamp moves with it.
    """
    workload = scenario.workload
    draws = Draws(seed, "sends")
    span = scenario.duration_ms - at_ms
    moments = [*(send.at_ms for send in workload.sends), *(end.at_ms for end in workload.ends)]
    decided = sorted(moment for moment in moments if moment >= at_ms)
    moved: dict[int, int] = {}
    for old, new in zip(decided, sorted(at_ms + draws.below(span) for _ in decided), strict=True):
        moved.setdefault(old, new)
    sends = [_sent_at(send, moved.get(send.at_ms, send.at_ms)) for send in workload.sends]
    ends = [replace(end, at_ms=moved.get(end.at_ms, end.at_ms)) for end in workload.ends]
    return replace(workload, sends=tuple(sends), ends=tuple(ends))


def _sent_at(send: Send, at_ms: int) -> Send:
    return send._replace(at_ms=at_ms, timestamp_ms=send.timestamp_ms + at_ms - send.at_ms)


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
        keeps = fault.target in _BY_ROLE or fault.joins
        keeps = keeps or bool(fault.peers)
        later.append(replace(fault, at_ms=moment, target=fault.target if keeps else target))
    return later
