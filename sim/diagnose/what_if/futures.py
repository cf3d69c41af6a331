"""Futures of a run: other random choices from a moment on, after the same past.

Chance decides again when and where faults strike, when producers send, the latency and the loss of
every message, and election timeouts. What people decide stays: what is sent, settings and their
changes, consumers, the cluster.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from math import comb
from typing import NamedTuple

from sim.simulate.scenario.generate.streams import Draws
from sim.simulate.scenario.model import Scenario, Workload

LEVEL = 0.05
"""Share of intervals that miss the true share, at most, on average."""

_HALVINGS = 40


class Interval(NamedTuple):
    """The ends of a confidence interval of a share, at confidence 1 - `LEVEL`."""

    low: float
    high: float


def clopper_pearson(events: int, tries: int) -> Interval:
    """The exact interval of a share (Clopper and Pearson 1934), two-sided.

    Needs 0 <= `events` <= `tries`, and `tries` above 0.
    """
    return Interval(_low_end(events, tries), 1.0 - _low_end(tries - events, tries))


def _low_end(events: int, tries: int) -> float:
    """The share at which `events` or more of `tries` have a probability of `LEVEL` / 2."""
    low, high = 0.0, 1.0 if events else 0.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        ways = [comb(tries, n) * share**n * (1 - share) ** (tries - n) for n in range(tries + 1)]
        low, high = (share, high) if sum(ways[events:]) < LEVEL / 2 else (low, share)
    return (low + high) / 2


_BY_ROLE = ("leader", "follower")


def seed_of(scenario: Scenario, at_ms: int, number: int) -> int:
    """The seed of one future, by scenario, moment and number; the same on every machine."""
    text = f"{scenario.seed}/future/{at_ms}/{number}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


def future_of(scenario: Scenario, at_ms: int, seed: int) -> Scenario:
    """The scenario with another future from `at_ms` (inclusive) on.

    Producers send what they meant to send, at other times, and each fault comes at another time and
    to another replica. Latencies and timeouts are left to a `Fork`.
    """
    if at_ms >= scenario.duration_ms:
        return scenario
    names = [replica.name for replica in scenario.replicas]
    past = [fault for fault in scenario.faults if fault.at_ms < at_ms]
    later = []
    for index, fault in enumerate(scenario.faults):
        if fault.at_ms >= at_ms:
            draws = Draws(seed, f"faults/{index}")
            moment = at_ms + draws.below(scenario.duration_ms - at_ms)
            target = draws.choice(names)
            keeps = fault.target in _BY_ROLE or fault.joins or bool(fault.peers)
            target = fault.target if keeps else target
            later.append(replace(fault, at_ms=moment, target=target))
    faults = (*past, *sorted(later, key=lambda fault: fault.at_ms))
    return replace(scenario, workload=_moved(scenario, at_ms, seed), faults=faults)


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
    sends = []
    for send in workload.sends:
        to_ms = moved.get(send.at_ms, send.at_ms)
        stamp = send.timestamp_ms + to_ms - send.at_ms
        sends.append(send._replace(at_ms=to_ms, timestamp_ms=stamp))
    ends = [replace(end, at_ms=moved.get(end.at_ms, end.at_ms)) for end in workload.ends]
    return replace(workload, sends=tuple(sends), ends=tuple(ends))
