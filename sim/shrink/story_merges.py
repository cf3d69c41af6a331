"""Passes that put one step, or the state at the start, in the place of several steps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations

from sim.shrink.ddmin import Position, Proposal
from sim.shrink.story_edit import renamed, step_of, with_steps
from sim.shrink.story_removals import numbered
from sim.shrink.story_shows import high_watermarks
from sim.story.format import Story
from sim.story.ops import OPS
from sim.story.steps import Step

MERGES_UP_TO = 40
"""Steps; in longer stories a step is merged with its neighbours only."""
NEIGHBOURS = 6


def merge(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """One step does more, such as `sync` for `fetch` or `quiesce` for `sync`, and another goes."""
    return numbered(_merged(story), start)


def _merged(story: Story) -> Iterator[Story]:
    steps, count = story.steps, len(story.steps)
    far = NEIGHBOURS if count > MERGES_UP_TO else count
    for index, step in enumerate(steps):
        for wider in _wider(step):
            for other in range(max(0, index - far), min(count, index + far + 1)):
                if other != index:
                    put = [*steps[:index], wider, *steps[index + 1 :]]
                    yield with_steps(story, [*put[:other], *put[other + 1 :]])
    for one, other in combinations(range(count), 2):
        if steps[one].op == steps[other].op == "advance":
            both = step_of("advance", {"ms": steps[one]["ms"] + steps[other]["ms"]})
            yield with_steps(story, _with_one(steps, other, both, gone=one))
            yield with_steps(story, _with_one(steps, one, both, gone=other))


def _with_one(steps: tuple[Step, ...], index: int, step: Step, *, gone: int) -> list[Step]:
    put = [*steps[:index], step, *steps[index + 1 :]]
    return [*put[:gone], *put[gone + 1 :]]


def _wider(step: Step) -> Iterator[Step]:
    """Steps that do at least as much as this one, or nearly the same in another way."""
    pair = {name: step.fields[name] for name in ("follower", "leader") if name in step.fields}
    if "follower" in OPS[step.op].required and step.op != "push":
        if step.op != "sync":
            yield step_of("sync", pair)
        if step.op != "fetch":
            yield step_of("fetch", pair)
        yield step_of("quiesce", {})
    if step.op == "check":
        yield step_of("quiesce", {})


def one_for_two(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """One replica does what two did, and no longer fetches from itself.

    What a follower cleans ends at its own high watermark, so a second try keeps those bounds.
    """
    return numbered(_one_for_two(story), start)


def _one_for_two(story: Story) -> Iterator[Story]:
    if len(story.replicas) < 2:
        return
    bounds = high_watermarks(story)
    bounded = [
        Step(
            step.number, step.op, {**step.fields, "upto": bounds[step.number - 1][step["replica"]]}
        )
        if step.op == "compact" and "upto" not in step.fields
        else step
        for step in story.steps
    ]
    for one, other in permutations(story.replicas, 2):
        rest = tuple(name for name in story.replicas if name != other)
        for steps in (story.steps, bounded):
            put = renamed(with_steps(story, steps), "replica", {other: one}).steps
            apart = [step for step in put if "leader" not in step.fields or _is_between_two(step)]
            yield with_steps(story, apart, replicas=rest)


def _is_between_two(step: Step) -> bool:
    return bool(step.get("follower") != step["leader"])


def begin_with(story: Story, start: Position) -> Iterator[Proposal[Story]]:
    """What a step sets up is there from the start: the in-sync set, a replica.

    A leader that is alone in the in-sync set needs no step to commit.
    """
    return numbered(_begun(story), start)


def _begun(story: Story) -> Iterator[Story]:
    leader = next((step["leader"] for step in story.steps if step.op.startswith("elect")), None)
    for index, step in enumerate(story.steps):
        rest = [*story.steps[:index], *story.steps[index + 1 :]]
        if leader is not None and story.isr != (leader,):
            yield with_steps(story, rest, isr=(leader,))
        if step.op == "isr":
            isr = tuple(name for name in story.replicas if name in step["isr"])
            yield with_steps(story, rest, isr=isr or story.isr)
        elif step.op == "add_replica":
            name = step["replica"]
            replicas = (*story.replicas, name)
            yield with_steps(story, rest, replicas=replicas, isr=replicas, voters=replicas)
            yield with_steps(story, rest, replicas=replicas)
