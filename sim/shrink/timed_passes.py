"""Ways to make a scenario smaller: less of it, its settings the usual ones, its times round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from sim.rules import Settings
from sim.scenario.model import (
    Consumer,
    Fault,
    Network,
    ReplicaSpec,
    Scenario,
    Send,
    Timers,
    Topic,
    Workload,
)
from sim.scenario.model.snapshots import SnapshotSettings
from sim.shrink.ddmin import Pass, Position, Proposal, chunks, without
from sim.shrink.timed_parts import Part, parts_of, with_parts, without_replica

ONE_BY_ONE_UP_TO = 40
"""Parts; the times of more of them are made round all at once only."""
_STEPS_MS = (1000, 100, 10)


class Candidate(NamedTuple):
    """A scenario, and what its run came to.

    Attributes:
        scenario: The scenario.
        at_ms: When it breaks the law; -1 = it was not run.
        events: How many events it takes to there; -1 = it was not run.
        key: The key that the violation is about, if it is about one.
    """

    scenario: Scenario
    at_ms: int = -1
    events: int = -1
    key: str | None = None


_Smaller: TypeAlias = Callable[[Candidate], Iterable[Scenario]]


def _counted(smaller: _Smaller) -> Pass[Candidate]:
    """A pass that proposes some scenarios, counted through: the position is the number of one."""

    def run(best: Candidate, start: Position) -> Iterator[Proposal[Candidate]]:
        since = start[0] if start else 0
        for number, scenario in enumerate(smaller(best)):
            if number >= since and scenario != best.scenario:
                yield Proposal((number,), Candidate(scenario))

    return run


def _shorter(best: Candidate) -> Iterator[Scenario]:
    """The run ends where the law is broken, or long before."""
    scenario = best.scenario
    whole = parts_of(scenario)
    last = max((part.at_ms for part in whole), default=0) + 1
    for duration_ms in (best.at_ms + 1, last, scenario.duration_ms // 2):
        if 0 < duration_ms < scenario.duration_ms:
            yield with_parts(replace(scenario, duration_ms=duration_ms), whole)


def _kinds(best: Candidate) -> Iterator[Scenario]:
    """Without what has something in common: of other keys first, then of a kind, of one writer."""
    scenario, whole = best.scenario, parts_of(best.scenario)
    if best.key is not None:
        own = [p for p in whole if not isinstance(p.value, Send) or p.value.key == best.key]
        yield with_parts(_eager(scenario), own)
        yield with_parts(scenario, own)
    names = dict.fromkeys(name for part in whole for name in _names(part))
    sizes = {name: sum(name in _names(part) for part in whole) for name in names}
    for name in sorted(names, key=lambda name: -sizes[name]):
        yield with_parts(scenario, [part for part in whole if name not in _names(part)])


def _names(part: Part) -> list[tuple[str, Any]]:
    """What a part has in common with others."""
    value = part.value
    found: list[tuple[str, Any]] = [("kind", type(value).__name__)]
    if isinstance(value, Send):
        found += [("key", value.key), ("producer", value.producer)]
        found += [("transaction", (value.producer, value.transaction))] if value.transaction else []
    elif isinstance(value, Fault):
        found += [("fault", value.kind), ("target", value.target)]
    return found


def _drop(best: Candidate, start: Position) -> Iterator[Proposal[Candidate]]:
    whole = parts_of(best.scenario)
    for position, part in chunks(len(whole), start):
        yield Proposal(position, Candidate(with_parts(best.scenario, without(whole, part))))


def _eager(scenario: Scenario) -> Scenario:
    """The scenario with whatever is written cleaned as soon as may be."""
    topic = replace(scenario.topic, segment_bytes=1, min_cleanable_dirty_ratio=0.0)
    return replace(scenario, topic=topic)


def _drop_eager(best: Candidate, start: Position) -> Iterator[Proposal[Candidate]]:
    """Parts go that were there only to fill a segment: every batch has one of its own."""
    whole = parts_of(best.scenario)
    eager = _eager(best.scenario)
    for position, part in chunks(len(whole), start):
        yield Proposal(position, Candidate(with_parts(eager, without(whole, part))))


def _fewer_replicas(best: Candidate) -> Iterator[Scenario]:
    scenario = best.scenario
    for replica in reversed(scenario.replicas):
        if len(scenario.replicas) > 1:
            yield without_replica(scenario, replica.name)


def _usual_settings(best: Candidate) -> Iterator[Scenario]:
    """Whole sections as by default, then their fields one by one."""
    scenario = best.scenario
    usual: dict[str, Any] = {
        "network": Network((1, 1)),
        "timers": Timers(),
        "topic": Topic(),
        "snapshots": SnapshotSettings(),
    }
    if scenario.workload.trace is None:
        own = scenario.workload
        usual["workload"] = replace(Workload(), sends=own.sends, ends=own.ends)
    yield replace(scenario, **usual)
    for name, section in usual.items():
        yield replace(scenario, **{name: section})
        given = getattr(scenario, name)
        for field in fields(section):
            changed = replace(given, **{field.name: getattr(section, field.name)})
            yield replace(scenario, **{name: changed})
    yield replace(scenario, last_rounds=0)
    yield replace(scenario, seed=0)


def _usual_replicas(best: Candidate) -> Iterator[Scenario]:
    """Replicas with the right time and a usual cleaner, or none."""
    scenario = best.scenario
    for wanted in (None, ReplicaSpec("").cleaner_backoff_ms):
        for index, spec in enumerate(scenario.replicas):
            usual = replace(spec, cleaner_backoff_ms=wanted)
            yield _with_replica(scenario, index, usual)
            yield _with_replica(scenario, index, replace(usual, clock_skew_ms=0))
    for index, spec in enumerate(scenario.replicas):
        yield _with_replica(scenario, index, replace(spec, clock_skew_ms=0))


def _with_replica(scenario: Scenario, index: int, spec: ReplicaSpec) -> Scenario:
    replicas = (*scenario.replicas[:index], spec, *scenario.replicas[index + 1 :])
    return replace(scenario, replicas=replicas)


def _usual_rules(best: Candidate, start: Position) -> Iterator[Proposal[Candidate]]:
    """Rules as by default, in chunks; the preset that named them goes with the first one."""
    scenario = best.scenario
    odd = list(scenario.rules.differing_from(Settings().rules).items())
    for position, part in chunks(len(odd), start):
        rules = Settings().rules.with_values(dict(without(odd, part)))
        smaller = replace(scenario, rules=rules, preset=None)
        yield Proposal(position, Candidate(smaller))


def _usual_consumers(best: Candidate) -> Iterator[Scenario]:
    consumers = best.scenario.consumers
    for index, consumer in enumerate(consumers):
        usual = Consumer(consumer.name)
        for each in (usual, *(replace(usual, **{name: value}) for name, value in _odd(consumer))):
            yield replace(
                best.scenario, consumers=(*consumers[:index], each, *consumers[index + 1 :])
            )


def _odd(consumer: Consumer) -> list[tuple[str, Any]]:
    usual = Consumer(consumer.name)
    return [
        (field.name, getattr(consumer, field.name))
        for field in fields(consumer)
        if getattr(consumer, field.name) != getattr(usual, field.name)
    ]


def _plain_sends(best: Candidate) -> Iterator[Scenario]:
    """Sends of one producer, at their own time, without versions and marks."""
    whole = parts_of(best.scenario)
    for change in (_one_producer, _own_time, _no_version, _no_flag):
        yield with_parts(best.scenario, [change(part) for part in whole])
        if len(whole) <= ONE_BY_ONE_UP_TO:
            for index, part in enumerate(whole):
                changed = [*whole[:index], change(part), *whole[index + 1 :]]
                yield with_parts(best.scenario, changed)


def _one_producer(part: Part) -> Part:
    value = part.value
    if not isinstance(value, Send) or value.transaction:
        return part
    return Part(value._replace(producer=1), part.headers)


def _own_time(part: Part) -> Part:
    value = part.value
    if not isinstance(value, Send):
        return part
    return Part(value._replace(timestamp_ms=value.at_ms), part.headers)


def _no_version(part: Part) -> Part:
    value = part.value
    return Part(value._replace(version=None)) if isinstance(value, Send) else part


def _no_flag(part: Part) -> Part:
    value = part.value
    return Part(value._replace(flag=None), part.headers) if isinstance(value, Send) else part


def _earlier(best: Candidate) -> Iterator[Scenario]:
    """Pauses shorter: what comes after one moves nearer to what comes before."""
    scenario, whole = best.scenario, parts_of(best.scenario)
    if len(whole) > ONE_BY_ONE_UP_TO:
        return
    times = sorted({part.at_ms for part in whole} | {0, scenario.duration_ms})
    for before, after in pairwise(times):
        for left_ms in (1, (after - before) // 2):
            gain = after - before - left_ms
            if gain > 0:
                moved = [p if p.at_ms < after else p.moved(p.at_ms - gain) for p in whole]
                shorter = replace(scenario, duration_ms=scenario.duration_ms - gain)
                yield with_parts(shorter, moved)


def _round_times(best: Candidate) -> Iterator[Scenario]:
    """All times, and then each, as multiples of 1000, 100 or 10 ms."""
    scenario, whole = best.scenario, parts_of(best.scenario)
    for step_ms in _STEPS_MS:
        yield with_parts(
            replace(scenario, duration_ms=_rounded(scenario.duration_ms, step_ms) or step_ms),
            [_round(part, step_ms) for part in whole],
        )
    if len(whole) <= ONE_BY_ONE_UP_TO:
        for index, part in enumerate(whole):
            for step_ms in _STEPS_MS:
                changed = [*whole[:index], _round(part, step_ms), *whole[index + 1 :]]
                yield with_parts(scenario, changed)


def _round(part: Part, step_ms: int) -> Part:
    moved = part.moved(_rounded(part.at_ms, step_ms))
    value = moved.value
    if isinstance(value, Fault) and value.duration_ms:
        duration_ms = _rounded(value.duration_ms, step_ms) or step_ms
        return Part(replace(value, duration_ms=duration_ms))
    return moved


def _rounded(time_ms: int, step_ms: int) -> int:
    return (time_ms + step_ms // 2) // step_ms * step_ms


PASSES: tuple[Pass[Candidate], ...] = (
    _counted(_shorter),
    _drop_eager,
    _counted(_kinds),
    _drop,
    _counted(_fewer_replicas),
    _counted(_usual_settings),
    _usual_rules,
    _counted(_usual_replicas),
    _counted(_usual_consumers),
    _counted(_shorter),
    _drop,
    _counted(_earlier),
    _counted(_plain_sends),
    _counted(_round_times),
)
"""A round: what takes the most away comes first."""


def size_of(candidate: Candidate) -> tuple[Any, ...]:
    """What makes a candidate small: few events, then few parts, then the usual and the round."""
    scenario = candidate.scenario
    parts = parts_of(scenario)
    return (
        candidate.events,
        len(parts),
        len(scenario.replicas),
        len(scenario.settings.differing_from(Settings())) + (scenario.preset is not None),
        _odd_settings(scenario),
        sum(_written(part) for part in parts),
        scenario.duration_ms,
        scenario.seed,
    )


def _odd_settings(scenario: Scenario) -> int:
    """How many settings are not the default."""
    pairs: list[tuple[Any, Any]] = [
        (scenario.network, Network()),
        (scenario.timers, Timers()),
        (scenario.topic, Topic()),
        (scenario.snapshots, SnapshotSettings()),
        (replace(scenario.workload, sends=(), ends=()), Workload()),
    ]
    pairs += [(replica, ReplicaSpec(replica.name)) for replica in scenario.replicas]
    pairs += [(consumer, Consumer(consumer.name)) for consumer in scenario.consumers]
    odd: int = sum(
        getattr(one, field.name) != getattr(usual, field.name)
        for one, usual in pairs
        for field in fields(one)
    )
    return odd + (scenario.last_rounds > 0)


def _written(part: Part) -> int:
    """How much there is to write of a part: digits that are not zeros at the end of a number."""
    value = part.value
    numbers = [part.at_ms]
    words = 0
    if isinstance(value, Send):
        numbers += [value.timestamp_ms] if value.timestamp_ms != value.at_ms else []
        words = (value.version is not None) + (value.producer != 1) + (value.flag is not None)
    elif isinstance(value, Fault):
        numbers.append(value.duration_ms)
    return words + sum(len(str(number).rstrip("0")) for number in numbers)
