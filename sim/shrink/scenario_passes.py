"""Passes over scenarios: less of it, its settings the usual ones, its times round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import pairwise
from typing import Any

from sim.rules import Settings
from sim.scenario.model import Fault, Network, ReplicaSpec, Scenario, Send
from sim.shrink.engine import Pass, Shown, alike, in_chunks, in_order, put_at, without
from sim.shrink.scenario_edit import Part, parts_of, sections_of, with_parts, without_replica

ONE_BY_ONE_UP_TO = 40
"""Parts; the times of more of them are made round all at once only."""
_STEPS_MS = (1000, 100, 10)


@in_order
def shorter(shown: Shown[Scenario]) -> Iterator[Scenario]:
    """The run ends where the invariant is violated, or long before."""
    scenario, whole = shown.value, parts_of(shown.value)
    last = max((part.at_ms for part in whole), default=0) + 1
    for duration_ms in (shown.violation.at + 1, last, scenario.duration_ms // 2):
        if 0 < duration_ms < scenario.duration_ms:
            yield with_parts(replace(scenario, duration_ms=duration_ms), whole)


def _eager(scenario: Scenario) -> Scenario:
    """The scenario with whatever is written cleaned as soon as may be."""
    topic = replace(scenario.topic, segment_bytes=1, min_cleanable_dirty_ratio=0.0)
    return replace(scenario, topic=topic)


@in_order
def drop_kinds(shown: Shown[Scenario]) -> Iterator[Scenario]:
    """Without what has something in common: of other keys first, then of a kind, of one writer."""
    scenario, whole, key = shown.value, parts_of(shown.value), shown.violation.key
    if key is not None:
        own = [p for p in whole if not isinstance(p.value, Send) or p.value.key == key]
        yield with_parts(_eager(scenario), own)
        yield with_parts(scenario, own)
    groups = alike([list(_in_common(part)) for part in whole])
    for group in sorted(groups, key=lambda group: -len(group)):
        yield with_parts(scenario, without(whole, *group))


def _in_common(part: Part) -> Iterator[tuple[str, Any]]:
    value = part.value
    yield "kind", type(value)
    if isinstance(value, Send):
        yield "key", value.key
        yield "producer", value.producer
        if value.transaction:
            yield "transaction", (value.producer, value.transaction)
    elif isinstance(value, Fault):
        yield "fault", value.kind
        yield "target", value.target


def _dropping(base: Callable[[Scenario], Scenario]) -> Pass[Scenario]:
    """A pass that leaves out parts of a scenario, or of another form of it."""

    def drop(shown: Shown[Scenario], left_out: range) -> Iterator[Scenario]:
        yield with_parts(base(shown.value), without(parts_of(shown.value), *left_out))

    return in_chunks(lambda scenario: len(parts_of(scenario)), drop)


@in_order
def fewer_replicas(shown: Shown[Scenario]) -> Iterator[Scenario]:
    """A replica goes, and all that names it."""
    replicas = shown.value.replicas
    for replica in reversed(replicas) if len(replicas) > 1 else ():
        yield without_replica(shown.value, replica.name)


@in_order
def usual_settings(shown: Shown[Scenario]) -> Iterator[Scenario]:
    """All settings as by default, then section by section and field by field; a fast network."""
    scenario = shown.value
    sections, fast = sections_of(scenario), Network((1, 1))
    usual = scenario
    for section in sections:
        usual = section.put(usual, section.usual)
    yield replace(usual, network=fast)
    yield replace(scenario, network=fast)
    yield replace(scenario, network=replace(scenario.network, latency_ms=fast.latency_ms))
    for section in sections:
        yield section.put(scenario, section.usual)
        for field in fields(section.given):
            changed = {field.name: getattr(section.usual, field.name)}
            yield section.put(scenario, replace(section.given, **changed))
    yield replace(scenario, last_rounds=0)
    yield replace(scenario, seed=0)


@in_order
def usual_cleaners(shown: Shown[Scenario]) -> Iterator[Scenario]:
    """Replicas that do not clean, or as often as usual, with the right time or their own."""
    replicas = shown.value.replicas
    for backoff_ms in (None, ReplicaSpec("").cleaner_backoff_ms):
        for index, spec in enumerate(replicas):
            usual = replace(spec, cleaner_backoff_ms=backoff_ms)
            for each in (usual, replace(usual, clock_skew_ms=0)):
                yield replace(shown.value, replicas=put_at(replicas, index, each))


def _odd_rules(scenario: Scenario) -> dict[str, Any]:
    return scenario.rules.differing_from(Settings().rules)


def _usual_rules(shown: Shown[Scenario], left_out: range) -> Iterator[Scenario]:
    """Rules as by default; the preset that named them goes with the first one."""
    kept = dict(without(list(_odd_rules(shown.value).items()), *left_out))
    yield replace(shown.value, rules=Settings().rules.with_values(kept), preset=None)


@in_order
def plain_sends(shown: Shown[Scenario]) -> Iterator[Scenario]:
    """Sends of one producer, at their own time, without versions and marks."""
    for field in ("producer", "timestamp_ms", "version", "flag"):
        yield from _changed(shown.value, partial(_plain, field))


def _plain(field: str, part: Part) -> Part:
    """The part with the plain value in a field, if it is a send."""
    send, headers = part
    if not isinstance(send, Send) or (field == "producer" and send.transaction):
        return part
    plain = {"producer": 1, "timestamp_ms": send.at_ms, "version": None, "flag": None}
    changed = send._replace(**{field: plain[field]})  # type: ignore[arg-type]
    return Part(changed, () if field == "version" else headers)


def _changed(scenario: Scenario, change: Callable[[Part], Part]) -> Iterator[Scenario]:
    """The scenario with all parts changed, then with one of them, if they are few."""
    whole = parts_of(scenario)
    yield with_parts(scenario, map(change, whole))
    for index, part in enumerate(whole) if len(whole) <= ONE_BY_ONE_UP_TO else ():
        yield with_parts(scenario, put_at(whole, index, change(part)))


@in_order
def earlier(shown: Shown[Scenario]) -> Iterator[Scenario]:
    """Pauses shorter: what comes after one moves nearer to what comes before."""
    scenario, whole = shown.value, parts_of(shown.value)
    if len(whole) > ONE_BY_ONE_UP_TO:
        return
    times = sorted({part.at_ms for part in whole} | {0, scenario.duration_ms})
    for before, after in pairwise(times):
        for left_ms in (1, (after - before) // 2):
            gain = after - before - left_ms
            if gain > 0:
                moved = [p if p.at_ms < after else p.moved(p.at_ms - gain) for p in whole]
                nearer = replace(scenario, duration_ms=scenario.duration_ms - gain)
                yield with_parts(nearer, moved)


@in_order
def round_times(shown: Shown[Scenario]) -> Iterator[Scenario]:
    """All times, and then each, as multiples of 1000, 100 or 10 ms."""
    scenario = shown.value
    for step_ms in _STEPS_MS:
        duration_ms = _rounded(scenario.duration_ms, step_ms) or step_ms
        longer = replace(scenario, duration_ms=duration_ms)
        yield with_parts(longer, map(partial(_round, step_ms), parts_of(scenario)))
    for step_ms in _STEPS_MS:
        yield from _changed(scenario, partial(_round, step_ms))


def _round(step_ms: int, part: Part) -> Part:
    moved = part.moved(_rounded(part.at_ms, step_ms))
    if isinstance(moved.value, Fault) and moved.value.duration_ms:
        duration_ms = _rounded(moved.value.duration_ms, step_ms) or step_ms
        return Part(replace(moved.value, duration_ms=duration_ms))
    return moved


def _rounded(time_ms: int, step_ms: int) -> int:
    return (time_ms + step_ms // 2) // step_ms * step_ms


SCENARIO_PASSES: Sequence[Pass[Scenario]] = (
    shorter,
    _dropping(_eager),
    drop_kinds,
    _dropping(lambda scenario: scenario),
    fewer_replicas,
    usual_settings,
    in_chunks(lambda scenario: len(_odd_rules(scenario)), _usual_rules),
    usual_cleaners,
    shorter,
    _dropping(lambda scenario: scenario),
    earlier,
    plain_sends,
    round_times,
)
"""A round: what takes the most away comes first."""
