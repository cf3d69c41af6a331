"""Stories as values to shrink: their size, edits that keep them valid, and the passes.

A smaller story has fewer steps, or else fewer replicas, rules that differ from the defaults, names
and fields; or else smaller numbers, or comes first in the alphabet. An edit leaves out steps that
are not valid any more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations
from typing import Any, Final, TypeAlias

from sim.diagnose.shrink.engine import (
    Pass,
    ShownTarget,
    ShrinkKind,
    chunks,
    plainer,
    put_at,
    without,
)
from sim.protocol.events import Appended, Event, Pushed
from sim.protocol.replication.joining import REPLICA_LAG_MAX_MS
from sim.simulate.story import fields as types
from sim.simulate.story.format import STORY_DEFAULTS, Story, StoryExpect
from sim.simulate.story.op import Step
from sim.simulate.story.ops import OPS

PLAIN = {"replica": "r{}", "key": "k{}", "label": "v{}", "consumer": "reader{}"}
"""Plain names of a kind, with the numbers from 1; pids and epochs are the numbers themselves."""

OFFSETS = {"upto", "end", "to", "high_watermark", "cleaned"}
"""Names of fields with an offset."""

AT_THE_START = ("replicas", "isr", "voters")
"""Attributes of a story with replicas at the start."""

_BY_NAME = {name: name for name in PLAIN} | dict.fromkeys(OFFSETS, "offset")
_BY_TYPE = {
    types.REPLICA: "replica",
    types.REPLICAS: "replicas",
    types.EPOCH: "epoch",
    types.PRODUCER: "pid",
    types.SEGMENTS: "spans",
    types.OFFSETS: "offsets",
    types.HORIZONS: "spans",
}
KINDS = {
    op: {name: _BY_TYPE.get(kind, _BY_NAME.get(name)) for name, kind in spec.types.items()}
    for op, spec in OPS.items()
}
"""Op -> field -> kind of its value: replica(s), key, label, consumer, pid, epoch, offset(s), spans
(of a time behind offsets), or None for any other."""

GONE: Final = object()
"""Result of a change that makes the step invalid."""

Change: TypeAlias = Callable[[str | None, Any], Any]
"""Function of the kind and the value of a field that returns the new value, or `GONE`."""


def names_of(story: Story) -> dict[str, list[Any]]:
    """Kind -> the names that the steps use, each once, in the order of their first use."""
    kinds = ("replica", "key", "label", "consumer", "pid", "epoch")
    found: dict[str, dict[Any, None]] = {kind: {} for kind in kinds}
    for step in story.steps:
        for field, value in step.fields.items():
            kind = KINDS[step.op][field]
            if kind == "replicas":
                found["replica"].update(dict.fromkeys(value))
            elif kind in kinds and value is not None:
                found[kind][value] = None
    return {kind: list(names) for kind, names in found.items()}


def plain_names(kind: str, count: int) -> list[Any]:
    """The plain names of a kind, `count` of them."""
    return [PLAIN[kind].format(n) if kind in PLAIN else n for n in range(1, count + 1)]


def _said(story: Story) -> list[str]:
    return [f"{step.op} {sorted(step.fields.items())}" for step in story.steps]


def key_of(story: Story) -> Hashable:
    """The identity of a story: equal for stories with the same run."""
    lag_max_ms = story.replica_lag_max_ms
    return story.replicas, story.isr, story.voters, story.rules, lag_max_ms, *_said(story)


def size_of(shown: ShownTarget[Story]) -> Iterator[Any]:
    """Yields the size of a story, the most important number first."""
    story = shown.value
    values = [value for step in story.steps for value in step.fields.values()]
    names = names_of(story)
    start = [getattr(story, part) for part in AT_THE_START]
    yield len(story.steps)
    yield len(story.replicas)
    own_lag = story.replica_lag_max_ms != REPLICA_LAG_MAX_MS
    yield len(story.rules.differing_from(STORY_DEFAULTS)) + own_lag
    yield sum(map(len, names.values()))
    yield (story.isr != story.replicas) + (story.voters != story.replicas)
    yield len(values)
    yield sum(len({*found} - {*plain_names(kind, len(found))}) for kind, found in names.items())
    yield sum(abs(value) if isinstance(value, int) else len(repr(value)) for value in values)
    yield len(str(start))
    yield _said(story)
    yield start


def step_of(op: str, fields: Mapping[str, Any]) -> Step:
    """Makes a step without a number."""
    return Step(0, op, fields)


def mapped(step: Step, change: Change) -> Step | None:
    """Changes the values of a step's fields; None if it is not valid any more."""
    kinds = KINDS[step.op]
    fields = {name: change(kinds[name], value) for name, value in step.fields.items()}
    if GONE in fields.values():
        return None
    return step if fields == step.fields else Step(step.number, step.op, fields)


