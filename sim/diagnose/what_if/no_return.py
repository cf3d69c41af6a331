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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from sim.check import Violation
from sim.diagnose.explain.case import Case
from sim.diagnose.explain.causality import causal_cone
from sim.diagnose.explain.past import Past
from sim.diagnose.what_if.futures import Interval, clopper_pearson, future_of, seed_of
from sim.protocol.events import Event
from sim.protocol.events.sentences import describe
from sim.simulate.cluster.simulation import Fork
from sim.simulate.run.timed import judge_scenario
from sim.simulate.scenario.model import Scenario

TRIES = 20
"""So many futures from each moment."""


class Point(NamedTuple):
    """The share of futures with the violation after a moment.

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
    """The point of no return of a violation, as far as it is known.

    Attributes:
        points: P(violation | prefix) at the moments with all their tries, in order of time.
        first: The first moment after which every future tried was violated.
        complete: False = the budget was over before `first` was found: it may be earlier.
    """

    points: tuple[Point, ...]
    first: Point
    complete: bool


def point_of_no_return(
    scenario: Scenario,
    events: Sequence[tuple[int, Event]],
    violation: Violation,
    *,
    tries: int = TRIES,
    within_s: float | None = None,
) -> NoReturn:
    """Finds after which event a violation of a run could not be avoided any more.

    Args:
        scenario: What was run.
        events: (ms, event) of all that happened in it.
        violation: One of its violations.
        tries: So many futures from each moment. The same number gives the same answer.
        within_s: Stop after so many seconds with what is known then; None = no limit.
    """
    until = time.monotonic() + (inf if within_s is None else within_s)
    futures = _Futures(scenario, violation.invariant, tries, until)
    last: dict[int, int | None] = {-1: None}
    for position in causal_cone(Case(Past(events), violation), violation):
        last[events[position][0]] = position
    first, complete = _first_sealed(futures, list(last))
    all_violate = [True] * tries
    outcomes = {first: all_violate, max(last): all_violate}
    with suppress(_OutOfTimeError):
        for at_ms in (-1, *sorted(futures.outcomes)):
            outcomes.setdefault(at_ms, futures.tried(at_ms))
    points = {at_ms: _point(events, last[at_ms], outcomes[at_ms]) for at_ms in sorted(outcomes)}
    points[max(last)] = points[max(last)]._replace(interval=Interval(1.0, 1.0))
    return NoReturn(tuple(points.values()), points[first], complete)


def _first_sealed(futures: _Futures, moments: Sequence[int]) -> tuple[int, bool]:
    """The first moment after which every future violates, by halving; whether time sufficed."""
    low, high = 0, len(moments) - 1
    try:
        while high - low > 1:
            middle = (low + high) // 2
            sealed = all(futures.tried(moments[middle], until_one_holds=True))
            low, high = (low, middle) if sealed else (middle, high)
        if high == 1 and all(futures.tried(moments[0], until_one_holds=True)):
            high = 0
    except _OutOfTimeError:
        return moments[high], False
    return moments[high], True


def _point(
    events: Sequence[tuple[int, Event]], position: int | None, violates: Sequence[bool]
) -> Point:
    at_ms, sentence = -1, "the start"
    if position is not None:
        at_ms, sentence = events[position][0], describe(events[position][1])
    violated, tries = sum(violates), len(violates)
    interval = clopper_pearson(violated, tries)
    return Point(at_ms, position, sentence, tries, violated, interval)


class _OutOfTimeError(Exception):
    """The budget is over."""


@dataclass(frozen=True, slots=True)
class _Futures:
    """Runs futures of one scenario.

    Attributes:
        scenario: What was run.
        invariant: What is violated.
        tries: So many futures from each moment.
        until: When the budget is over, by `time.monotonic`.
        outcomes: Moment in ms -> of each future tried from after it whether it violates.
    """

    scenario: Scenario
    invariant: str
    tries: int
    until: float
    outcomes: dict[int, list[bool]] = field(default_factory=dict)

    def tried(self, at_ms: int, *, until_one_holds: bool = False) -> list[bool]:
        """Of the futures from after a moment whether they violate.

        The first that does not may be enough.
        """
        known = self.outcomes.setdefault(at_ms, [])
        while len(known) < self.tries and (all(known) or not until_one_holds):
            if time.monotonic() > self.until:
                raise _OutOfTimeError
            known.append(self._violates(at_ms + 1, len(known)))
        return known

    def _violates(self, from_ms: int, number: int) -> bool:
        seed = seed_of(self.scenario, from_ms, number)
        future = future_of(self.scenario, from_ms, seed)
        run = judge_scenario(future, (self.invariant,), fork=Fork(from_ms, seed))
        return bool(run.violations)
