"""Stories as values to shrink: what is in them, which is smaller, sound edits, and the passes.

Smaller is as people would say: fewer steps first, then fewer replicas, rules that differ from the
defaults, names and fields; among stories alike in all that, smaller numbers and then the order of
the alphabet. In an edit, a step that can no longer be said is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations
from typing import Any, Final, TypeAlias

from sim.diagnose.shrink.engine import Kind, Pass, Shown, chunks, plainer, put_at, without
from sim.protocol.events import Appended, Event, Pushed
from sim.protocol.replication.joining import REPLICA_LAG_MAX_MS
from sim.simulate.story.expect import StoryExpect
from sim.simulate.story.fields import EPOCH, PRODUCER, REPLICA, REPLICAS, SEGMENTS
from sim.simulate.story.format import STORY_DEFAULTS, Story
from sim.simulate.story.op import Step
from sim.simulate.story.ops import OPS

PLAIN = {"replica": "r{}", "key": "k{}", "label": "v{}", "consumer": "reader{}"}
"""The plain names of a kind, with the numbers from 1; of pids and epochs the numbers themselves."""

OFFSETS = {"upto", "end", "to", "high_watermark", "cleaned"}
"""Fields with an offset."""

AT_THE_START = ("replicas", "isr", "voters")
"""What a story says of replicas before its steps."""

_BY_NAME = {name: name for name in PLAIN} | dict.fromkeys(OFFSETS, "offset")
_BY_TYPE = {
    REPLICA: "replica",
    REPLICAS: "replicas",
    EPOCH: "epoch",
    PRODUCER: "pid",
    SEGMENTS: "segments",
}
KINDS = {
    op: {name: _BY_TYPE.get(kind, _BY_NAME.get(name)) for name, kind in spec.types.items()}
    for op, spec in OPS.items()
}
"""What each field of each op says: replica(s), key, label, consumer, pid, epoch, offset, segments,
or None."""

GONE: Final = object()
"""In the place of a value without which its step cannot be said."""

Change: TypeAlias = Callable[[str | None, Any], Any]
"""Given what a field says, and its value: what is to be there, or `GONE`."""


def names_of(story: Story) -> dict[str, list[Any]]:
    """The names that the steps use, kind by kind, each once, in the order of their first use."""
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
    """Names as a shrunk story has them, so many."""
    return [PLAIN[kind].format(n) if kind in PLAIN else n for n in range(1, count + 1)]


def _said(story: Story) -> list[str]:
    return [f"{step.op} {sorted(step.fields.items())}" for step in story.steps]


def key_of(story: Story) -> Hashable:
    """Identity of a story: stories with the same run alike."""
    lag_max_ms = story.replica_lag_max_ms
    return story.replicas, story.isr, story.voters, story.rules, lag_max_ms, *_said(story)


def size_of(shown: Shown[Story]) -> Iterator[Any]:
    """Yields what makes a story small, the most important first."""
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
    """A step that has not got its number yet."""
    return Step(0, op, fields)


def mapped(step: Step, change: Change) -> Step | None:
    """The step with other values in its fields; None = it cannot be said any more."""
    kinds = KINDS[step.op]
    fields = {name: change(kinds[name], value) for name, value in step.fields.items()}
    if GONE in fields.values():
        return None
    return step if fields == step.fields else Step(step.number, step.op, fields)


def with_steps(story: Story, steps: Iterable[Step | None], **changes: Any) -> Story:
    """Replaces the steps, numbered anew; those that name what is not there are left out.

    `changes` are those of other attributes. The story expects nothing any more, as what it expects
    is that of its old steps.
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
    """Leaves out of a value the replicas that are not there."""
    if kind == "replicas":
        return tuple(name for name in value if name in known) or GONE
    return GONE if kind == "replica" and value not in known else value


def offsets_written(events: Iterable[tuple[int, Event]], steps: int) -> list[list[int]]:
    """Finds the offsets that each of so many steps appended at, in the events of the story."""
    written: list[list[int]] = [[] for _ in range(steps)]
    for step, event in events:
        if isinstance(event, Appended | Pushed) and step:
            written[step - 1].append(event.batch.base_offset)
    return written


def without_steps(shown: Shown[Story], left_out: Collection[int]) -> Iterator[Story]:
    """The story without some steps, by index from 0.

    Where steps that stay speak of offsets, there are two ways to leave out an append: the offsets
    move down with what follows, or they stay. Both are given, the first one first.
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
    """Whether a step names an offset."""
    return any(KINDS[step.op][field] in ("offset", "segments") for field in step.fields)


def with_offsets(step: Step, moved: Callable[[int], int]) -> Step | None:
    """The step with other offsets in it."""

    def change(kind: str | None, value: Any) -> Any:
        if kind == "segments":
            return tuple((moved(base), moved(end), at) for base, end, at in value)
        return moved(value) if kind == "offset" else value

    return mapped(step, change)


def renamed(story: Story, kind: str, names: Mapping[Any, Any], *, since: int = 0) -> Story:
    """Renames replicas, keys, labels, consumers, pids or epochs.

    Args:
        story: The story.
        kind: Of what the names are.
        names: Old name -> new name; what is not in it stays.
        since: Index of the first step that changes; from 0 on, so does what stands before them.
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


