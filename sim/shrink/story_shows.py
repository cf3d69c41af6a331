"""Whether a story shows a violation: one law alone judges it, and it stops where that is broken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sim.check import Violation
from sim.rules import Rules
from sim.shrink.story_edit import with_steps
from sim.story.driver import StoryDriver
from sim.story.format import Story
from sim.trace import Appended, Event, Pushed

Cause: TypeAlias = Callable[[Sequence[tuple[int, Event]], Violation, Rules], Hashable]
"""What tells causes of violations apart, such as `sim.explain.signature.signature_of`.

It is given (when, event) of what happened up to the violation, the violation, and the rules.
"""


def family_and_law(
    events: Sequence[tuple[int, Event]], violation: Violation, rules: Rules
) -> Hashable:
    """The coarsest cause: the law, and what kind of thing goes wrong."""
    del events, rules
    return violation.invariant, violation.family


OWN_STEPS_BREAK = frozenset(("election-safety", "epoch-monotonic"))
"""Laws that are broken by elections which no cluster would hold. A story that breaks one of them,
and did not before it was made shorter, is another story."""


@dataclass(frozen=True, slots=True)
class Sought:
    """The violation that a story has to show to count as the same.

    Attributes:
        invariant: The law that it breaks.
        cause: Its cause, as `cause_of` has it.
        cause_of: What tells causes apart.
        kept: Those of `OWN_STEPS_BREAK` that it keeps to.
    """

    invariant: str
    cause: Hashable
    cause_of: Cause
    kept: frozenset[str]

    def shown_by(self, story: Story) -> Story | None:
        """The story up to the step that breaks the law for this cause; None = it does not."""
        found = self.found_in(story)
        if found is None:
            return None
        if found.at < len(story.steps):
            story = with_steps(story, story.steps[: found.at])
        return None if self.kept & broken_in(story, self.kept) else story

    def found_in(self, story: Story, *, first_only: bool = False) -> Violation | None:
        """The first violation of the law for this cause; `first_only`: if the law's first is it."""
        driver = StoryDriver(story, invariants=(self.invariant,))
        violations = driver.checker.violations
        seen = 0
        for step in story.steps:
            driver.take(step)
            while seen < len(violations):
                if self.cause_of(driver.events, violations[seen], story.rules) == self.cause:
                    return violations[seen]
                if first_only:
                    return None
                seen += 1
        return None


def broken_in(story: Story, laws: Collection[str]) -> frozenset[str]:
    """Those of some laws that a story breaks."""
    driver = StoryDriver(story, invariants=sorted(laws))
    driver.run()
    return frozenset(violation.invariant for violation in driver.checker.violations)


def offsets_written(story: Story) -> list[list[int]]:
    """The offsets at which each step appended."""
    driver = StoryDriver(story, invariants=())
    driver.run()
    written: list[list[int]] = [[] for _ in story.steps]
    for step, event in driver.events:
        if isinstance(event, Appended | Pushed) and step:
            written[step - 1].append(event.batch.base_offset)
    return written


def high_watermarks(story: Story) -> list[dict[str, int]]:
    """The high watermark of each replica before each step."""
    driver = StoryDriver(story, invariants=())
    before: list[dict[str, int]] = []
    for step in story.steps:
        before.append({name: each.log.high_watermark for name, each in driver.replicas.items()})
        driver.take(step)
    return before
