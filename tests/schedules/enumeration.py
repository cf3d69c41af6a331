"""Every schedule of a tiny world, in the plainest way: what a search has to agree with.

Nothing of `sim.study.explore` is used. Each schedule is a list of steps of a story, carried out
from its beginning by the story engine; two states are one if all replicas, frozen, and what else
there is are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any, NamedTuple

from msgspec.structs import astuple

from sim.protocol.events import Appended, IsrChanged, LeaderElected
from sim.protocol.log import Batch, Log, Record
from sim.protocol.log.segment import OffsetIndex
from sim.protocol.replication import Replica
from sim.protocol.replication.replica import freeze
from sim.protocol.rules import Rules
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story
from sim.simulate.story.op import Step

Steps = tuple[Step, ...]


class Tiny(NamedTuple):
    """A world: who is in sync at the start, and how often each op that is counted may happen."""

    replicas: tuple[str, ...]
    isr: tuple[str, ...]
    keys: tuple[str, ...]
    budget: Mapping[str, int]


class Enumerated(NamedTuple):
    """States and changes of each depth, and states of which none is another one renamed.

    The last counts a state where it or a renaming of it comes first: where replicas are not all in
    sync at the start, the two may be of different depths.
    """

    states: list[int]
    transitions: list[int]
    orbits: list[int]


def enumerated(tiny: Tiny, rules: Rules) -> Enumerated:
    """Follow every schedule to its end."""
    found = Enumerated([], [], [])
    start: tuple[Steps, dict[str, int]] = ((), dict.fromkeys(tiny.budget, 0))
    level, seen = {_key(_run((), tiny, rules), start[1]): start}, set[Any]()
    orbits = set[frozenset[Any]]()
    while level:
        seen |= level.keys()
        found.states.append(len(level))
        known = len(orbits)
        orbits |= {_orbit(steps, used, tiny, rules) for steps, used in level.values()}
        found.orbits.append(len(orbits) - known)
        following: dict[Any, tuple[Steps, dict[str, int]]] = {}
        changes = 0
        for before, (steps, used) in level.items():
            for step in _possible(_run(steps, tiny, rules), used, tiny, rules):
                counted = step.op if step.op in used else None
                if counted and used[counted] == tiny.budget[counted]:
                    continue
                driver = _run((*steps, step), tiny, rules)
                if _key(driver, used) == before:
                    continue
                changes += 1
                spent = {op: count + (op == counted) for op, count in used.items()}
                after = _key(driver, spent)
                if after not in seen:
                    following.setdefault(after, ((*steps, step), spent))
        found.transitions.append(changes)
        level = following
    return found


def _possible(
    driver: StoryDriver, used: Mapping[str, int], tiny: Tiny, rules: Rules
) -> Iterator[Step]:
    """The steps that may come next; most of them change nothing in most states."""
    acting, allowed = driver.acting_leader(), tiny.budget
    for one in tiny.replicas:
        replica, others = driver.replicas[one], [name for name in tiny.replicas if name != one]
        yield _step("elect_from_isr", leader=one, epoch=used["elect_from_isr"] + 1)
        if acting is replica:
            for key in tiny.keys:
                yield _step("append", leader=one, key=key, label="v")
            for other in others:
                yield _step("expand_isr", replica=other)
        for other in others:
            if driver.replicas[other].leadership is not None:
                yield _step("fetch", follower=one, leader=other)
                if rules.replication.truncation == "high_watermark":
                    yield _step("follow", follower=one, leader=other)
        if "compact" in allowed:
            yield _step("compact", replica=one)
        if "snapshot" in allowed:
            yield from _of_snapshots(replica, [driver.replicas[name] for name in others])
        if "crash" in allowed:
            yield _step("crash" if replica.up else "restart", replica=one)
        left = tuple(name for name in driver.isr if name != one)
        if "isr" in allowed and one in driver.isr and one != driver.leader and left:
            yield _step("isr", isr=left)


def _of_snapshots(replica: Replica, others: list[Replica]) -> Iterator[Step]:
    """To take one, to delete the log below the newest one, and to fetch one."""
    if replica.up:
        yield _step("snapshot", replica=replica.name, end=replica.log.high_watermark)
    if replica.up and replica.snapshots:
        newest = max(replica.snapshots)
        yield _step("delete_prefix", replica=replica.name, to=newest.end_offset)
    for other in others:
        if replica.up and other.up and other.leadership is not None:
            yield _step("fetch_snapshot", follower=replica.name, leader=other.name)


def _step(op: str, **fields: Any) -> Step:
    return Step(0, op, fields)


def _run(steps: Steps, tiny: Tiny, rules: Rules, isr: tuple[str, ...] | None = None) -> StoryDriver:
    names = tiny.replicas
    story = Story("", rules=rules, replicas=names, isr=isr or tiny.isr, voters=names)
    driver = StoryDriver(story, invariants=())
    for step in steps:
        driver.take(step)
    return driver


def _orbit(steps: Steps, used: Mapping[str, int], tiny: Tiny, rules: Rules) -> frozenset[Any]:
    """A state under all names that its replicas could have: the schedule is run for each."""
    keys = []
    for names in permutations(tiny.replicas):
        called = dict(zip(tiny.replicas, names, strict=True))
        isr = tuple(sorted(called[one] for one in tiny.isr))
        keys.append(_key(_run(tuple(_renamed(s, called) for s in steps), tiny, rules, isr), used))
    return frozenset(keys)


def _renamed(step: Step, called: Mapping[str, str]) -> Step:
    fields = dict(step.fields)
    for field in {"leader", "follower", "replica"} & fields.keys():
        fields[field] = called[fields[field]]
    if "isr" in fields:
        fields["isr"] = tuple(sorted(called[one] for one in fields["isr"]))
    return Step(0, step.op, fields)


def _key(driver: StoryDriver, used: Mapping[str, int]) -> Any:
    """All that a state is; records are named by what they are, not by when they came."""
    called, told = {0: None}, driver.story.isr
    for _, event in driver.events:
        if isinstance(event, Appended):
            for one in event.batch.records:
                what = (event.batch.epoch, *astuple(one)[:-1])
                called.setdefault(one.uid, what)
        elif isinstance(event, LeaderElected | IsrChanged):
            told = event.isr if event.replica == driver.leader else told
    history = driver.checker.history
    return (
        tuple(_named(_of(driver, name), called.__getitem__) for name in sorted(driver.replicas)),
        tuple(
            tuple(called[uid] if uid > 0 else uid for uid in history.replicas[name].lineage)
            for name in sorted(driver.replicas)
        ),
        driver.leader,
        tuple(sorted(driver.isr)),
        tuple(sorted(told)),
        driver.now_ms,
        tuple(called[uid] if uid > 0 else uid for uid in history.committed),
        tuple(sorted(history.committed_twice)),
        tuple(used.items()),
    )


def _of(driver: StoryDriver, name: str) -> Any:
    """A replica as a value, without what no step here reads; it is not used again."""
    replica, empty = driver.replicas[name], Log()
    log = replica.log
    log.acknowledged_end = log.flushed_end = 0
    log.snapshots, log.producers, replica.last_cleaning = empty.snapshots, empty.producers, None
    replica.cleanly_compacted_offset = replica.removed_tombstone_end = (
        replica.first_dirty_offset
    ) = 0
    for segment in log.segments:
        segment.index = OffsetIndex()
    if replica.leadership is not None:
        replica.leadership.isr = tuple(sorted(replica.leadership.isr))
    return freeze(replica)


def _named(value: Any, called: Callable[[int], Any]) -> Any:
    if isinstance(value, Record):
        return (*astuple(value)[:-1], called(value.uid))
    if isinstance(value, Batch):
        return tuple(_named(one, called) for one in astuple(value))
    return tuple(_named(one, called) for one in value) if isinstance(value, tuple) else value
