"""The point of no return: the first moment after which a violation could not be avoided any more.

From a moment on the future is drawn anew, again and again; how often the same invariant is violated
then is an estimate of P(violation | the run up to that moment). At the start it is the base rate of
such runs; after the violation it is 1. In between it rises as the conditions come about; halving
finds where it reaches 1, as far as so many tries can tell: with 20 of 20 futures violated it is at
least 83 % with confidence 95 %.

For stories there is no such thing: what chance could decide otherwise is written down in a story
step by step, and each of its futures is a choice of its author.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from sim.check import Violation
from sim.cluster.simulation import Fork
from sim.explain.causality import causal_cone
from sim.explain.provenance import Recorded
from sim.scenario.generate.mix import Mix
from sim.scenario.model import Scenario
from sim.timed_run import run_scenario
from sim.trace.sentences import describe
from sim.what_if.futures import future_of, seed_of
from sim.what_if.intervals import Interval, clopper_pearson

TRIES = 20
"""So many futures from each moment."""


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
        points: P(violation | prefix) at the moments that were tried, in order of time.
        first: The first moment after which every future tried was violated.
        complete: False = the budget was over before the neighbours of `first` were told apart.
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
    told: Callable[[Point], None] | None = None,
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
        told: Told of each point.
    """
    until = None if within_s is None else time.monotonic() + within_s
    moments = _moments(events, violation)
    search = _Search(scenario, violation, mix, tries, until, told)
    known: dict[int, Point] = {}
    base = search.point(-1, None, "the start")
    if base is not None:
        known[-1] = base
    low, high = -1, len(moments) - 1
    known[high] = _sealed(events, moments[high], tries)
    complete = base is not None
    if base is not None and base.violated == base.tries:
        high = -1
    while complete and high - low > 1:
        middle = (low + high) // 2
        position = moments[middle]
        at_ms, event = events[position]
        found = search.point(at_ms, position, describe(event))
        if found is None:
            complete = False
            break
        known[middle] = found
        low, high = (low, middle) if found.violated == found.tries else (middle, high)
    points = tuple(known[index] for index in sorted(known))
    return NoReturn(violation.invariant, points, known[high], complete)


def _moments(events: Recorded, violation: Violation) -> list[int]:
    """Of each moment at which something led to the violation, the last such event."""
    last: dict[int, int] = {}
    for position in causal_cone(events, violation):
        last[events[position][0]] = position
    return list(last.values())


def _sealed(events: Recorded, position: int, tries: int) -> Point:
    """The violation itself: with it in the past no future is without it."""
    at_ms, event = events[position]
    return Point(at_ms, position, describe(event), tries, tries, Interval(1.0, 1.0))


class _Search:
    """Tries futures of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        violation: Violation,
        mix: Mix | None,
        tries: int,
        until: float | None,
        told: Callable[[Point], None] | None,
    ) -> None:
        self._scenario = scenario
        self._invariant = violation.invariant
        self._mix = mix
        self._tries = tries
        self._until = until
        self._told = told

    def point(self, at_ms: int, position: int | None, sentence: str) -> Point | None:
        """How likely the violation is with all up to `at_ms` as it was; None = out of time."""
        violated = 0
        for number in range(self._tries):
            if self._until is not None and time.monotonic() > self._until:
                return None
            violated += self._violates(at_ms + 1, number)
        interval = clopper_pearson(violated, self._tries)
        found = Point(at_ms, position, sentence, self._tries, violated, interval)
        if self._told is not None:
            self._told(found)
        return found

    def _violates(self, from_ms: int, number: int) -> bool:
        seed = seed_of(self._scenario, from_ms, number)
        future = future_of(self._scenario, from_ms, seed, self._mix)
        run = run_scenario(future, also_check=(self._invariant,), fork=Fork(from_ms, seed))
        return self._invariant in run.violated
