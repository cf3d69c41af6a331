"""Random upgrades and mixed versions, laid over a random scenario; the order of phases is a rule.

Phases do not overlap, and after them there is time in which all of it may be taken back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from sim.log.versions import NEW, OLD, Versions
from sim.scenario.generate.mix import Mix
from sim.scenario.generate.streams import Draws, stream
from sim.scenario.model import Change, Scenario, Workload
from sim.scenario.model.rollouts import FlagRollout, Rollout

_STRATEGY_PHASES, _FLAG_PHASES = 3, 5
_LATE_READERS = 0.25
_ALL_OLD = Versions(OLD, OLD, OLD)


def strategy_upgrade(seed: int, mix: Mix, *, replicas: int, producers: int) -> Rollout | None:
    """Perhaps an upgrade to a strategy; a topic's setting reaches the replicas quickly."""
    draws = Draws(seed, "upgrade")
    if not draws.happens(mix.upgrade):
        return None
    phase_ms = mix.duration_ms // (_STRATEGY_PHASES + 1)
    first, second, last = _phases(_STRATEGY_PHASES, phase_ms, draws)
    spread_ms = phase_ms * 3 // 4
    return Rollout(
        (first, second, last),
        _delays(replicas, spread_ms, draws),
        _delays(producers, spread_ms, draws),
        _delays(replicas, spread_ms // 8, draws),
        (last + mix.duration_ms) // 2,
    )


def with_flag_upgrade(seed: int, mix: Mix, scenario: Scenario, *, producers: int) -> Scenario:
    """The scenario, perhaps with an upgrade to the tombstone flag (KIP-87).

    Everybody begins in the old version, and a share of the deletes says something, which a producer
    of the old version leaves out. One consumer in four begins at some moment of the run, perhaps in
    the midst of the upgrade.
    """
    draws = Draws(seed, "flag upgrade")
    if not draws.happens(mix.flag_upgrade):
        return scenario
    plan = _flag_timetable(mix, len(scenario.replicas), producers, len(scenario.consumers), draws)
    readers = Draws(seed, "flag upgrade/readers")
    consumers = []
    for consumer in scenario.consumers:
        late, start_ms = readers.happens(_LATE_READERS), readers.below(mix.duration_ms)
        consumers.append(replace(consumer, format=2, starts_ms=start_ms if late else 0))
    return replace(
        scenario,
        replicas=tuple([replace(one, versions=_ALL_OLD) for one in scenario.replicas]),
        workload=_with_deletes_that_say_something(seed, scenario.workload),
        consumers=tuple(consumers),
        flag_rollout=plan,
    )


def with_mixed_clients(seed: int, mix: Mix, scenario: Scenario, *, producers: int) -> Scenario:
    """The scenario, perhaps with old and new clients at brokers that know the flag (KIP-87).

    Who is old at a lower share is old at a higher one, too.
    """
    if scenario.flag_rollout is not None:
        return scenario
    if not Draws(seed, "mixed clients").happens(mix.mixed_clients):
        return scenario
    writers, readers = (
        Draws(seed, "mixed clients/producers"),
        Draws(seed, "mixed clients/consumers"),
    )
    versions = [
        Change(0, producer=number, versions=None, format=_version(mix.old_producers, writers))
        for number in range(1, producers + 1)
    ]
    consumers = [
        replace(one, format=_version(mix.old_consumers, readers)) for one in scenario.consumers
    ]
    return replace(
        scenario,
        replicas=tuple([replace(one, versions=Versions(NEW)) for one in scenario.replicas]),
        workload=_with_deletes_that_say_something(seed, scenario.workload),
        consumers=tuple(consumers),
        changes=(*versions, *scenario.changes),
    )


def _version(old: float, draws: Draws) -> Literal[2, 3]:
    return 2 if draws.happens(old) else 3


def _with_deletes_that_say_something(seed: int, workload: Workload) -> Workload:
    """A share of the deletes of new producers has a value."""
    deletes = stream(seed, "flag upgrade/deletes")
    share = 0.2 + 0.8 * deletes.random()
    sends = [
        send._replace(value=f"deleted {index}", flag=True)
        if send.value is None and deletes.random() < share
        else send
        for index, send in enumerate(workload.sends)
    ]
    return replace(workload, sends=tuple(sends))


def _flag_timetable(
    mix: Mix, replicas: int, producers: int, consumers: int, draws: Draws
) -> FlagRollout:
    phase_ms = mix.duration_ms // (_FLAG_PHASES + 1)
    first, second, third, fourth, last = _phases(_FLAG_PHASES, phase_ms, draws)
    spread_ms = phase_ms * 3 // 4
    return FlagRollout(
        (first, second, third, fourth, last),
        _delays(replicas, spread_ms, draws),
        _delays(replicas, spread_ms, draws),
        _delays(replicas, spread_ms, draws),
        _delays(producers, spread_ms, draws),
        _delays(consumers, spread_ms, draws),
        phase_ms * _FLAG_PHASES + draws.below(phase_ms / 4),
    )


def _phases(count: int, phase_ms: int, draws: Draws) -> list[int]:
    """When each phase begins: somewhere in the first quarter of its time."""
    return [phase_ms * number + draws.below(phase_ms / 4) for number in range(count)]


def _delays(count: int, longest_ms: int, draws: Draws) -> tuple[int, ...]:
    return tuple([draws.below(longest_ms) for _ in range(count)])
