"""Random faults: what breaks, when, for how long, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from random import Random

from sim.scenario.generate.mix import Mix
from sim.scenario.generate.streams import between, log_between
from sim.scenario.model import Fault, FaultKind
from sim.scenario.model.faults import INSTANT_FAULTS

_KINDS = tuple(kind for kind in FaultKind if kind is not FaultKind.REMOVE_REPLICA)
"""What is drawn: a random cluster loses no replica for good."""
_KEEPS_POSITION = frozenset(
    {FaultKind.MIGRATE, FaultKind.UNCLEAN_MIGRATE, FaultKind.ROLL, FaultKind.SLOW_CLEANER}
)
"""After these nobody has anything to catch up with, so no migration is made to follow."""
_HUNT_OUTAGES = (
    FaultKind.CRASH,
    FaultKind.PARTITION,
    FaultKind.ONE_WAY_PARTITION,
    FaultKind.SLOW_FETCHER,
    FaultKind.WIPE,
)
_HUNT_MS = 1_000
"""Shorter idle phases leave no time for a tail to be cleaned and then missed."""
_HUNT_BEFORE_MS = (50, 1_200)
_NEWCOMERS_MAX = 2
_LOST_BATCHES = (1, 6)
_AIMED = 0.5
"""Share of faults placed at an idle phase instead of anywhere: an outage begins shortly before it
and ends in it, a roll or a migration happens in it."""
_BEFORE_IDLE_MS = 900
_AFTERMATH_MS = (10, 1_500)
"""How long after an outage leadership comes to the replica that was away."""


def draw_faults(
    mix: Mix,
    *,
    replicas: Sequence[str],
    idle: Sequence[tuple[int, int]],
    rng: Random,
) -> tuple[Fault, ...]:
    """Faults in order of time. `idle` are the phases without writes, (from, to) in ms."""
    random = rng.random
    count = between(rng, mix.faults)
    weights = _swarm_weights(mix, rng)
    hunts = random() < mix.tail_hunts and mix.faults[1] > 0
    faults = _tail_hunt(mix, replicas, idle, rng) if hunts else []
    if not weights[-1]:
        count = 0
    aftermath = random()
    place = _KINDS.index(FaultKind.MIGRATE)
    migrates = weights[place] > weights[place - 1]
    newcomers = 0
    for _ in range(count):
        point = random() * weights[-1]
        kind = next(kind for kind, end in zip(_KINDS, weights, strict=True) if point < end)
        at_ms, duration_ms = _when(mix, kind, idle, rng)
        if kind is FaultKind.ADD_REPLICA:
            newcomers += 1
            if newcomers > _NEWCOMERS_MAX:
                continue
            target, pick = f"r{len(replicas) + newcomers}", 0
        else:
            target, pick = _target(kind, replicas, rng)
        loses = kind is FaultKind.CRASH and random() < 0.5
        lost = between(rng, _LOST_BATCHES) if loses else 0
        faults.append(Fault(at_ms, kind, target, duration_ms, pick, lost))
        if migrates and kind not in _KEEPS_POSITION and target[0] == "r" and random() < aftermath:
            back_ms = at_ms + duration_ms + log_between(rng, _AFTERMATH_MS)
            if back_ms < mix.duration_ms:
                faults.append(Fault(back_ms, FaultKind.MIGRATE, target))
    faults.sort(key=_by_time)
    return tuple(faults)


def _tail_hunt(
    mix: Mix, replicas: Sequence[str], idle: Sequence[tuple[int, int]], rng: Random
) -> list[Fault]:
    """Outage, roll, return, migration around one idle phase, each at a random time.

    That is the order in which a cleaned tail can be lost (KIP-280, KAFKA-17076). Independent faults
    rarely happen in it. Whether the tail loses, is cleaned in time and is missed stays open.
    """
    random, weights = rng.random, mix.weights
    phases = [phase for phase in idle if phase[1] - phase[0] >= _HUNT_MS]
    outages = list(accumulate([getattr(weights, kind) for kind in _HUNT_OUTAGES]))
    if not phases or not outages[-1] or not weights.roll or not weights.migrate:
        return []
    start, end = phases[int(random() * len(phases))]
    length = end - start
    point = random() * outages[-1]
    kind = next(kind for kind, sum_ in zip(_HUNT_OUTAGES, outages, strict=True) if point < sum_)
    target = replicas[int(random() * len(replicas))]
    away_ms = max(0, start - between(rng, _HUNT_BEFORE_MS))
    roll_ms = start + int(random() * length * 0.3)
    back_ms = start + int((0.2 + random() * 0.6) * length)
    migrate_ms = back_ms + log_between(rng, _AFTERMATH_MS)
    faults = [
        Fault(away_ms, kind, target, back_ms - away_ms),
        Fault(roll_ms, FaultKind.ROLL, "leader"),
        Fault(migrate_ms, FaultKind.MIGRATE, target),
    ]
    return [fault for fault in faults if fault.at_ms < mix.duration_ms]


def _by_time(fault: Fault) -> int:
    return fault.at_ms


def _swarm_weights(mix: Mix, rng: Random) -> list[float]:
    """Cumulative weights of the kinds: many are 0, the others up to 16 times higher or lower."""
    random, given, off = rng.random, mix.weights, mix.kind_off
    weights = []
    for kind in _KINDS:
        present, factor = random() >= off, 16.0 ** (2.0 * random() - 1.0)
        weights.append(getattr(given, kind) * factor if present else 0.0)
    return list(accumulate(weights))


def _when(
    mix: Mix, kind: FaultKind, idle: Sequence[tuple[int, int]], rng: Random
) -> tuple[int, int]:
    """Start and duration in ms."""
    random = rng.random
    moment = kind in INSTANT_FAULTS
    if idle and random() < _AIMED:
        start, end = idle[int(random() * len(idle))]
        inside = start + int(random() * (end - start))
        if moment:
            return min(inside, mix.duration_ms - 1), 0
        at_ms = max(0, start - int(random() * _BEFORE_IDLE_MS))
        return at_ms, max(1, inside - at_ms)
    at_ms = int(random() * mix.duration_ms)
    return at_ms, 0 if moment else log_between(rng, mix.outage_ms)


def _target(kind: FaultKind, replicas: Sequence[str], rng: Random) -> tuple[str, int]:
    """A replica by name, or by its role at the time, and from which follower on to look."""
    role = rng.random()
    pick = int(rng.random() * len(replicas))
    if kind is FaultKind.WIPE or role >= 0.45:
        return replicas[pick], 0
    if role < 0.3:
        return "leader", pick
    return "follower", pick
