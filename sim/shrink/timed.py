"""Shrinks a scenario: the same law is broken for the same cause, in as few events as possible.

Each try is a full run, so this is slower than shrinking a story, and what comes out is larger. It
is for what no story says: settings that change in the midst of a run, clocks that differ, formats.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import NamedTuple

from sim.check import Violation
from sim.errors import BadInput
from sim.explain.signature import signature_of
from sim.files.document import listed
from sim.scenario.file.write import as_said, scenario_text
from sim.scenario.model import Expect, Scenario
from sim.scenario.model.promises import promise_of
from sim.shrink.ddmin import BEGINNING, Budget, Place, Reducer
from sim.shrink.story_shows import Cause
from sim.shrink.timed_passes import PASSES, Candidate, size_of
from sim.timed_run import Run, conclusive, run_scenario
from sim.trace import Event


class ShrunkTimed(NamedTuple):
    """What came of shrinking a scenario.

    Attributes:
        scenario: The smallest one found; it expects what its run violates.
        violation: What it breaks; `at` is in ms.
        events: How many events lead there, those of its last moment included.
        events_before: How many there were at the start.
        tries: How many scenarios were run for it.
        complete: Whether shrinking came to an end; False = the budget cut it short.
        place: Where the work stands, to go on from.
    """

    scenario: Scenario
    violation: Violation
    events: int
    events_before: int
    tries: int
    complete: bool
    place: Place


class TimedProgress(NamedTuple):
    """How far a shrink is.

    Attributes:
        scenario: The smallest scenario so far.
        events: How many events lead to its violation.
        place: Where the work stands, to go on from.
        tries: How many scenarios were run.
        improved: Whether this scenario is new.
    """

    scenario: Scenario
    events: int
    place: Place
    tries: int
    improved: bool


class TimedCause:
    """The violation that a run has to show to count as the same."""

    def __init__(self, invariant: str, cause: Hashable, cause_of: Cause) -> None:
        """What it breaks, for what cause, and what tells causes apart."""
        self.invariant = invariant
        self.cause = cause
        self._cause_of = cause_of

    def found_in(self, scenario: Scenario) -> tuple[Violation, int] | None:
        """The first violation of the law for this cause, and how many events lead there."""
        events: list[tuple[int, Event]] = []
        run = run_scenario(scenario, trace=events, also_check=(self.invariant,))
        rules = promise_of(scenario).rules
        for violation in run.violations:
            if violation.invariant == self.invariant:
                past = [pair for pair in events if pair[0] <= violation.at]
                if self._cause_of(past, violation, rules) == self.cause:
                    return violation, len(past)
        return None


def shrink_timed(
    scenario: Scenario,
    sought: Violation | str | None = None,
    *,
    within_s: float | None = None,
    tries: int | None = None,
    progress: Callable[[TimedProgress], None] | None = None,
    cause_of: Cause = signature_of,
    start: tuple[Scenario, Place] | None = None,
) -> ShrunkTimed:
    """Make a scenario as small as it can be while its run breaks the same law for the same cause.

    Args:
        scenario: Its run breaks a law.
        sought: The violation, or the name of the law of which the first violation counts. None =
            the first violation.
        within_s: Stop after so many seconds with the best found.
        tries: Stop after so many runs with the best found.
        progress: Told of every run, and of every smaller scenario.
        cause_of: What tells causes apart.
        start: The smallest scenario of an earlier shrink of this one that was cut short, and where
            its work stood: the result is as if it had not been.

    Raises:
        BadInput: The run breaks no law, or not the one that is sought.
    """
    said = replace(as_said(scenario), expect=Expect())
    target, violation, events_before = sought_in_run(said, sought, cause_of=cause_of)
    best, place = (said, BEGINNING) if start is None else start
    first = _shown(Candidate(best), target)
    if first is None:
        raise BadInput(f"{best.id}: does not show what is shrunk: {violation.invariant}")
    reducer = Reducer(
        first,
        PASSES,
        shows=lambda candidate: _shown(candidate, target),
        smaller=lambda one, other: size_of(one) < size_of(other),
        key=lambda candidate: candidate.scenario,
        place=place,
    )

    def improved(found: Candidate, at: Place) -> None:
        if progress is not None:
            progress(TimedProgress(found.scenario, found.events, at, reducer.tries, improved=True))

    def tried(count: int) -> None:
        if progress is not None:
            best = reducer.best
            progress(
                TimedProgress(best.scenario, best.events, reducer.place, count, improved=False)
            )

    reduced = reducer.run(Budget(within_s, tries), improved=improved, tried=tried)
    smallest = reduced.value.scenario
    found = target.found_in(smallest)
    assert found is not None
    return ShrunkTimed(
        _expecting(smallest),
        found[0],
        found[1],
        events_before,
        reduced.tries,
        reduced.complete,
        reducer.place,
    )


def sought_in_run(
    scenario: Scenario, sought: Violation | str | None, *, cause_of: Cause = signature_of
) -> tuple[TimedCause, Violation, int]:
    """What a shrink of the scenario has to keep, the violation in its run, and the run's events.

    Raises:
        BadInput: As `shrink_timed`.
    """
    events: list[tuple[int, Event]] = []
    name = sought.invariant if isinstance(sought, Violation) else sought
    run = run_scenario(scenario, trace=events, also_check=() if name is None else (name,))
    if not run.violations:
        conclusive(run)
    violation = _violation(scenario, run, sought)
    past = [pair for pair in events if pair[0] <= violation.at]
    cause = cause_of(past, violation, promise_of(scenario).rules)
    return TimedCause(violation.invariant, cause, cause_of), violation, len(events)


def _violation(scenario: Scenario, run: Run, sought: Violation | str | None) -> Violation:
    if not run.violations:
        raise BadInput(f"{scenario.id}: breaks no law, so there is nothing to shrink")
    if sought is None:
        return run.violations[0]
    if isinstance(sought, Violation):
        if sought not in run.violations:
            raise BadInput(f"{scenario.id}: has no such violation: {sought.sentence}")
        return sought
    found = next((one for one in run.violations if one.invariant == sought), None)
    if found is None:
        raise BadInput(f"{scenario.id}: {sought} is not broken; broken: {listed(run.violated)}")
    return found


def _shown(candidate: Candidate, target: TimedCause) -> Candidate | None:
    """The candidate with what its run came to; None = it does not show it, or no file can say it.

    What the simulator itself refuses in the midst of a run is no smaller case of what is sought.
    """
    try:
        found = target.found_in(candidate.scenario)
    except (ValueError, AssertionError):
        return None
    if found is None:
        return None
    try:
        scenario_text(candidate.scenario)
    except BadInput:
        return None
    violation, events = found
    return Candidate(candidate.scenario, violation.at, events, violation.key)


def _broken(run: Run) -> tuple[str, ...]:
    """All that a run violates, whatever its scenario judges."""
    return tuple(dict.fromkeys(violation.invariant for violation in run.seen))


def _expecting(scenario: Scenario) -> Scenario:
    """The scenario with what its run violates as its expectation."""
    return replace(scenario, expect=Expect(_broken(run_scenario(scenario))))
