"""Stories as values to shrink: which of two is the smaller one, and what tells them apart.

Shortlex, as people would compare them: fewer steps first, then fewer replicas, rules that differ
from the defaults, names and fields; among stories alike in all that, smaller numbers and then the
order of the alphabet.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from sim.story.format import STORY_DEFAULTS, Story
from sim.story.ops import OPS, REPLICA, REPLICAS, FieldType
from sim.story.steps import Step

PLAIN = {"replica": "r{}", "key": "k{}", "label": "v{}", "consumer": "reader{}"}
"""The plain names of a kind: with the numbers from 1."""


def kind_named(op: str, field: str) -> FieldType:
    """The type of a field of a step."""
    return OPS[op].fields()[field]


def names_of(story: Story) -> dict[str, list[Any]]:
    """The names that the steps use, kind by kind, each once, in the order of their first use."""
    found: dict[str, dict[Any, None]] = {kind: {} for kind in ("replica", "key", "label")}
    found |= {kind: {} for kind in ("consumer", "pid", "epoch")}
    for step in story.steps:
        for field, value in step.fields.items():
            kind = kind_of(step.op, field)
            if kind == "replicas":
                found["replica"].update(dict.fromkeys(value))
            elif kind is not None and value is not None:
                found[kind][value] = None
    return {kind: list(names) for kind, names in found.items()}


def kind_of(op: str, field: str) -> str | None:
    """What a field of a step names: replica, replicas, key, label, consumer, pid or epoch."""
    kind = kind_named(op, field)
    if kind is REPLICA or (op == "add_replica" and field == "replica"):
        return "replica"
    if kind is REPLICAS:
        return "replicas"
    if op == "crash" and field == "epochs":
        return "epoch"
    return field if field in ("key", "label", "consumer", "pid", "epoch") else None


def plain_names(kind: str, count: int) -> list[Any]:
    """So many names as a shrunk story has them; of pids and epochs the numbers from 1."""
    return [PLAIN[kind].format(n) if kind in PLAIN else n for n in range(1, count + 1)]


def key_of(story: Story) -> Hashable:
    """What tells stories apart that may run differently."""
    return (
        story.replicas,
        story.isr,
        story.voters,
        tuple(story.rules.differing_from(STORY_DEFAULTS).items()),
        tuple(step_key(step) for step in story.steps),
    )


def step_key(step: Step) -> Hashable:
    """What tells steps apart wherever they stand."""
    return step.op, tuple(sorted(step.fields.items()))


def is_smaller(one: Story, other: Story) -> bool:
    """Whether `one` is the smaller one."""
    if len(one.steps) != len(other.steps):
        return len(one.steps) < len(other.steps)
    return _size(one) < _size(other)


def _size(story: Story) -> tuple[Any, ...]:
    names = names_of(story)
    steps = [_step_size(step) for step in story.steps]
    return (
        len(story.replicas),
        len(story.rules.differing_from(STORY_DEFAULTS)),
        sum(len(kind) for kind in names.values()),
        (story.isr != story.replicas) + (story.voters != story.replicas),
        sum(len(step.fields) for step in story.steps),
        sum(len({*found} - {*plain_names(kind, len(found))}) for kind, found in names.items()),
        sum(fields for fields, _ in steps),
        len("".join(map(str, (*story.replicas, *story.isr, *story.voters)))),
        [text for _, text in steps],
        story.replicas,
        story.isr,
        story.voters,
    )


def _step_size(step: Step) -> tuple[int, str]:
    """How large the values of a step are, and its text."""
    size = 0
    words = [step.op]
    for field, value in sorted(step.fields.items()):
        text = ",".join(value) if isinstance(value, tuple) and _texts(value) else repr(value)
        size += abs(value) if isinstance(value, int) else len(text)
        words.append(f"{field}={text}")
    return size, " ".join(words)


def _texts(value: tuple[Any, ...]) -> bool:
    return all(isinstance(item, str) for item in value)
