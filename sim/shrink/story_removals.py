"""Passes that leave steps of a story out: whole groups, chunks, pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise

from sim.shrink.ddmin import Position, Proposal, chunks
from sim.shrink.story_edit import renamed, speaks_of_offsets, with_steps, without_steps
from sim.shrink.story_shows import offsets_written
from sim.shrink.story_size import kind_of, names_of
from sim.story.driver import StoryDriver
from sim.story.format import Story

PAIRS_UP_TO = 60
"""Steps; in longer stories pairs are looked for among neighbours only."""
NEIGHBOURS = 8
STRETCH = 12

UNTOLD = ("advance", "isr", "flush", "add_replica")
"""Ops that matter without an event."""


def numbered(stories: Iterable[Story], start: Position) -> Iterator[Proposal[Story]]:
    """Proposals that are counted through: the position is the number of one, from 0."""
    since = start[0] if start else 0
    for number, story in enumerate(stories):
        if number >= since:
            yield Proposal((number,), story)


def _written(story: Story) -> list[list[int]]:
    """Where steps appended, if that matters to any step."""
    return offsets_written(story) if any(map(speaks_of_offsets, story.steps)) else []


def drop_silent(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """All at once, the steps of which nothing was told."""
    del start  # there is one proposal, and whoever took it has no such steps any more
    driver = StoryDriver(story, invariants=())
    driver.run()
    told = {step for step, _ in driver.events}
    kept = [step for step in story.steps if step.number in told or step.op in UNTOLD]
    if len(kept) < len(story.steps):
        yield Proposal((), with_steps(story, kept))


def drop_groups(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """All steps that have something in common: what they name, what they do, the term of a leader.

    The largest groups come first.
    """
    since = start[0] if start else 0
    written = _written(story)
    without_replica = [_without_replica(story, name) for name in reversed(story.replicas)]
    groups = sorted(_groups(story), key=lambda group: -len(group))
    number = 0
    for smaller in without_replica:
        if number >= since and len(story.replicas) > 1:
            yield Proposal((number,), smaller)
        number += 1
    for group in groups:
        if number >= since:
            for smaller in without_steps(story, group, written):
                yield Proposal((number,), smaller)
        number += 1


def _without_replica(story: Story, name: str) -> Story:
    others = tuple(other for other in story.replicas if other != name)
    return with_steps(story, story.steps, replicas=others)


def _groups(story: Story) -> list[frozenset[int]]:
    """Sets of indexes of steps, each once."""
    named: dict[tuple[str, object], set[int]] = {}
    for index, step in enumerate(story.steps):
        named.setdefault(("op", step.op), set()).add(index)
        for field, value in step.fields.items():
            kind = kind_of(step.op, field)
            if kind is not None and kind not in ("replicas", "label"):
                named.setdefault((kind, value), set()).add(index)
                named.setdefault((step.op, value), set()).add(index)
    groups = [frozenset(indexes) for indexes in named.values()]
    elections = [i for i, step in enumerate(story.steps) if step.op.startswith("elect")]
    for first, last in pairwise([*elections, len(story.steps)]):
        groups += [frozenset(range(first, last)), frozenset(range(first + 1, last + 1))]
    everything = range(len(story.steps))
    return list(dict.fromkeys(group & frozenset(everything) for group in groups))


def drop_chunks(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """Parts of the story, down to single steps."""
    written = _written(story)
    for position, part in chunks(len(story.steps), start):
        for smaller in without_steps(story, part, written):
            yield Proposal(position, smaller)


def drop_stretches(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """Steps in a row, wherever they begin: chunks have fixed places, and may cut through them."""
    written, count = _written(story), len(story.steps)
    stretches = [
        range(end - size, end)
        for size in range(min(STRETCH, count), 2, -1)
        for end in range(count, size - 1, -1)
    ]
    since = start[0] if start else 0
    for number, stretch in enumerate(stretches):
        if number >= since:
            for smaller in without_steps(story, stretch, written):
                yield Proposal((number,), smaller)


def drop_pairs(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """Two steps that need not stand side by side, such as a crash and its restart."""
    written, count = _written(story), len(story.steps)
    pairs = list(combinations(range(count), 2))
    if count > PAIRS_UP_TO:
        pairs = [(i, j) for i, j in pairs if j - i <= NEIGHBOURS]
    since = start[0] if start else 0
    for number, pair in enumerate(pairs):
        if number >= since:
            for smaller in without_steps(story, pair, written):
                yield Proposal((number,), smaller)


def drop_and_swap(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """A step goes, and from there on two replicas, or two keys, are each other.

    So an election goes whose winner did no more than the leader before could have done, and with
    it, if need be, another step, such as the one that brought the winner up to date.
    """
    return numbered(_swapped(story), start)


def _swapped(story: Story) -> Iterator[Story]:
    names = names_of(story)
    for index in range(len(story.steps) - 1, -1, -1):
        for kind in ("replica", "key") if story.steps[index].op == "append" else ("replica",):
            for one, other in combinations(names[kind], 2):
                swap = {one: other, other: one}
                shorter = with_steps(story, [*story.steps[:index], *story.steps[index + 1 :]])
                yield renamed(shorter, kind, swap, since=index)
    elections = [i for i, step in enumerate(story.steps) if step.op.startswith("elect")]
    for index in elections if len(story.steps) <= PAIRS_UP_TO else ():
        for one, other in combinations(names["replica"], 2):
            swapped = renamed(story, "replica", {one: other, other: one}, since=index)
            for gone in range(len(story.steps)):
                if gone != index and len(swapped.steps) == len(story.steps):
                    kept = [s for at, s in enumerate(swapped.steps) if at not in (gone, index)]
                    yield with_steps(story, kept)
                    yield with_steps(story, kept, isr=(story.steps[elections[0]]["leader"],))