def with_steps(story: Story, steps: Iterable[Step | None], **changes: Any) -> Story:
    """Replaces and renumbers the steps; those that name an absent replica are left out.

    `changes` are new values of other attributes. The expectation is removed, as it is about the old
    steps.
    """
    known = list(changes.setdefault("replicas", story.replicas))
    kept: list[Step] = []
    for step in filter(None, steps):
        joins = step.op == "add_replica"
        if joins and step["replica"] in known:
            continue
        known += [step["replica"]] if joins else []
        said = mapped(step, partial(_present, known))
        if said is None:
            continue
        if said.op == "remove_replica":
            known.remove(said["replica"])
        number = len(kept) + 1
        kept.append(said if said.number == number else Step(number, said.op, said.fields))
    for part in ("isr", "voters"):
        names = changes.get(part, getattr(story, part))
        present = _present(changes["replicas"], "replicas", names)
        changes[part] = changes["replicas"] if present is GONE else present
    return replace(story, steps=tuple(kept), expect=StoryExpect(), preset=None, **changes)


def _present(known: Collection[str], kind: str | None, value: Any) -> Any:
    """A value without its absent replicas; `GONE` if no replica is left."""
    if kind == "replicas":
        return tuple(name for name in value if name in known) or GONE
    return GONE if kind == "replica" and value not in known else value


def offsets_written(events: Iterable[tuple[int, Event]], steps: int) -> list[list[int]]:
    """The base offsets that each of so many steps of a story appended, by its events."""
    written: list[list[int]] = [[] for _ in range(steps)]
    for step, event in events:
        if isinstance(event, Appended | Pushed) and step:
            written[step - 1].append(event.batch.base_offset)
    return written


def without_steps(shown: ShownTarget[Story], left_out: Collection[int]) -> Iterator[Story]:
    """Yields the story without some steps, by index.

    If the other steps name offsets, there are two ways to leave out an append: first with the
    offsets moved down, then with the offsets as they were.
    """
    story = shown.value
    kept = without(story.steps, *left_out)
    if any(map(speaks_of_offsets, kept)):
        written = offsets_written(shown.events, len(story.steps))
        gone = {offset for index in left_out for offset in written[index]}
        if gone:

            def moved(offset: int) -> int:
                return offset - sum(one < offset for one in gone)

            yield with_steps(story, [with_offsets(step, moved) for step in kept])
    yield with_steps(story, kept)


def speaks_of_offsets(step: Step) -> bool:
    """Checks that a step names an offset."""
    return any(KINDS[step.op][field] in ("offset", "offsets", "spans") for field in step.fields)


def with_offsets(step: Step, moved: Callable[[int], int]) -> Step | None:
    """Moves the offsets that a step names; of several, those that are gone are left out."""

    def change(kind: str | None, value: Any) -> Any:
        if kind == "offsets":
            return tuple(moved(one) for one in value if moved(one) < moved(one + 1))
        if kind == "spans":
            return tuple((*map(moved, offsets), at) for *offsets, at in value)
        return moved(value) if kind == "offset" else value

    return mapped(step, change)


def renamed(story: Story, kind: str, names: Mapping[Any, Any], *, since: int = 0) -> Story:
    """Renames replicas, keys, labels, consumers, pids or epochs.

    Args:
        story: The story.
        kind: Kind of the names, such as `replica`.
        names: Old name -> new name; other names stay.
        since: Index of the first step to change; 0 to change the start of the story, too.
    """

    def change(found: str | None, value: Any) -> Any:
        if found == "replicas" and kind == "replica":
            return tuple(dict.fromkeys(names.get(name, name) for name in value))
        return names.get(value, value) if found == kind else value

    start: dict[str, Any] = {}
    if kind == "replica" and not since:
        start = {part: change("replicas", getattr(story, part)) for part in AT_THE_START}
    later = [mapped(step, change) for step in story.steps[since:]]
    return with_steps(story, [*story.steps[:since], *later], **start)


# Passes that remove steps.

MERGES_UP_TO, NEAREST = 40, 6
"""In a story of more steps, a step is merged only with its `NEAREST` neighbours on either side."""
ROUND = (0, 1, 2, 5, 10, 100, 101, 1000)
"""Numbers that are plainer than those between them."""
NUMBERED = ("epoch", "epochs", "pid")
"""Fields whose numbers are names: they change in all steps at once, and epochs keep their order."""


def drop_replicas(shown: ShownTarget[Story]) -> Iterator[Story]:
    """Yields stories without one replica and the steps that name it."""
    story = shown.value
    for name in reversed(story.replicas) if len(story.replicas) > 1 else ():
        others = tuple(other for other in story.replicas if other != name)
        yield with_steps(story, story.steps, replicas=others)


