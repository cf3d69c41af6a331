"""The questions that explain violations, by the name that an invariant gives as `explained_by`.

Each public function of a module here is one, under its own name. What it takes beside the case are
fields of the violation: one that is about none of them is left to the fallback.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction, signature
from typing import Any, Final

from sim.check.registry import INVARIANTS, discover
from sim.diagnose.explain.case import Case, Facts
from sim.diagnose.explain.lost import lacks
from sim.diagnose.explain.questions import bounds, clients, keys, logs
from sim.diagnose.explain.told import happened

Question = Callable[[Case], Facts]
"""Finds the facts that decided a violation, the first of all first; [] = it finds none."""


def _question(answer: Callable[..., Facts]) -> Question:
    """A function that is given the fields of a violation that its parameters name."""
    _, *needs = signature(answer).parameters

    def asked(case: Case) -> Facts:
        values: list[Any] = [getattr(case.violation, need) for need in needs]
        return [] if None in values else answer(case, *values)

    return asked


QUESTIONS: Final[dict[str, Question]] = {
    name: _question(answer)
    for module in (bounds, clients, keys, logs)
    for name, answer in vars(module).items()
    if isfunction(answer) and answer.__module__ == module.__name__ and not name.startswith("_")
}


def deciding(case: Case) -> Facts:
    """What decided a violation, the first of all first; never empty.

    Where no question knows, as of an invariant of a plugin: what took the record last.
    """
    discover()
    invariant = INVARIANTS.get(case.violation.invariant)
    asked = QUESTIONS.get(invariant.explained_by if invariant else "", _fallback)
    return list(dict.fromkeys(asked(case) or _fallback(case)))


def _fallback(case: Case) -> Facts:
    """Whatever removal, cut, loss or election came last."""
    offset, replica = case.violation.offset, case.violation.replica
    facts: Facts = []
    for name in () if offset is None else [replica] if replica else case.steps:
        if offset is not None and not case.uid_at(name, offset):
            facts += lacks(case, name, offset)
    return facts or [happened(case, case.judged, kind="write")]
