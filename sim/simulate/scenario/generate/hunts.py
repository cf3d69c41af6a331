"""The faults that endanger the tail of a log, in the order in which they do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from sim.simulate.faults import Fault
from sim.simulate.faults.crash import Crash
from sim.simulate.faults.migrate import Migrate
from sim.simulate.faults.one_way_partition import OneWayPartition
from sim.simulate.faults.partition import Partition
from sim.simulate.faults.roll import Roll
from sim.simulate.faults.slow_fetcher import SlowFetcher
from sim.simulate.faults.wipe import Wipe
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws, between, log_between

_OUTAGES: dict[type[Fault], int] = {
    Crash: 6,
    Partition: 4,
    OneWayPartition: 2,
    SlowFetcher: 4,
    Wipe: 1,
}
"""What takes the replica away, and how often compared with the others.

These are no weights of a mix, so that another weight leaves the hunts of other kinds as they are.
"""
_ENDS = tuple(accumulate(_OUTAGES.values()))
_IDLE_MS = 1_000
"""Shorter idle phases leave no time for a tail to be cleaned and then missed."""
_BEFORE_MS = (50, 1_200)
_MIGRATION_MS = (10, 1_500)
"""How long after the return the migration comes."""


def tail_hunt(
    seed: int, mix: Mix, replicas: Sequence[str], idle: Sequence[tuple[int, int]]
) -> list[Fault]:
    """Perhaps outage, roll, return, migration around one idle phase, each at a random time.

    That is the order in which a cleaned tail can be lost (KIP-280, KAFKA-17076). Independent faults
    rarely happen in it. Whether the tail loses, is cleaned in time and is missed stays open. There
    is none of an outage whose weight is 0, and none at all in runs without faults.
    """
    draws, weights = Draws(seed, "hunt"), mix.weights
    phases = [phase for phase in idle if phase[1] - phase[0] >= _IDLE_MS]
    hunts = draws.happens(mix.tail_hunts) and mix.faults[1] > 0
    if not (hunts and phases and weights.of(Roll) and weights.of(Migrate)):
        return []
    point = draws.random() * _ENDS[-1]
    kind = next(kind for kind, end in zip(_OUTAGES, _ENDS, strict=True) if point < end)
    if not weights.of(kind):
        return []
    start, end = draws.choice(phases)
    length = end - start
    target = draws.choice(replicas)
    away_ms = max(0, start - between(draws, _BEFORE_MS))
    roll_ms = start + int(draws.random() * length * 0.3)
    back_ms = start + int((0.2 + draws.random() * 0.6) * length)
    migrate_ms = back_ms + log_between(draws, _MIGRATION_MS)
    faults: list[Fault] = [
        kind(away_ms, target, back_ms - away_ms),
        Roll(roll_ms, "leader"),
        Migrate(migrate_ms, target),
    ]
    return [fault for fault in faults if fault.at_ms < mix.duration_ms]
