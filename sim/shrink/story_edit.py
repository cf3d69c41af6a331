"""Edits of stories that leave them well-formed: a step that can no longer be said is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sim.shrink.story_size import kind_named, kind_of
from sim.story.expect import StoryExpect
from sim.story.format import Story
from sim.story.ops import REPLICA, REPLICAS
from sim.story.steps import Step

OFFSETS = {
    ("compact", "upto"),
    ("consume", "upto"),
    ("snapshot", "end"),
    ("delete_prefix", "to"),
    ("crash", "high_watermark"),
    ("crash", "cleaned"),
}
"""Fields with an offset, by op and name; the segments of a compact step have offsets, too."""


def step_of(op: str, fields: Mapping[str, Any]) -> Step:
    """A step that has not got its number yet."""
    return Step(0, op, fields)


def with_steps(story: Story, steps: Iterable[Step], **changes: Any) -> Story:
    """The story with other steps, numbered anew; those that name what is not there are left out.

    `changes` are those of other attributes. The story expects nothing any more, as what it expects
    is that of its old steps.
    """
    changes.setdefault("replicas", story.replicas)
    known = list(changes["replicas"])
    kept: list[Step] = []
    for step in steps:
        said = _sayable(step, known)
        if said is None:
            continue
        number = len(kept) + 1
        kept.append(said if said.number == number else Step(number, said.op, said.fields))
        if step.op == "add_replica":
            known.append(step["replica"])
        elif step.op == "remove_replica":
            known.remove(step["replica"])
    for part in ("isr", "voters"):
        names = changes.get(part, getattr(story, part))
        present = tuple(name for name in names if name in changes["replicas"])
        changes[part] = present or changes["replicas"]
    return replace(story, steps=tuple(kept), expect=StoryExpect(), preset=None, **changes)


def _sayable(step: Step, known: Collection[str]) -> Step | None:
    """The step as far as it names replicas that there are; None = nothing is left of it."""
    if step.op == "add_replica":
        return None if step["replica"] in known else step
    fields: dict[str, Any] = {}
    for field, value in step.fields.items():
        kind = kind_named(step.op, field)
        if kind is REPLICA and value not in known:
            return None
        if kind is REPLICAS:
            present = tuple(name for name in value if name in known)
            if not present:
                return None
            fields[field] = present if present != value else value
        else:
            fields[field] = value
    return step if fields == step.fields else Step(step.number, step.op, fields)


def without_steps(
    story: Story, left_out: Collection[int], written: Sequence[Sequence[int]] = ()
) -> list[Story]:
    """The story without some steps, by index from 0.

    Where steps that stay speak of offsets, there are two ways to leave out an append: the offsets
    move down with what follows, or they stay. Both are given, the first one first.

    Args:
        story: The story.
        left_out: The indexes.
        written: The offsets that each step appended at; empty = not known.
    """
    kept = [step for index, step in enumerate(story.steps) if index not in left_out]
    gone = sorted({offset for index in left_out for offset in written[index]}) if written else []
    plain = with_steps(story, kept)
    if not gone or not any(speaks_of_offsets(step) for step in kept):
        return [plain]
    moved = with_steps(story, [_moved_down(step, gone) for step in kept])
    return [moved, plain]


def speaks_of_offsets(step: Step) -> bool:
    """Whether a step names an offset."""
    return "segments" in step.fields or any((step.op, field) in OFFSETS for field in step.fields)


def _moved_down(step: Step, gone: Sequence[int]) -> Step:
    """The step with its offsets lower by as many as are gone below them."""
    return _with_offsets(step, lambda offset: offset - sum(one < offset for one in gone))


def moved_up(step: Step, came: Sequence[int]) -> Step:
    """The step with its offsets higher by as many as came, if the first of those is below them."""
    return _with_offsets(
        step, lambda offset: offset + len(came) if came and came[0] < offset else offset
    )


def _with_offsets(step: Step, moved: Callable[[int], int]) -> Step:
    if not speaks_of_offsets(step):
        return step
    fields = dict(step.fields)
    for field, value in step.fields.items():
        if field == "segments":
            fields[field] = tuple((moved(base), moved(end), at) for base, end, at in value)
        elif (step.op, field) in OFFSETS:
            fields[field] = moved(value)
    return Step(step.number, step.op, fields)


def with_field(story: Story, index: int, field: str, value: Any) -> Story:
    """The story with another value in a field of a step; None leaves the field out."""
    fields = dict(story.steps[index].fields)
    if value is None:
        del fields[field]
    else:
        fields[field] = value
    put = step_of(story.steps[index].op, fields)
    return with_steps(story, [*story.steps[:index], put, *story.steps[index + 1 :]])


def renamed(story: Story, kind: str, names: Mapping[Any, Any], *, since: int = 0) -> Story:
    """The story with other names for replicas, keys, labels, consumers, pids or epochs.

    Args:
        story: The story.
        kind: Of what the names are.
        names: Old name -> new name; what is not in it stays.
        since: Index of the first step that changes; from 0 on, so does what stands before them.
    """
    steps = [
        step if index < since else _step_renamed(step, kind, names)
        for index, step in enumerate(story.steps)
    ]
    if kind != "replica" or since:
        return with_steps(story, steps)
    told = {
        part: tuple(names.get(name, name) for name in getattr(story, part))
        for part in ("replicas", "isr", "voters")
    }
    return with_steps(story, steps, **told)


def _step_renamed(step: Step, kind: str, names: Mapping[Any, Any]) -> Step:
    fields = dict(step.fields)
    for field, value in step.fields.items():
        found = kind_of(step.op, field)
        if found == kind:
            fields[field] = names.get(value, value)
        elif found == "replicas" and kind == "replica":
            fields[field] = tuple(dict.fromkeys(names.get(name, name) for name in value))
    return step if fields == step.fields else Step(step.number, step.op, fields)
