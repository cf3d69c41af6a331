"""Shrinks a story: the same law is broken for the same cause, in as few and as plain steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sim.check import Violation
from sim.check.checker import known_invariants, story_invariants
from sim.errors import BadInput
from sim.explain.signature import signature_of
from sim.files.document import listed, unknown_value
from sim.shrink.ddmin import BEGINNING, Budget, Pass, Place, Reducer
from sim.shrink.story_edit import with_steps
from sim.shrink.story_merges import begin_with, merge, one_for_two
from sim.shrink.story_removals import (
    drop_and_swap,
    drop_chunks,
    drop_groups,
    drop_pairs,
    drop_silent,
    drop_stretches,
)
from sim.shrink.story_shows import OWN_STEPS_BREAK, Cause, Sought, broken_in
from sim.shrink.story_size import is_smaller, key_of
from sim.shrink.story_values import (
    fewer_names,
    plain_fields,
    plain_order,
    plain_rules,
    plain_start,
)
from sim.story.driver import StoryDriver
from sim.story.format import Story

PASSES: Sequence[Pass[Story]] = (
    drop_silent,
    drop_groups,
    drop_chunks,
    plain_rules,
    plain_start,
    drop_groups,
    drop_stretches,
    drop_pairs,
    begin_with,
    one_for_two,
    merge,
    drop_and_swap,
    fewer_names,
    plain_fields,
    plain_order,
)
"""A round: what takes the most away comes first."""


class ShrunkStory(NamedTuple):
    """What came of shrinking a story.

    Attributes:
        story: The smallest one found.
        violation: What it breaks; `at` is the number of its last step.
        steps: How many steps it has.
        steps_before: How many there were at the start.
        tries: How many stories were run for it.
        complete: Whether shrinking came to an end: no single step can be left out any more. False
            = the budget cut it short.
        place: Where the work stands, to go on from.
    """

    story: Story
    violation: Violation
    steps: int
    steps_before: int
    tries: int
    complete: bool
    place: Place


class Progress(NamedTuple):
    """How far a shrink is.

    Attributes:
        story: The smallest story so far.
        place: Where the work stands, to go on from.
        tries: How many stories were run.
        improved: Whether this story is new.
    """

    story: Story
    place: Place
    tries: int
    improved: bool


def shrink_story(
    story: Story,
    sought: Violation | str | None = None,
    *,
    within_s: float | None = None,
    tries: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cause_of: Cause = signature_of,
    start: tuple[Story, Place] | None = None,
) -> ShrunkStory:
    """Make a story as small as it can be while it breaks the same law for the same cause.

    Args:
        story: A story that breaks a law.
        sought: The violation, or the name of the law of which the first violation counts. None =
            the first violation of a law that the story expects to be broken, else of any.
        within_s: Stop after so many seconds with the best found.
        tries: Stop after so many runs with the best found.
        progress: Told of every run, and of every smaller story.
        cause_of: What tells causes apart.
        start: The smallest story of an earlier shrink of this one that was cut short, and where
            its work stood: the result is as if it had not been.

    Raises:
        BadInput: The story breaks no law, or not the one that is sought.
    """
    target, violation = sought_in(story, sought, cause_of=cause_of)
    first = with_steps(story, story.steps[: violation.at])
    best, place = (first, BEGINNING) if start is None else start
    if target.shown_by(best) is None:
        raise BadInput(f"{best.id}: does not show what is shrunk: {violation.invariant}")
    reducer = Reducer(
        best,
        PASSES,
        shows=target.shown_by,
        smaller=is_smaller,
        key=key_of,
        place=place,
    )

    def improved(found: Story, at: Place) -> None:
        if progress is not None:
            progress(Progress(found, at, reducer.tries, improved=True))

    def tried(count: int) -> None:
        if progress is not None:
            progress(Progress(reducer.best, reducer.place, count, improved=False))

    reduced = reducer.run(Budget(within_s, tries), improved=improved, tried=tried)
    last = target.found_in(reduced.value)
    assert last is not None
    return ShrunkStory(
        reduced.value,
        last,
        len(reduced.value.steps),
        len(story.steps),
        reduced.tries,
        reduced.complete,
        reducer.place,
    )


def sought_in(
    story: Story,
    sought: Violation | str | None,
    *,
    cause_of: Cause = signature_of,
    where: str | None = None,
) -> tuple[Sought, Violation]:
    """What a shrink of the story has to keep, and the violation that it is in the story.

    Args:
        story: The story.
        sought: As in `shrink_story`.
        cause_of: What tells causes apart.
        where: What messages call the story; None = its id.

    Raises:
        BadInput: As `shrink_story`.
    """
    where = where or story.id
    judged = [*story_invariants(liveness=True), *story.expect.violated]
    name = sought.invariant if isinstance(sought, Violation) else sought
    if name is not None:
        if name not in known_invariants():
            raise BadInput(f"{where}: {unknown_value(name, known_invariants(), what='invariant')}")
        judged.append(name)
    driver = StoryDriver(story, invariants=judged)
    driver.run()
    violation = _violation(story, driver.checker.violations, sought, where)
    step = violation.at
    events = [(at, event) for at, event in driver.events if at <= step]
    cause = cause_of(events, violation, story.rules)
    kept = OWN_STEPS_BREAK - broken_in(with_steps(story, story.steps[:step]), OWN_STEPS_BREAK)
    return Sought(violation.invariant, cause, cause_of, kept), violation


def _violation(
    story: Story, violations: Sequence[Violation], sought: Violation | str | None, where: str
) -> Violation:
    """The one of the violations that is sought."""
    if isinstance(sought, Violation):
        if sought not in violations:
            raise BadInput(f"{where}: has no such violation: {sought.sentence}")
        return sought
    broken = list(dict.fromkeys(violation.invariant for violation in violations))
    if not broken:
        raise BadInput(f"{where}: breaks no law, so there is nothing to shrink")
    if sought is None:
        expected = [name for name in broken if name in story.expect.violated]
        return next(v for v in violations if v.invariant in (expected or broken))
    if sought not in broken:
        raise BadInput(f"{where}: {sought} is not broken; broken: {listed(broken)}")
    return next(violation for violation in violations if violation.invariant == sought)