def drop_and_swap(shown: ShownTarget[Story]) -> Iterator[Story]:
    """Yields stories without one step and with two replicas, or two keys, swapped after it.

    This removes an election whose winner did only what the leader before could have done.
    """
    story, names = shown.value, names_of(shown.value)
    for index in range(len(story.steps) - 1, -1, -1):
        shorter = with_steps(story, without(story.steps, index))
        for kind in ("replica", "key") if story.steps[index].op == "append" else ("replica",):
            for one, other in combinations(names[kind], 2):
                yield renamed(shorter, kind, {one: other, other: one}, since=index)


# Passes that let one step, or the start of the story, do the work of several steps.


def begin_with(shown: ShownTarget[Story]) -> Iterator[Story]:
    """Yields stories that start with the result of a step: an in-sync set, a replica.

    A leader that is alone in the in-sync set commits without a further step.
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


def fewer_names(shown: ShownTarget[Story]) -> Iterator[Story]:
    """Yields stories with two keys, consumers, producers or replicas merged into one.

    Fetches of a merged replica from itself are left out.
    """
    story = shown.value
    names = names_of(story) | {"replica": list(story.replicas)}
    for kind in ("replica", "key", "consumer", "pid"):
        for one, other in permutations(names[kind], 2):
            merged = renamed(story, kind, {other: one})
            apart = [s for s in merged.steps if s.get("follower") != s.get("leader", "")]
            yield with_steps(merged, apart)


def merge(shown: ShownTarget[Story]) -> Iterator[Story]:
    """Yields stories where one step does more, as `sync` for `fetch`, and another is left out."""
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
    """Yields steps that do at least as much as this one, or nearly the same in another way."""
    pair = {name: step.fields[name] for name in ("follower", "leader") if name in step.fields}
    fetches = "follower" in OPS[step.op].required and step.op != "push"
    for op in ("sync", "fetch") if fetches else ():
        if step.op != op:
            yield step_of(op, pair)
    if fetches or step.op == "check":
        yield step_of("quiesce", {})


# Passes that make the steps plainer.


def plain_start(shown: ShownTarget[Story]) -> Iterator[Story]:
    """Yields stories with default rules and timers, and all replicas in sync and voting."""
    story, everybody = shown.value, shown.value.replicas
    default = replace(story, rules=STORY_DEFAULTS, isr=everybody, voters=everybody)
    yield from plainer(story, replace(default, replica_lag_max_ms=REPLICA_LAG_MAX_MS))


def plain_fields(shown: ShownTarget[Story]) -> Iterator[Story]:
    """Yields stories with one optional field or listed item less, or one number lower."""
    for index, step in enumerate(shown.value.steps):
        for field, value in step.fields.items():
            for lower in _plainer(step, field, value):
                fields = {**step.fields, field: lower}
                if lower is None:
                    del fields[field]
                plain = step_of(step.op, fields)
                yield with_steps(shown.value, put_at(shown.value.steps, index, plain))


def _plainer(step: Step, field: str, value: Any) -> Iterator[Any]:
    """Yields plainer values of a field; None to leave it out."""
    if _may_go(step, field):
        yield None
    if isinstance(value, tuple):
        for item in value[::-1] if len(value) > 1 else ():
            yield tuple(other for other in value if other != item)
    elif isinstance(value, int) and not isinstance(value, bool) and field not in NUMBERED:
        size = abs(value)
        lower = {number for number in (*ROUND, size // 2, size - 1) if 0 <= number < size}
        yield from sorted(lower)
        if value < 0:
            yield size


def _may_go(step: Step, field: str) -> bool:
    if field in OPS[step.op].required or field == "votes":
        return False  # an election without voters is another kind of election
    if step.op != "append":
        return True
    return field not in (("marker", "pid") if "marker" in step.fields else ("label", "key"))


def plain_order(shown: ShownTarget[Story]) -> Iterator[Story]:
    """Yields stories with plain names in the order of first use, and epochs in their own order."""
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
    """Creates replicas in the order in which the steps use them, and names them in that order."""
    ordered = {
        part: tuple(name for name in names if name in getattr(story, part)) for part in AT_THE_START
    }
    return renamed(with_steps(story, story.steps, **ordered), "replica", _plain("replica", names))


def _plain(kind: str, names: list[Any]) -> dict[Any, Any]:
    return dict(zip(names, plain_names(kind, len(names)), strict=True))


STORIES = ShrinkKind(
    (
        Pass(drop_replicas),
        Pass(lambda shown: chunks(len(shown.value.steps)), without_steps),
        Pass(plain_start),
        Pass(begin_with),
        Pass(fewer_names),
        Pass(merge),
        Pass(drop_and_swap),
        Pass(plain_fields),
        Pass(plain_order),
    ),
    size=size_of,
    key=key_of,
)
"""Stories: the passes that remove the most come first."""
