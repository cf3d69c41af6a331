"""Whether a story shows a violation: one law alone judges it, and it stops where that is broken."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sim.check import Violation
from sim.check.checker import story_invariants
from sim.rules import Rules
from sim.shrink.story_edit import with_steps
from sim.story.driver import StoryDriver
from sim.story.format import Story
from sim.trace import Appended, Event, Pushed

Cause: TypeAlias = Callable[[Sequence[tuple[int, Event]], Violation, Rules], Hashable]
"""What tells causes apart: (when, event) up to the violation, the violation, the rules."""


def family_and_law(
    events: Sequence[tuple[int, Event]], violation: Violation, rules: Rules
) -> Hashable:
    """The coarsest cause: the law, and what kind of thing goes wrong."""
    del events, rules
    return violation.invariant, violation.family


@dataclass(frozen=True, slots=True)
class Sought:
    """The violation that a story has to show to count as the same.

    Attributes:
        invariant: The law that it breaks.
        cause: Its cause, as `cause_of` has it.
        cause_of: What tells causes apart.
        broken: The laws that may be broken by then. A shorter story that breaks another one, such
            as two leaders in one epoch, is another story.
    """

    invariant: str
    cause: Hashable
    cause_of: Cause
    broken: frozenset[str]

    def shown_by(self, story: Story) -> Story | None:
        """The story up to the step that breaks the law for this cause; None = it does not."""
        found = self.found_in(story)
        if found is None:
            return None
        if found.at < len(story.steps):
            story = with_steps(story, story.steps[: found.at])
        return story if self._breaks_nothing_else(story) else None

    def _breaks_nothing_else(self, story: Story) -> bool:
        driver = StoryDriver(story, invariants=story_invariants(liveness=False))
        driver.run()
        return all(violation.invariant in self.broken for violation in driver.checker.violations)

    def found_in(self, story: Story) -> Violation | None:
        """The first violation of the law for this cause."""
        driver = StoryDriver(story, invariants=(self.invariant,))
        violations = driver.checker.violations
        seen = 0
        for step in story.steps:
            driver.take(step)
            while seen < len(violations):
                if self.cause_of(driver.events, violations[seen], story.rules) == self.cause:
                    return violations[seen]
                seen += 1
        return None


def offsets_written(story: Story) -> list[list[int]]:
    """The offsets at which each step appended."""
    driver = StoryDriver(story, invariants=())
    driver.run()
    written: list[list[int]] = [[] for _ in story.steps]
    for step, event in driver.events:
        if isinstance(event, Appended | Pushed) and step:
            written[step - 1].append(event.batch.base_offset)
    return written
