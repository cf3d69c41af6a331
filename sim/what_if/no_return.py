"""The point of no return: the first moment after which a violation could not be avoided any more.

From a moment on the future is drawn anew, again and again; how often the same invariant is violated
then is an estimate of P(violation | the run up to that moment). At the start it is the base rate of
such runs; after the violation it is 1. In between it rises as the conditions come about; halving
finds where it reaches 1, as far as so many tries can tell: with 20 of 20 futures violated it is at
least 83 % with confidence 95 %. While it looks, one future without the violation is enough to go on
later; what time is left then goes into the shares.

For stories there is no such thing: what chance could decide otherwise is written down in a story
step by step, and each of its futures is a choice of its author.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import NamedTuple

from sim.check import Violation
from sim.cluster.simulation import Fork
from sim.explain.causality import causal_cone
from sim.explain.past import Recorded
from sim.scenario.generate.mix import Mix
from sim.scenario.model import Scenario
from sim.timed_run import run_scenario
from sim.trace.sentences import describe
from sim.what_if.futures import future_of, seed_of
from sim.what_if.intervals import Interval, clopper_pearson

TRIES = 20
"""So many futures from each moment."""

START = -1
"""The index of the start among the moments."""


class Point(NamedTuple):
    """How likely a violation is after a moment.

    Attributes:
        at_ms: The moment: all that happened up to it (inclusive) is as it was. -1 = nothing is.
        position: The last event then, of those that led to the violation; None = at the start.
        sentence: What that event is.
        tries: So many futures were tried.
        violated: In so many of them the same invariant was violated.
        interval: Where the share lies with confidence 95 %.
    """

    at_ms: int
    position: int | None
    sentence: str
    tries: int
    violated: int
    interval: Interval


class NoReturn(NamedTuple):
    """What is known of the point of no return of a violation.

    Attributes:
        invariant: Which law is broken.
        points: P(violation | prefix) at the moments with all their tries, in order of time.
        first: The first moment after which every future tried was violated.
        complete: False = the budget was over before `first` was found: it may be earlier.
    """

    invariant: str
    points: tuple[Point, ...]
    first: Point
    complete: bool


def point_of_no_return(
    scenario: Scenario,
    events: Recorded,
    violation: Violation,
    *,
    mix: Mix | None = None,
    tries: int = TRIES,
    within_s: float | None = None,
) -> NoReturn:
    """Find after which event a violation of a run could not be avoided any more.

    Args:
        scenario: What was run.
        events: (ms, event) of all that happened in it.
        violation: One of its violations.
        mix: What the scenario was drawn from; None = its future is made of its own sends and
            faults (`sim.what_if.futures`).
        tries: So many futures from each moment. The same number gives the same answer.
        within_s: Stop after so many seconds with what is known then; None = no limit.
    """
    until = None if within_s is None else time.monotonic() + within_s
    moments = _moments(events, violation)
    search = _Search(scenario, violation, mix, tries, until)
    low, high = START, len(moments) - 1
    complete = True
    try:
        while high - low > 1:
            middle = (low + high) // 2
            sealed = search.is_sealed(middle, events[moments[middle]][0])
            low, high = (low, middle) if sealed else (middle, high)
        if high == 0 and search.is_sealed(START, -1):
            high = START
    except _OutOfTimeError:
        complete = False
    points = {len(moments) - 1: _violated_point(events, moments[-1], tries)}
    with suppress(_OutOfTimeError):
        for index in (START, *sorted(search.outcomes)):
            position = None if index == START else moments[index]
            at_ms = -1 if position is None else events[position][0]
            found = search.outcome(index, at_ms)
            sentence = "the start" if position is None else describe(events[position][1])
            interval = clopper_pearson(sum(found), tries)
            points.setdefault(index, Point(at_ms, position, sentence, tries, sum(found), interval))
    curve = tuple(points[index] for index in sorted(points))
    first = points[high] if high in points else _first(search, events, moments, high, tries)
    return NoReturn(violation.invariant, curve, first, complete)


def _first(search: _Search, events: Recorded, moments: list[int], index: int, tries: int) -> Point:
    """The point of a moment that was tried to the end while others were not."""
    position = moments[index]
    at_ms, event = events[position]
    violated = sum(search.outcomes[index])
    interval = clopper_pearson(violated, tries)
    return Point(at_ms, position, describe(event), tries, violated, interval)


def _moments(events: Recorded, violation: Violation) -> list[int]:
    """Of each moment at which something led to the violation, the last such event."""
    last: dict[int, int] = {}
    for position in causal_cone(events, violation):
        last[events[position][0]] = position
    return list(last.values())


def _violated_point(events: Recorded, position: int, tries: int) -> Point:
    """The violation itself: with it in the past no future is without it."""
    at_ms, event = events[position]
    return Point(at_ms, position, describe(event), tries, tries, Interval(1.0, 1.0))


class _OutOfTimeError(Exception):
    """The budget is over."""


class _Search:
    """Tries futures of one scenario.

    Attributes:
        outcomes: Index of a moment -> of each future tried whether it violates the invariant.
    """

    def __init__(
        self,
        scenario: Scenario,
        violation: Violation,
        mix: Mix | None,
        tries: int,
        until: float | None,
    ) -> None:
        self._scenario = scenario
        self._invariant = violation.invariant
        self._mix = mix
        self._tries = tries
        self._until = until
        self.outcomes: dict[int, list[bool]] = {}

    def is_sealed(self, index: int, at_ms: int) -> bool:
        """Whether every future from a moment on violates; the first that does not is enough."""
        known = self.outcomes.setdefault(index, [])
        while all(known) and len(known) < self._tries:
            known.append(self._violates(at_ms + 1, len(known)))
        return all(known)

    def outcome(self, index: int, at_ms: int) -> list[bool]:
        """Of all futures from a moment on whether they violate."""
        known = self.outcomes.setdefault(index, [])
        while len(known) < self._tries:
            known.append(self._violates(at_ms + 1, len(known)))
        return known

    def _violates(self, from_ms: int, number: int) -> bool:
        if self._until is not None and time.monotonic() > self._until:
            raise _OutOfTimeError
        seed = seed_of(self._scenario, from_ms, number)
        future = future_of(self._scenario, from_ms, seed, self._mix)
        run = run_scenario(future, also_check=(self._invariant,), fork=Fork(from_ms, seed))
        return self._invariant in run.violated
