"""Passes that keep the steps of a story and make what they say plainer: rules, names, values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

from sim.shrink.ddmin import Position, Proposal
from sim.shrink.story_edit import renamed, with_field, with_steps
from sim.shrink.story_removals import numbered
from sim.shrink.story_size import kind_of, names_of, plain_names
from sim.story.format import STORY_DEFAULTS, Story
from sim.story.ops import OPS
from sim.story.steps import Step

ROUND = (0, 1, 2, 5, 10, 100, 101, 1000)
"""Numbers that are plainer than what lies between them."""

_NAMES = ("epoch", "epochs", "pid")
"""Numbers that are names: they change everywhere at once, and epochs keep their order."""


def plain_rules(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """Rules back to their defaults: all at once, then one by one."""
    return numbered(_plain_rules(story), start)


def _plain_rules(story: Story) -> Iterator[Story]:
    differing = list(story.rules.differing_from(STORY_DEFAULTS))
    if differing:
        yield replace(story, rules=STORY_DEFAULTS, preset=None)
    for name in differing:
        default = STORY_DEFAULTS.as_dict()[name]
        yield replace(story, rules=story.rules.with_values({name: default}), preset=None)


def plain_start(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """Everybody is in the in-sync set at first, and everybody votes."""
    return numbered(_plain_start(story), start)


def _plain_start(story: Story) -> Iterator[Story]:
    everybody = story.replicas
    for changes in ({"isr": everybody, "voters": everybody}, {"isr": everybody}):
        yield with_steps(story, story.steps, **changes)
    yield with_steps(story, story.steps, voters=everybody)


def plain_fields(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """Optional fields go, names in lists go, and numbers get lower."""
    return numbered(_plain_fields(story), start)


def _plain_fields(story: Story) -> Iterator[Story]:
    for index, step in enumerate(story.steps):
        for field, value in step.fields.items():
            if _may_go(step, field):
                yield with_field(story, index, field, None)
            if isinstance(value, tuple) and kind_of(step.op, field) == "replicas":
                for name in value[::-1] if len(value) > 1 else ():
                    fewer = tuple(other for other in value if other != name)
                    yield with_field(story, index, field, fewer)
            elif isinstance(value, int) and not isinstance(value, bool) and field not in _NAMES:
                for lower in _lower(value):
                    yield with_field(story, index, field, lower)


def _may_go(step: Step, field: str) -> bool:
    if field not in OPS[step.op].optional or field == "votes":
        return False  # an election that asks nobody is not an election by votes made shorter
    if step.op != "append":
        return True
    needed = ("marker", "pid") if "marker" in step.fields else ("label", "key")
    return field not in needed


def _lower(value: int) -> Iterator[int]:
    """Plainer numbers, the lowest first."""
    size = abs(value)
    plainer = {*(number for number in ROUND if number < size), size // 2, size - 1}
    yield from sorted(number for number in plainer if 0 <= number < size)
    if value < 0:
        yield size


def fewer_names(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """Two keys become one; so do two consumers and two producers."""
    return numbered(_fewer_names(story), start)


def _fewer_names(story: Story) -> Iterator[Story]:
    for kind, names in names_of(story).items():
        if kind in ("key", "consumer", "pid"):
            for one, other in combinations(names, 2):
                yield renamed(story, kind, {other: one})


def plain_order(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """Names with numbers from 1 in the order of their first use; epochs in their own order."""
    return numbered(_plain_order(story), start)


def _plain_order(story: Story) -> Iterator[Story]:
    used = names_of(story)
    for kind, found in used.items():
        names: list[Any] = list(found)
        if kind == "epoch":
            names.sort()
        elif kind == "replica":
            added = [step["replica"] for step in story.steps if step.op == "add_replica"]
            silent = [name for name in story.replicas if name not in names]
            names = [name for name in (*names, *silent) if name not in added] + added
            yield from _replicas_as_used(story, names)
            names = [*story.replicas, *(name for name in added if name not in story.replicas)]
        plain = dict(zip(names, plain_names(kind, len(names)), strict=True))
        if any(old != new for old, new in plain.items()):
            yield renamed(story, kind, plain)


def _replicas_as_used(story: Story, names: list[Any]) -> Iterator[Story]:
    """They are created in the order in which the steps use them, and named in that order."""
    place = {name: number for number, name in enumerate(names)}
    ordered = {
        part: tuple(sorted(getattr(story, part), key=lambda name: place.get(name, len(place))))
        for part in ("replicas", "isr", "voters")
    }
    plain = dict(zip(names, plain_names("replica", len(names)), strict=True))
    yield renamed(with_steps(story, story.steps, **ordered), "replica", plain)