# Passes: steps go.

STRETCH = 12
"""Most steps of a stretch."""
MERGES_UP_TO, NEAREST = 40, 6
"""Steps; in longer stories so near neighbours only are merged."""
ROUND = (0, 1, 2, 5, 10, 100, 101, 1000)
"""Numbers that are plainer than what lies between them."""
NUMBERED = ("epoch", "epochs", "pid")
"""Numbers that are names: they change everywhere at once, and epochs keep their order."""


def drop_replicas(shown: Shown[Story]) -> Iterator[Story]:
    """A replica goes with all steps that name it."""
    story = shown.value
    for name in reversed(story.replicas) if len(story.replicas) > 1 else ():
        others = tuple(other for other in story.replicas if other != name)
        yield with_steps(story, story.steps, replicas=others)


def drop_and_swap(shown: Shown[Story]) -> Iterator[Story]:
    """A step goes, and from there on two replicas, or two keys, are each other.

    So an election goes whose winner did no more than the leader before could have done.
    """
    story, names = shown.value, names_of(shown.value)
    for index in range(len(story.steps) - 1, -1, -1):
        shorter = with_steps(story, without(story.steps, index))
        for kind in ("replica", "key") if story.steps[index].op == "append" else ("replica",):
            for one, other in combinations(names[kind], 2):
                yield renamed(shorter, kind, {one: other, other: one}, since=index)


# One step, or the state at the start, does what several steps did.


def begin_with(shown: Shown[Story]) -> Iterator[Story]:
    """Yields stories that start with what a step sets up: the in-sync set, a replica.

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


def fewer_names(shown: Shown[Story]) -> Iterator[Story]:
    """Two keys become one; so do consumers, producers, and replicas.

    One replica does what two did, and no longer fetches from itself.
    """
    story = shown.value
    names = names_of(story) | {"replica": list(story.replicas)}
    for kind in ("replica", "key", "consumer", "pid"):
        for one, other in permutations(names[kind], 2):
            merged = renamed(story, kind, {other: one})
            apart = [s for s in merged.steps if s.get("follower") != s.get("leader", "")]
            yield with_steps(merged, apart)


def merge(shown: Shown[Story]) -> Iterator[Story]:
    """Yields stories where one step does more, as `sync` for `fetch`, and another goes."""
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


def plain_start(shown: Shown[Story]) -> Iterator[Story]:
    """Rules and timers by default; everybody is in the in-sync set at first, everybody votes."""
    story, everybody = shown.value, shown.value.replicas
    default = replace(story, rules=STORY_DEFAULTS, isr=everybody, voters=everybody)
    yield from plainer(story, replace(default, replica_lag_max_ms=REPLICA_LAG_MAX_MS))


def plain_fields(shown: Shown[Story]) -> Iterator[Story]:
    """Optional fields go, names in lists go, and numbers get lower."""
    for index, step in enumerate(shown.value.steps):
        for field, value in step.fields.items():
            for lower in _plainer(step, field, value):
                fields = {**step.fields, field: lower}
                if lower is None:
                    del fields[field]
                plain = step_of(step.op, fields)
                yield with_steps(shown.value, put_at(shown.value.steps, index, plain))


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
    if field in OPS[step.op].required or field == "votes":
        return False  # an election that asks nobody is not an election by votes made shorter
    if step.op != "append":
        return True
    return field not in (("marker", "pid") if "marker" in step.fields else ("label", "key"))


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
        part: tuple(name for name in names if name in getattr(story, part)) for part in AT_THE_START
    }
    return renamed(with_steps(story, story.steps, **ordered), "replica", _plain("replica", names))


def _plain(kind: str, names: list[Any]) -> dict[Any, Any]:
    return dict(zip(names, plain_names(kind, len(names)), strict=True))


def _stretches(shown: Shown[Story]) -> Iterator[range]:
    """Steps in a row, wherever they begin: chunks have fixed places, and may cut through them."""
    count = len(shown.value.steps)
    for size in range(min(STRETCH, count), 2, -1):
        yield from (range(end - size, end) for end in range(count, size - 1, -1))


STORIES = Kind(
    (
        Pass(drop_replicas),
        Pass(lambda shown: chunks(len(shown.value.steps)), without_steps),
        Pass(plain_start),
        Pass(_stretches, without_steps),
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
"""A round: what takes the most away comes first."""
