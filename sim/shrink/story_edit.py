"""Stories as values to shrink: what is in them, which is smaller, and edits that keep them sound.

Smaller is as people would say: fewer steps first, then fewer replicas, rules that differ from the
defaults, names and fields; among stories alike in all that, smaller numbers and then the order of
the alphabet. In an edit, a step that can no longer be said is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sim.shrink.engine import Shown, put_at
from sim.story.expect import StoryExpect
from sim.story.format import STORY_DEFAULTS, Story
from sim.story.ops import OPS, REPLICA, REPLICAS, FieldType
from sim.story.steps import Step
from sim.trace import Appended, Event, Pushed

PLAIN = {"replica": "r{}", "key": "k{}", "label": "v{}", "consumer": "reader{}"}
"""The plain names of a kind, with the numbers from 1; of pids and epochs the numbers themselves."""

OFFSETS = {
    "compact": {"upto", "segments"},
    "consume": {"upto"},
    "snapshot": {"end"},
    "delete_prefix": {"to"},
    "crash": {"high_watermark", "cleaned"},
}
"""Fields with offsets, by op."""

TOLD_FIRST = ("replicas", "isr", "voters")
"""What a story says of replicas before its steps."""


def _kind(op: str, field: str, kind: FieldType) -> str | None:
    if kind is REPLICA or (op, field) == ("add_replica", "replica"):
        return "replica"
    if kind is REPLICAS:
        return "replicas"
    if (op, field) == ("crash", "epochs"):
        return "epoch"
    return field if field in ("key", "label", "consumer", "pid", "epoch") else None


KINDS = {
    op: {field: _kind(op, field, kind) for field, kind in spec.fields().items()}
    for op, spec in OPS.items()
}
"""What each field of each op names: replica(s), key, label, consumer, pid, epoch, or None."""


def names_of(story: Story) -> dict[str, list[Any]]:
    """The names that the steps use, kind by kind, each once, in the order of their first use."""
    kinds = ("replica", "key", "label", "consumer", "pid", "epoch")
    found: dict[str, dict[Any, None]] = {kind: {} for kind in kinds}
    for step in story.steps:
        for field, value in step.fields.items():
            kind = KINDS[step.op][field]
            if kind == "replicas":
                found["replica"].update(dict.fromkeys(value))
            elif kind is not None and value is not None:
                found[kind][value] = None
    return {kind: list(names) for kind, names in found.items()}


def plain_names(kind: str, count: int) -> list[Any]:
    """So many names as a shrunk story has them."""
    return [PLAIN[kind].format(n) if kind in PLAIN else n for n in range(1, count + 1)]


def key_of(story: Story) -> Hashable:
    """What tells stories apart that may run differently."""
    return (
        *(getattr(story, part) for part in TOLD_FIRST),
        tuple(story.rules.differing_from(STORY_DEFAULTS).items()),
        tuple((step.op, tuple(sorted(step.fields.items()))) for step in story.steps),
    )


def size_of(shown: Shown[Story]) -> Iterator[Any]:
    """What makes a story small, the most telling first."""
    story = shown.value
    yield len(story.steps)
    yield len(story.replicas)
    yield len(story.rules.differing_from(STORY_DEFAULTS))
    names = names_of(story)
    yield sum(map(len, names.values()))
    yield (story.isr != story.replicas) + (story.voters != story.replicas)
    yield sum(len(step.fields) for step in story.steps)
    yield sum(len({*found} - {*plain_names(kind, len(found))}) for kind, found in names.items())
    steps = [_step_size(step) for step in story.steps]
    yield sum(fields for fields, _ in steps)
    told = [getattr(story, part) for part in TOLD_FIRST]
    yield sum(len(str(name)) for names in told for name in names)
    yield [text for _, text in steps]
    yield told


def _step_size(step: Step) -> tuple[int, str]:
    """How large the values of a step are, and its text."""
    size, words = 0, [step.op]
    for field, value in sorted(step.fields.items()):
        texts = isinstance(value, tuple) and all(isinstance(item, str) for item in value)
        text = ",".join(value) if texts else repr(value)
        size += abs(value) if isinstance(value, int) else len(text)
        words.append(f"{field}={text}")
    return size, " ".join(words)


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
    fewer: dict[str, Any] = {}
    for field, value in step.fields.items():
        kind = KINDS[step.op][field]
        if kind == "replica" and value not in known:
            return None
        if kind == "replicas":
            present = tuple(name for name in value if name in known)
            if not present:
                return None
            if present != value:
                fewer[field] = present
    return Step(step.number, step.op, {**step.fields, **fewer}) if fewer else step


def offsets_written(events: Iterable[tuple[int, Event]], steps: int) -> list[list[int]]:
    """The offsets at which each of so many steps appended, by the events of the story."""
    written: list[list[int]] = [[] for _ in range(steps)]
    for step, event in events:
        if isinstance(event, Appended | Pushed) and step:
            written[step - 1].append(event.batch.base_offset)
    return written


def without_steps(shown: Shown[Story], left_out: Collection[int]) -> list[Story]:
    """The story without some steps, by index from 0.

    Where steps that stay speak of offsets, there are two ways to leave out an append: the offsets
    move down with what follows, or they stay. Both are given, the first one first.
    """
    story = shown.value
    kept = [step for index, step in enumerate(story.steps) if index not in left_out]
    plain = with_steps(story, kept)
    if not any(map(speaks_of_offsets, kept)):
        return [plain]
    written = offsets_written(shown.events, len(story.steps))
    gone = sorted({offset for index in left_out for offset in written[index]})
    if not gone:
        return [plain]
    return [with_steps(story, [_moved_down(step, gone) for step in kept]), plain]


def speaks_of_offsets(step: Step) -> bool:
    """Whether a step names an offset."""
    return step.op in OFFSETS and not OFFSETS[step.op].isdisjoint(step.fields)


def _moved_down(step: Step, gone: Sequence[int]) -> Step:
    """The step with its offsets lower by as many as are gone below them."""
    return _with_offsets(step, lambda offset: offset - sum(one < offset for one in gone))


def moved_up(step: Step, came: Sequence[int]) -> Step:
    """The step with its offsets higher by as many as came, if the first of those is below them."""
    return _with_offsets(
        step, lambda offset: offset + len(came) if came and came[0] < offset else offset
    )


def _with_offsets(step: Step, moved: Callable[[int], int]) -> Step:
    fields = dict(step.fields)
    for field in OFFSETS.get(step.op, set()) & fields.keys():
        value = fields[field]
        if field == "segments":
            fields[field] = tuple((moved(base), moved(end), at) for base, end, at in value)
        else:
            fields[field] = moved(value)
    return step if fields == step.fields else Step(step.number, step.op, fields)


def with_field(story: Story, index: int, field: str, value: Any) -> Story:
    """The story with another value in a field of a step; None leaves the field out."""
    step = story.steps[index]
    fields = {**step.fields, field: value}
    if value is None:
        del fields[field]
    return with_steps(story, put_at(story.steps, index, step_of(step.op, fields)))


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
    told = {part: tuple(names.get(n, n) for n in getattr(story, part)) for part in TOLD_FIRST}
    return with_steps(story, steps, **told)


def _step_renamed(step: Step, kind: str, names: Mapping[Any, Any]) -> Step:
    fields = dict(step.fields)
    for field, value in step.fields.items():
        found = KINDS[step.op][field]
        if found == kind:
            fields[field] = names.get(value, value)
        elif found == "replicas" and kind == "replica":
            fields[field] = tuple(dict.fromkeys(names.get(name, name) for name in value))
    return step if fields == step.fields else Step(step.number, step.op, fields)
