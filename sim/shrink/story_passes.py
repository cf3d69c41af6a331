"""Passes over stories: steps go, one step does what several did, what steps say gets plainer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from typing import Any

from sim.shrink.engine import Pass, Position, Shown, alike, in_chunks, in_order, put_at, without
from sim.shrink.story_edit import (
    KINDS,
    TOLD_FIRST,
    names_of,
    plain_names,
    renamed,
    step_of,
    with_field,
    with_steps,
    without_steps,
)
from sim.story.driver import StoryDriver
from sim.story.format import STORY_DEFAULTS, Story
from sim.story.ops import OPS
from sim.story.steps import Step

PAIRS_UP_TO, NEIGHBOURS = 60, 8
"""Steps; in longer stories pairs are looked for among so near neighbours only."""
MERGES_UP_TO, NEAREST = 40, 6
"""The same of steps that are merged."""
STRETCH = 12
"""Most steps of a stretch."""

UNTOLD = ("advance", "isr", "flush", "add_replica")
"""Ops that matter without an event."""
ROUND = (0, 1, 2, 5, 10, 100, 101, 1000)
"""Numbers that are plainer than what lies between them."""
NUMBERED = ("epoch", "epochs", "pid")
"""Numbers that are names: they change everywhere at once, and epochs keep their order."""

# Steps go.


@in_order
def drop_silent(shown: Shown[Story]) -> Iterator[Story]:
    """All at once, the steps of which nothing was told."""
    told = {step for step, _ in shown.events}
    steps = shown.value.steps
    yield with_steps(shown.value, [s for s in steps if s.number in told or s.op in UNTOLD])


@in_order
def drop_replicas(shown: Shown[Story]) -> Iterator[Story]:
    """A replica goes with all steps that name it."""
    story = shown.value
    for name in reversed(story.replicas) if len(story.replicas) > 1 else ():
        others = tuple(other for other in story.replicas if other != name)
        yield with_steps(story, story.steps, replicas=others)


def _dropping(choices: Callable[[Story], Sequence[Collection[int]]]) -> Pass[Story]:
    """A pass that leaves out sets of steps, given by their indexes."""

    def run(shown: Shown[Story], start: Position) -> Iterator[tuple[Position, Story]]:
        since = start[0] if start else 0
        for number, left_out in enumerate(choices(shown.value)):
            if number >= since:
                for story in without_steps(shown, left_out):
                    yield (number,), story

    return run


def _groups(story: Story) -> list[frozenset[int]]:
    """Steps with something in common: what they name, what they do, the term of a leader."""
    groups = alike([list(_in_common(step)) for step in story.steps])
    for first, last in pairwise([*_elections(story), len(story.steps)]):
        groups += [frozenset(range(first, last)), frozenset(range(first + 1, last + 1))]
    whole = frozenset(range(len(story.steps)))
    return sorted(dict.fromkeys(group & whole for group in groups), key=lambda group: -len(group))


def _in_common(step: Step) -> Iterator[tuple[str, Any]]:
    yield "op", step.op
    for field, value in step.fields.items():
        kind = KINDS[step.op][field]
        if kind is not None and kind not in ("replicas", "label"):
            yield kind, value
            yield step.op, value


def _elections(story: Story) -> list[int]:
    return [index for index, step in enumerate(story.steps) if step.op.startswith("elect")]


def _stretches(story: Story) -> list[range]:
    """Steps in a row, wherever they begin: chunks have fixed places, and may cut through them."""
    count = len(story.steps)
    return [
        range(end - size, end)
        for size in range(min(STRETCH, count), 2, -1)
        for end in range(count, size - 1, -1)
    ]


def _pairs(story: Story) -> list[tuple[int, int]]:
    """Two steps that need not stand side by side, such as a crash and its restart."""
    count = len(story.steps)
    far = count if count <= PAIRS_UP_TO else NEIGHBOURS
    return [(one, other) for one, other in combinations(range(count), 2) if other - one <= far]


@in_order
def drop_and_swap(shown: Shown[Story]) -> Iterator[Story]:
    """A step goes, and from there on two replicas, or two keys, are each other.

    So an election goes whose winner did no more than the leader before could have done, and with
    it, if need be, another step, such as the one that brought the winner up to date.
    """
    story, names = shown.value, names_of(shown.value)
    for index in range(len(story.steps) - 1, -1, -1):
        shorter = with_steps(story, without(story.steps, index))
        for kind in ("replica", "key") if story.steps[index].op == "append" else ("replica",):
            for one, other in combinations(names[kind], 2):
                yield renamed(shorter, kind, {one: other, other: one}, since=index)
    elections = _elections(story)
    for index in elections if len(story.steps) <= PAIRS_UP_TO else ():
        for one, other in combinations(names["replica"], 2):
            swapped = renamed(story, "replica", {one: other, other: one}, since=index).steps
            for gone in range(len(story.steps)):
                if gone != index and len(swapped) == len(story.steps):
                    kept = without(swapped, gone, index)
                    yield with_steps(story, kept)
                    yield with_steps(story, kept, isr=(story.steps[elections[0]]["leader"],))


# One step, or the state at the start, does what several steps did.


@in_order
def begin_with(shown: Shown[Story]) -> Iterator[Story]:
    """What a step sets up is there from the start: the in-sync set, a replica.

    A leader that is alone in the in-sync set needs no step to commit.
    """
    story = shown.value
    leader = next((step["leader"] for step in story.steps if step.op.startswith("elect")), None)
    for index, step in enumerate(story.steps):
        rest = without(story.steps, index)
        if leader is not None and story.isr != (leader,):
            yield with_steps(story, rest, isr=(leader,))
        if step.op == "isr":
            isr = tuple(name for name in story.replicas if name in step["isr"])
            yield with_steps(story, rest, isr=isr or story.isr)
        elif step.op == "add_replica":
            replicas = (*story.replicas, step["replica"])
            yield with_steps(story, rest, replicas=replicas, isr=replicas, voters=replicas)
            yield with_steps(story, rest, replicas=replicas)


@in_order
def one_for_two(shown: Shown[Story]) -> Iterator[Story]:
    """One replica does what two did, and no longer fetches from itself.

    What a follower cleans ends at its own high watermark, so a second try keeps those bounds.
    """
    story = shown.value
    bounded = _bounded(story)
    for one, other in permutations(story.replicas, 2):
        rest = tuple(name for name in story.replicas if name != other)
        for steps in (story.steps, bounded):
            put = renamed(with_steps(story, steps), "replica", {other: one}).steps
            apart = [step for step in put if step.get("follower") != step.get("leader", "")]
            yield with_steps(story, apart, replicas=rest)


def _bounded(story: Story) -> list[Step]:
    """The steps, and each pass that goes as far as it can says how far that is."""
    driver = StoryDriver(story, invariants=())
    bounded: list[Step] = []
    for step in story.steps:
        fields = dict(step.fields)
        if step.op == "compact":
            fields.setdefault("upto", driver.replicas[step["replica"]].log.high_watermark)
        bounded.append(Step(step.number, step.op, fields))
        driver.take(step)
    return bounded


@in_order
def merge(shown: Shown[Story]) -> Iterator[Story]:
    """One step does more, such as `sync` for `fetch` or `quiesce` for `sync`, and another goes."""
    story, steps, count = shown.value, shown.value.steps, len(shown.value.steps)
    far = NEAREST if count > MERGES_UP_TO else count
    for index, step in enumerate(steps):
        for wider in _wider(step):
            for other in range(max(0, index - far), min(count, index + far + 1)):
                if other != index:
                    yield with_steps(story, without(put_at(steps, index, wider), other))
    pauses = [index for index, step in enumerate(steps) if step.op == "advance"]
    for one, other in combinations(pauses, 2):
        both = step_of("advance", {"ms": steps[one]["ms"] + steps[other]["ms"]})
        yield with_steps(story, without(put_at(steps, other, both), one))
        yield with_steps(story, without(put_at(steps, one, both), other))


def _wider(step: Step) -> Iterator[Step]:
    """Steps that do at least as much as this one, or nearly the same in another way."""
    pair = {name: step.fields[name] for name in ("follower", "leader") if name in step.fields}
    fetches = "follower" in OPS[step.op].required and step.op != "push"
    for op in ("sync", "fetch") if fetches else ():
        if step.op != op:
            yield step_of(op, pair)
    if fetches or step.op == "check":
        yield step_of("quiesce", {})


# What the steps say gets plainer.


@in_order
def plain_rules(shown: Shown[Story]) -> Iterator[Story]:
    """Rules back to their defaults: all at once, then one by one."""
    story = shown.value
    yield replace(story, rules=STORY_DEFAULTS, preset=None)
    for name in story.rules.differing_from(STORY_DEFAULTS):
        default = {name: STORY_DEFAULTS.as_dict()[name]}
        yield replace(story, rules=story.rules.with_values(default), preset=None)


@in_order
def plain_start(shown: Shown[Story]) -> Iterator[Story]:
    """Everybody is in the in-sync set at first, and everybody votes."""
    story, everybody = shown.value, shown.value.replicas
    yield with_steps(story, story.steps, isr=everybody, voters=everybody)
    yield with_steps(story, story.steps, isr=everybody)
    yield with_steps(story, story.steps, voters=everybody)


@in_order
def fewer_names(shown: Shown[Story]) -> Iterator[Story]:
    """Two keys become one; so do two consumers and two producers."""
    for kind, names in names_of(shown.value).items():
        if kind in ("key", "consumer", "pid"):
            for one, other in combinations(names, 2):
                yield renamed(shown.value, kind, {other: one})


@in_order
def plain_fields(shown: Shown[Story]) -> Iterator[Story]:
    """Optional fields go, names in lists go, and numbers get lower."""
    for index, step in enumerate(shown.value.steps):
        for field, value in step.fields.items():
            for plainer in _plainer(step, field, value):
                yield with_field(shown.value, index, field, plainer)


def _plainer(step: Step, field: str, value: Any) -> Iterator[Any]:
    """Plainer values of a field; None = it goes."""
    if _may_go(step, field):
        yield None
    if KINDS[step.op][field] == "replicas":
        for name in value[::-1] if len(value) > 1 else ():
            yield tuple(other for other in value if other != name)
    elif isinstance(value, int) and not isinstance(value, bool) and field not in NUMBERED:
        size = abs(value)
        lower = {number for number in (*ROUND, size // 2, size - 1) if 0 <= number < size}
        yield from sorted(lower)
        if value < 0:
            yield size


def _may_go(step: Step, field: str) -> bool:
    if field not in OPS[step.op].optional or field == "votes":
        return False  # an election that asks nobody is not an election by votes made shorter
    if step.op != "append":
        return True
    return field not in (("marker", "pid") if "marker" in step.fields else ("label", "key"))


@in_order
def plain_order(shown: Shown[Story]) -> Iterator[Story]:
    """Names with numbers from 1 in the order of their first use; epochs in their own order."""
    story = shown.value
    used = names_of(story)
    used["epoch"].sort()
    added = [step["replica"] for step in story.steps if step.op == "add_replica"]
    known = dict.fromkeys((*used["replica"], *story.replicas))
    yield _as_used(story, [*(name for name in known if name not in added), *added])
    used["replica"] = [*dict.fromkeys((*story.replicas, *added))]
    for kind, names in used.items():
        yield renamed(story, kind, _plain(kind, names))


def _as_used(story: Story, names: list[str]) -> Story:
    """Replicas are created in the order in which the steps use them, and named in that order."""
    ordered = {
        part: tuple(name for name in names if name in getattr(story, part)) for part in TOLD_FIRST
    }
    return renamed(with_steps(story, story.steps, **ordered), "replica", _plain("replica", names))


def _plain(kind: str, names: Sequence[Any]) -> dict[Any, Any]:
    return dict(zip(names, plain_names(kind, len(names)), strict=True))


STORY_PASSES: Sequence[Pass[Story]] = (
    drop_silent,
    drop_replicas,
    _dropping(_groups),
    in_chunks(lambda story: len(story.steps), without_steps),
    plain_rules,
    plain_start,
    drop_replicas,
    _dropping(_groups),
    _dropping(_stretches),
    _dropping(_pairs),
    begin_with,
    one_for_two,
    merge,
    drop_and_swap,
    fewer_names,
    plain_fields,
    plain_order,
)
"""A round: what takes the most away comes first."""
