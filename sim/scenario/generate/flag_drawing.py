"""Random upgrades to KIP-87: laid over a random scenario, whose environment stays as it is."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from sim.log.versions import OLD, Versions
from sim.scenario.generate.mix import Mix
from sim.scenario.model import Scenario
from sim.scenario.model.rollouts import FlagRollout

_PHASES = 5
_LATE_READERS = 0.25
_ALL_OLD = Versions(OLD, OLD, OLD)


def with_flag_upgrade(mix: Mix, scenario: Scenario, producers: int, rng: Random) -> Scenario:
    """The scenario, perhaps with an upgrade to the tombstone flag.

    Everybody begins in the old version, and a share of the deletes says something, which a producer
    of the old version leaves out. One consumer in four begins at some moment of the run, perhaps in
    the midst of the upgrade. Moments and values depend on no rule, and no other draw shifts.
    """
    if mix.flag_upgrade <= 0 or rng.random() >= mix.flag_upgrade:
        return scenario
    counts = (len(scenario.replicas), producers, len(scenario.consumers))
    plan = _timetable(mix, *counts, rng)
    telling = 0.2 + 0.8 * rng.random()
    sends = [
        send._replace(value=f"deleted {index}", flag=True)
        if send.value is None and rng.random() < telling
        else send
        for index, send in enumerate(scenario.workload.sends)
    ]
    return replace(
        scenario,
        replicas=tuple([replace(one, versions=_ALL_OLD) for one in scenario.replicas]),
        workload=replace(scenario.workload, sends=tuple(sends)),
        consumers=tuple(
            [replace(one, format=2, starts_ms=_start_ms(mix, rng)) for one in scenario.consumers]
        ),
        flag_rollout=plan,
    )


def _start_ms(mix: Mix, rng: Random) -> int:
    return int(rng.random() * mix.duration_ms) if rng.random() < _LATE_READERS else 0


def _timetable(mix: Mix, replicas: int, producers: int, consumers: int, rng: Random) -> FlagRollout:
    """Five phases that do not overlap, and time after them in which all of it may be taken back."""
    phase_ms = mix.duration_ms // (_PHASES + 1)
    first, second, third, fourth, last = (
        phase_ms * number + int(rng.random() * phase_ms / 4) for number in range(_PHASES)
    )

    def delays(count: int) -> tuple[int, ...]:
        return tuple([int(rng.random() * phase_ms * 3 / 4) for _ in range(count)])

    return FlagRollout(
        (first, second, third, fourth, last),
        delays(replicas),
        delays(replicas),
        delays(replicas),
        delays(producers),
        delays(consumers),
        phase_ms * _PHASES + int(rng.random() * phase_ms / 4),
    )
