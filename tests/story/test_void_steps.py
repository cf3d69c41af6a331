"""Stories of the repository, drawn at random, with a void step put in: each is reported."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import NamedTuple

import pytest

from sim.simulate.run.stories import run_story
from sim.simulate.story import Story
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.op import Step
from sim.simulate.story.steps import line_of
from tests.story.test_story_files import PATHS, loaded

DRAWN = 100
"""How many; of 3,000 all are."""
AGAIN = ("crash", "restart", "compact", "consume", "read_to_end", "isr", "elect", "flush")
AGAIN += ("sync", "follow", "coordinate", "quiesce", "check", "expand_isr", "expect_tombstone_gone")
"""Steps that do nothing the third time in a row, if not the second: what they begin is done."""


class Void(NamedTuple):
    """A story with steps put in, of which the last one does nothing."""

    story: Story
    number: int


def step(op: str, **fields: object) -> Step:
    return Step(0, op, fields, line_of(op, fields))


def without_effect(world: StoryDriver, last: Step) -> Iterator[list[Step]]:
    """Steps that do nothing now, each by itself, and the last one anew."""
    up = [name for name, replica in world.replicas.items() if replica.up]
    down = [name for name in world.replicas if name not in up]
    led = [name for name in up if world.replicas[name].leadership is not None]
    yield [step("advance", ms=0)]
    if all(r.leadership.isr == world.isr for r in world.replicas.values() if r.leadership):
        yield [step("isr", isr=world.isr)]
    for name in up:
        yield [step("restart", replica=name)]
        yield [step("deliver", follower=name, leader=name)]
        for other in sorted({*up} - {*led}):
            yield [step("fetch", follower=name, leader=other)]
            yield [step("append", leader=other, label="void", key="void")]
    for name in down:
        yield [step("crash", replica=name)]
        yield [step("compact", replica=name)]
        yield [step("consume", consumer="void", replica=name)]
        yield [step("fetch", follower=name, leader=up[0] if up else name)]
    if last.op in AGAIN:
        yield [last] * 3


def drawn(seed: int) -> Void:
    """A story with a void step somewhere."""
    random = Random(seed)
    story = loaded(random.choice(PATHS))
    at = random.randint(1, len(story.steps))
    world = StoryDriver(story, invariants=())
    for one in story.steps[:at]:
        world.take(one)
    by_op: dict[str, list[list[Step]]] = {}
    for steps in without_effect(world, story.steps[at - 1]):
        by_op.setdefault(steps[-1].op, []).append(steps)
    put_in = random.choice(by_op[random.choice(sorted(by_op))])
    steps = [*story.steps[:at], *put_in, *story.steps[at:]]
    numbered = tuple(
        replace(one, number=number, line=one.line, does_nothing=False)
        for number, one in enumerate(steps, start=1)
    )
    return Void(replace(story, steps=numbered), at + len(put_in))


@pytest.mark.parametrize("seed", range(DRAWN))
def test_a_void_step_anywhere_in_a_story_is_reported(seed: int) -> None:
    void = drawn(seed)

    told = {one.number for one in run_story(void.story).idle}

    assert void.number in told, (void.story.id, void.story.steps[void.number - 1].line)
