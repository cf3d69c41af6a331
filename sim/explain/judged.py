"""Which event showed a violation: a violation keeps only its time."""

from __future__ import annotations

import re

from sim.check import Checker, Violation
from sim.check.history import ClusterHistory
from sim.check.registry import LISTENERS, discover
from sim.explain.provenance import Recorded
from sim.rules import Rules
from sim.trace import Appended, Event, HighWatermarkMoved

_WORD = re.compile(r"[A-Za-z0-9_.-]*[A-Za-z0-9]")


def judged_at(events: Recorded, violation: Violation) -> int:
    """Position of the event that showed a violation, by what it says.

    Of the events of its time that its law listens to: the last one that its sentence speaks of
    most.
    """
    return _spoken_of(events, violation)


def judged_again(
    events: Recorded, violation: Violation, rules: Rules
) -> tuple[int, ClusterHistory] | None:
    """Position of the event that showed a violation, and all that was known then, by judging again.

    None = judged by these rules alone it is found at no such time, as where the settings of
    replicas change, or by a law of a plugin that is not loaded.
    """
    checker = Checker(rules, [violation.invariant])
    wanted = (violation.at, violation.replica, violation.offset, violation.key)
    for position, (at, event) in enumerate(events):
        if at > violation.at:
            return None
        before = len(checker.violations)
        checker.on(at, event)
        for each in checker.violations[before:]:
            if (each.at, each.replica, each.offset, each.key) == wanted:
                return position, checker.history
    return None


def _spoken_of(events: Recorded, violation: Violation) -> int:
    discover()
    heard = {
        kind
        for kind, methods in LISTENERS.items()
        if any(name == violation.invariant for name, _ in methods)
    }
    words = set(_WORD.findall(violation.sentence))
    best, score, last = 0, -1, 0
    for position, (at, event) in enumerate(events):
        if at > violation.at:
            break
        last = position
        if at == violation.at and type(event) in heard:
            found = _score(event, violation, words)
            if found >= score:
                best, score = position, found
    return last if score < 0 else best


def _score(event: Event, violation: Violation, words: set[str]) -> int:
    """How much of what an event says is in the violation."""
    name = event.replica or ""
    score = 2 * (name == violation.replica) + 2 * (name in words)
    match event:
        case Appended(_, batch) if violation.offset is not None:
            score += 4 * (batch.base_offset <= violation.offset <= batch.last_offset)
        case HighWatermarkMoved(_, mark, _):
            moved = f"{name} moved its high watermark to {mark}," in violation.sentence
            score += 8 if moved else 1
    return score + sum(str(value) in words for value in event[1:] if isinstance(value, str | int))
