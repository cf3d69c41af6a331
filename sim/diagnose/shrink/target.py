"""The target of a shrink: a violation of the same invariant for the same cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Generic, TypeAlias, TypeVar

from sim.check import Violation
from sim.check.checker import known_invariants, story_invariants
from sim.diagnose.explain.past import Recorded
from sim.diagnose.explain.signature import Signature, signature_of
from sim.diagnose.shrink.engine import Kind, Reducer, Shown
from sim.diagnose.shrink.illegal import ELECTIONS, illegal_steps
from sim.diagnose.shrink.scenarios import SCENARIOS
from sim.diagnose.shrink.stories import STORIES, with_steps
from sim.errors import BadInput
from sim.files.document import listed, unknown_value
from sim.protocol.rules import Rules
from sim.simulate.run import conclusive
from sim.simulate.run.timed import judge_scenario, judging
from sim.simulate.scenario.file.write import as_said, scenario_text
from sim.simulate.scenario.model import Expect, Scenario, promise_of
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story

V = TypeVar("V", bound=Story | Scenario)

Moments: TypeAlias = Iterator[tuple[Sequence[Violation], Recorded]]
"""For each moment with violations: these, and the events so far."""


def judged(value: Story | Scenario, invariants: Iterable[str]) -> Moments:
    """Runs a story or a scenario and yields its violations of some invariants."""
    if isinstance(value, Story):
        driver = StoryDriver(value, invariants=tuple(invariants))
        return watched(driver, map(driver.take, value.steps))
    run = judge_scenario(value, invariants, keep_events=True)
    if not run.violations:
        conclusive(run)
    found = sorted(run.violations, key=lambda violation: violation.position)
    by_time = groupby(found, key=lambda violation: violation.at)
    return ((tuple(together), run.events) for _, together in by_time)


def watched(driver: StoryDriver, steps: Iterable[None]) -> Moments:
    """Takes steps of a story and yields the violations."""
    seen = 0
    for _ in steps:
        found = driver.checker.violations[seen:]
        if found:
            yield found, driver.events
            seen += len(found)


def rules_of(value: Story | Scenario) -> Rules:
    """The rules that a story or a scenario is judged by."""
    return value.rules if isinstance(value, Story) else promise_of(value).rules


@dataclass(frozen=True, slots=True)
class Target(Generic[V]):
    """The violation that a smaller value has to show.

    Attributes:
        invariant: Name of the violated invariant.
        signature: Signature of the violation.
        allowed: Kinds of illegal steps that a story may take (`sim.diagnose.shrink.illegal`): those
            of the value that is shrunk.
        from_run: True to compare all kinds, for a story made of a run; False for elections only.
    """

    invariant: str
    signature: Signature
    allowed: frozenset[str] = frozenset()
    from_run: bool = False

    def found_in(self, value: V, moments: Moments | None = None) -> Shown[V] | None:
        """Finds the first violation with this signature; None without one.

        Args:
            value: A story or a scenario.
            moments: Its violations, moment by moment; None to run it.
        """
        rules, elections = rules_of(value), set[str]()
        counted = {*ELECTIONS} if isinstance(value, Story) else set()
        for violations, events in moments or judged(value, (self.invariant, *counted)):
            elections |= {each.invariant for each in violations} & counted
            for violation in violations:
                if violation.invariant == self.invariant:
                    past = _past(events, violation)
                    same = elections <= self.allowed and self.signature == signature_of(
                        past, violation, rules
                    )
                    if same and (not self.from_run or illegal_steps(past, rules) <= self.allowed):
                        return Shown(value, violation, past)
        return None

    def shown_by(self, value: V) -> Shown[V] | None:
        """Runs a value: the story up to the step that shows the target, or the scenario; else None.

        A value that the simulator refuses, or that no file can express, does not count.
        """
        try:
            found = self.found_in(value)
            if found is None:
                return None
            if isinstance(value, Story):
                return found._replace(value=_up_to(value, found.violation))
            scenario_text(value)
        except (ValueError, AssertionError, BadInput):
            return None
        return found

    def reducer(self, value: V) -> Reducer[V]:
        """Makes the reducer of a value that shows the target.

        Raises:
            BadInput: The value does not show it.
        """
        shown = self.shown_by(value)
        if shown is None:
            raise BadInput(f"{value.id}: does not show what is shrunk: {self.invariant}")
        kind: Kind[Any] = STORIES if isinstance(value, Story) else SCENARIOS
        return Reducer(shown, kind, self.shown_by)


def _past(events: Recorded, violation: Violation) -> Recorded:
    return [pair for pair in events if pair[0] <= violation.at]


def _up_to(value: Any, violation: Violation) -> Any:
    """The story up to the step that shows the violation; the scenario as its file expresses it."""
    if isinstance(value, Story):
        return with_steps(value, value.steps[: violation.at])
    return replace(as_said(value), expect=Expect())


def target_of(
    value: V, invariant: str | None = None, *, where: str | None = None
) -> tuple[Target[V], Shown[V], int]:
    """Finds the target of a shrink, the value as it shows it, and the number of events of the run.

    Args:
        value: A story or a scenario with a violation.
        invariant: Invariant whose first violation counts; None for the first one violated, if
            possible of those that the value expects.
        where: Name of the value in messages; None for its id.

    Raises:
        BadInput: The value violates nothing, or not this invariant.
    """
    where = where or value.id
    if invariant is not None and invariant not in known_invariants():
        hint = unknown_value(invariant, known_invariants(), what="invariant")
        raise BadInput(f"{where}: {hint}")
    named = [] if invariant is None else [invariant]
    by_format = story_invariants(liveness=True) if isinstance(value, Story) else judging(value)
    moments = list(judged(value, [*by_format, *value.expect.violated, *named]))
    violations = [violation for found, _ in moments for violation in found]
    violated = list(dict.fromkeys(violation.invariant for violation in violations))
    if not violated:
        raise BadInput(f"{where}: violates no invariant, so there is nothing to shrink")
    wanted = named or [name for name in violated if name in value.expect.violated] or violated
    violation = next((each for each in violations if each.invariant in wanted), None)
    if violation is None:
        raise BadInput(f"{where}: {invariant} is not violated; violated: {listed(violated)}")
    events, rules = moments[-1][1], rules_of(value)
    past = _past(events, violation)
    allowed = illegal_steps(past, rules) & {*ELECTIONS} if isinstance(value, Story) else ()
    target: Target[V] = Target(
        violation.invariant, signature_of(past, violation, rules), frozenset(allowed)
    )
    return target, Shown(_up_to(value, violation), violation, past), len(events)
