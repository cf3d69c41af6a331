"""Scenarios as values to shrink: parts that can be left out, which is smaller, and the passes.

Parts that are left hang together in any case: what belongs to something that is gone goes with it,
such as the end of a transaction without sends, a fault of a replica that is not there, or whatever
comes after the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from sim.rules import Settings
from sim.scenario.model import (
    Ask,
    Change,
    Consumer,
    EndTransaction,
    Fault,
    FaultKind,
    Network,
    ReplicaSpec,
    Scenario,
    Send,
    SentHeader,
    Timers,
    Topic,
    Workload,
)
from sim.scenario.model.changes import EVERY_REPLICA
from sim.scenario.model.snapshots import SnapshotSettings
from sim.shrink.engine import Pass, Shown, alike, in_chunks, in_order, put_at, without

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
            stamp = max(0, value.timestamp_ms + at_ms - value.at_ms)
            return Part(value._replace(at_ms=at_ms, timestamp_ms=stamp), self.headers)
        return Part(replace(value, at_ms=at_ms))


def parts_of(scenario: Scenario) -> list[Part]:
    """All parts in order of time, consumers first."""
    headers = dict(scenario.applications.headers)
    sends = [Part(s, headers.get(i, ())) for i, s in enumerate(scenario.workload.sends)]
    lists = (scenario.workload.ends, scenario.asks, scenario.faults, scenario.changes)
    others = [Part(value) for values in lists for value in values]
    timed = sorted(sends + others, key=lambda part: part.at_ms)
    return [Part(consumer) for consumer in scenario.consumers] + timed


def with_parts(scenario: Scenario, parts: Iterable[Part]) -> Scenario:
    """The scenario with these parts and no others, as far as they hang together."""
    kept = sorted(
        (part for part in parts if part.at_ms < scenario.duration_ms), key=lambda part: part.at_ms
    )
    values = [part.value for part in kept]
    sends = [part for part in kept if isinstance(part.value, Send)]
    headers = tuple((index, part.headers) for index, part in enumerate(sends) if part.headers)
    faults = tuple(_faults(scenario, values))
    return replace(
        scenario,
        workload=replace(
            scenario.workload,
            sends=tuple(value for value in values if isinstance(value, Send)),
            ends=tuple(_ends(values)),
        ),
        applications=replace(scenario.applications, headers=headers),
        asks=tuple(value for value in values if isinstance(value, Ask)),
        consumers=tuple(value for value in values if isinstance(value, Consumer)),
        faults=faults,
        changes=tuple(_changes(scenario, values, faults)),
    )


def _ends(values: Sequence[Value]) -> Iterator[EndTransaction]:
    """The ends of transactions in which something is sent, none of it later."""
    sends = [value for value in values if isinstance(value, Send)]
    last = {(send.producer, send.transaction): send.at_ms for send in sends}
    for end in values:
        if isinstance(end, EndTransaction):
            sent_ms = last.get((end.producer, end.transaction))
            if sent_ms is not None and sent_ms <= end.at_ms:
                yield end


def _faults(scenario: Scenario, values: Iterable[Value]) -> Iterator[Fault]:
    """The faults of replicas that are there by then."""
    known = {replica.name for replica in scenario.replicas}
    for fault in values:
        if not isinstance(fault, Fault):
            continue
        joins = fault.kind is FaultKind.ADD_REPLICA
        is_there = fault.target in known or (fault.target in ROLES and not joins)
        if joins == is_there:
            continue
        if joins:
            known.add(fault.target)
        peers = tuple(peer for peer in fault.peers if peer in known)
        if peers or not fault.peers:
            yield replace(fault, peers=peers)


def _changes(
    scenario: Scenario, values: Iterable[Value], faults: Iterable[Fault]
) -> Iterator[Change]:
    """The changes of replicas and consumers that there are."""
    there = {replica.name for replica in scenario.replicas} | {EVERY_REPLICA, None}
    there |= {fault.target for fault in faults if fault.kind is FaultKind.ADD_REPLICA}
    readers = {value.name for value in values if isinstance(value, Consumer)} | {None}
    for change in values:
        if isinstance(change, Change) and change.replica in there and change.consumer in readers:
            yield change


def without_replica(scenario: Scenario, name: str) -> Scenario:
    """The scenario without a replica, and without all that names it."""
    network = scenario.network
    links = tuple(link for link in network.links if name not in (link.source, link.target))
    smaller = replace(
        scenario,
        replicas=tuple(replica for replica in scenario.replicas if replica.name != name),
        network=replace(network, links=links),
    )
    return with_parts(smaller, [p for p in parts_of(scenario) if not _reads(p.value, name)])


def _reads(value: Value, replica: str) -> bool:
    return isinstance(value, Consumer) and value.replica == replica


class Section(NamedTuple):
    """Settings that belong together.

    Attributes:
        given: As the scenario has them.
        usual: As by default.
        put: Gives a scenario with others in their place.
    """

    given: Any
    usual: Any
    put: Callable[[Scenario, Any], Scenario]


def sections_of(scenario: Scenario) -> list[Section]:
    """The settings of a scenario: of network, timers, topic, ..., of each replica and consumer."""
    usual: dict[str, Any] = {
        "network": Network(),
        "timers": Timers(),
        "topic": Topic(),
        "snapshots": SnapshotSettings(),
    }
    own = scenario.workload
    if own.trace is None:
        usual["workload"] = replace(Workload(), sends=own.sends, ends=own.ends)
    found = [Section(getattr(scenario, n), usual[n], partial(_put, n, None)) for n in usual]
    for name, kind in (("replicas", ReplicaSpec), ("consumers", Consumer)):
        for index, each in enumerate(getattr(scenario, name)):
            found.append(Section(each, kind(each.name), partial(_put, name, index)))
    return found


def _put(name: str, index: int | None, scenario: Scenario, section: Any) -> Scenario:
    if index is not None:
        section = put_at(getattr(scenario, name), index, section)
    return replace(scenario, **{name: section})


def size_of(shown: Shown[Scenario]) -> Iterator[Any]:
    """What makes a scenario small: few events, then few parts, then the usual and the round."""
    scenario = shown.value
    parts = parts_of(scenario)
    yield len(shown.events)
    yield len(parts)
    yield len(scenario.replicas)
    yield len(scenario.settings.differing_from(Settings())) + (scenario.preset is not None)
    odd = sum(
        getattr(section.given, field.name) != getattr(section.usual, field.name)
        for section in sections_of(scenario)
        for field in fields(section.given)
    )
    yield odd + (scenario.last_rounds > 0)
    yield sum(map(_written, parts))
    yield scenario.duration_ms
    yield scenario.seed


def _written(part: Part) -> int:
    """How much there is to write of a part: digits that are not zeros at the end of a number."""
    value, numbers, words = part.value, [part.at_ms], 0
    if isinstance(value, Send):
        numbers += [value.timestamp_ms] if value.timestamp_ms != value.at_ms else []
        words = (value.version is not None) + (value.producer != 1) + (value.flag is not None)
    elif isinstance(value, Fault):
        numbers.append(value.duration_ms)
    return words + sum(len(str(number).rstrip("0")) for number in numbers)


# Passes.

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


PASSES: Sequence[Pass[Scenario]] = (
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
