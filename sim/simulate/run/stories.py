"""The run of a story, compared with the expectation of the story."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sim.bounds import bounded
from sim.check.checker import story_invariants
from sim.check.violation import judged, not_as_expected
from sim.protocol.events import Event
from sim.protocol.events.sentences import describe
from sim.simulate.run.value import Run, verdict_of
from sim.simulate.story.driver import StoryDriver, StoryReplica, views_of
from sim.simulate.story.idle import IdleStep

if TYPE_CHECKING:
    from sim.simulate.story.format import Claims, Story


def run_story(story: Story, *, also_check: Iterable[str] = ()) -> Run:
    """Runs all steps of a story and judges it.

    Args:
        story: The story.
        also_check: Invariants that are judged beyond those of the story.
    """
    expect, also = story.expect, (*also_check, *story.asserted)
    named = (*(expect.checked or ()), *expect.violated, *also)
    driver = StoryDriver(story, invariants=[*story_invariants(liveness=True), *named])
    views: dict[str, StoryReplica] = {}
    with bounded() as watch:
        for step in story.steps:
            driver.take(step)
        views = views_of(driver.replicas, driver.rules, driver.labels)
    found = judged(
        driver.checker.violations,
        expected=(*expect.violated, *also),
        checked=expect.checked,
        by_default=story_invariants(liveness=False),
    )
    violated = list(dict.fromkeys(violation.invariant for violation in found.violations))
    differences = not_as_expected(violated, expect.violated, ended=watch.reached is None)
    if watch.reached is None:  # a run that was cut off might have come to what is claimed
        differences += _not_idle(story, driver.idle, driver.events)
        if expect.leader is not None and expect.leader != driver.leader:
            differences.append(f"leader is {driver.leader}, expected {expect.leader}")
        differences += _differences(views, expect.replicas)
        for moment, claims in expect.moments.items():
            noted = _differences(driver.moments[moment], claims)
            differences += [f"{moment}: {text}" for text in noted]
    return Run(
        content=story,
        rules=story.rules,
        verdict=verdict_of(found.violations, watch.reached),
        reason=watch.reached,
        violations=found.violations,
        not_judged=found.not_judged,
        differences=tuple(differences),
        events=tuple(driver.events),
        cut_off=watch.reached is not None,
        remarks=tuple(driver.joining.notes.values()),
        labels=driver.labels,
        replicas=views,
        leader=driver.leader,
        moments=driver.moments,
        answers=tuple(driver.answers),
    )


def _not_idle(
    story: Story, idle: Iterable[IdleStep], events: Sequence[tuple[int, Event]]
) -> Iterator[str]:
    """Sentences about steps that are marked as doing nothing, and did something."""
    void = {step.number for step in idle}
    for step in story.steps:
        if step.does_nothing and step.number not in void:
            done = [describe(event) for number, event in events if number == step.number]
            did = ", ".join(done) or "something changed"
            yield f"step {step.number} ({step.line}) was meant to do nothing, and {did}"


def _differences(replicas: Mapping[str, StoryReplica], claimed: Claims) -> Iterator[str]:
    for name, claims in claimed.items():
        for part, claim in claims.items():
            have = replicas[name].claimable(part) if name in replicas else None
            if have != claim:
                yield f"replica {name}: {part} is {have}, expected {claim}"
