"""The smallest change that makes a case pass: one rule, else one fault or one step less."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, NamedTuple

from sim.check.registry import discover
from sim.diagnose.what_if.changes import rule_changes, violated_by, with_rule
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.format import Story


class Healing(NamedTuple):
    """A single change under which an invariant is not violated.

    Attributes:
        kind: `rule`, `fault` or `step`.
        change: What is changed: `fix: empty_batch`, `without fault 2, partition r3 at 1,000 ms`,
            `without step 4, crash r1`.
        still: Other invariants that are violated with it, liveness left out; empty = it passes.
    """

    kind: str
    change: str
    still: tuple[str, ...]


class Failed(NamedTuple):
    """A single change with which the case ends in an error, so that nothing can be said of it.

    Attributes:
        kind: As in `Healing`.
        change: As in `Healing`.
        error: Class and first line of the error.
    """

    kind: str
    change: str
    error: str


class Healings(NamedTuple):
    """All single changes that heal.

    Attributes:
        found: Those after which nothing is violated before the others; else in the order tried.
        failed: Those that ended in an error, in the order tried.
        tried: How many changes were tried.
        complete: False = the budget was over before all were tried.
    """

    found: tuple[Healing, ...]
    failed: tuple[Failed, ...]
    tried: int
    complete: bool


def heals(value: Story | Scenario, invariant: str, *, within_s: float | None = None) -> Healings:
    """Which single change of a rule, or step or fault less, avoids a violation of an invariant.

    A step that adds a replica is not left out: later ones could name it.
    """
    discover()
    until = time.monotonic() + (inf if within_s is None else within_s)
    changes = list(_changes(value))
    outcomes: list[Healing | Failed | None] = []
    while len(outcomes) < len(changes) and time.monotonic() <= until:
        outcomes.append(_outcome(changes[len(outcomes)], invariant))
    found = [each for each in outcomes if isinstance(each, Healing)]
    found.sort(key=lambda healing: bool(healing.still))
    failed = tuple(each for each in outcomes if isinstance(each, Failed))
    return Healings(tuple(found), failed, len(outcomes), len(outcomes) == len(changes))


_Change = tuple[str, str, Callable[[], Story | Scenario]]
"""Kind and words of a change, and what makes it."""


def _outcome(change: _Change, invariant: str) -> Healing | Failed | None:
    """What came of a change; None = it does not avoid the violation."""
    kind, words, made = change
    try:
        violated = violated_by(made(), invariant)
    except Exception as error:  # noqa: BLE001 - an error is an answer, too
        line = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return Failed(kind, words, line.removesuffix(": "))
    return None if invariant in violated else Healing(kind, words, tuple(sorted(violated)))


def _changes(value: Story | Scenario) -> Iterator[_Change]:
    for name, setting in rule_changes(value):
        yield "rule", f"{name}: {setting}", partial(with_rule, value, name, setting)
    if isinstance(value, Scenario):
        for index, fault in enumerate(value.faults):
            words = f"fault {index + 1}, {fault.kind} {fault.target} at {fault.at_ms:,} ms"
            yield _without("fault", words, value, "faults", index)
        return
    for index, step in enumerate(value.steps):
        if step.op != "add_replica":
            yield _without("step", f"step {step.number}, {step.line}", value, "steps", index)


def _without(kind: str, words: str, value: Story | Scenario, field: str, index: int) -> _Change:
    """One of the faults, or of the steps, is left out."""
    parts = getattr(value, field)
    rest: dict[str, Any] = {field: (*parts[:index], *parts[index + 1 :])}
    return kind, f"without {words}", partial(replace, value, **rest)
