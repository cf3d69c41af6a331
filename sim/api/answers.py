"""Answers about a run: its explanation, runs under other rules, a small witness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sim.api.markup import facts, grid, plain_text, shorten
from sim.api.scenarios import Scenario, Value
from sim.api.tables import frame
from sim.errors import BadInput, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from sim.check import Violation
    from sim.diagnose.explain import ExplanationText as CheckedExplanation
    from sim.simulate.run import Run

RULES_NAMED = 6
"""Number of differing rules that a label names."""


class _RunLike(Protocol):
    """The part of `sim.api.runs.Run` that answers need; that module imports this one."""

    scenario: Scenario

    @property
    def verdict(self) -> str: ...
    @property
    def recorded(self) -> Run: ...
    def timeline(self, invariant: str | None = None) -> Any: ...


R = TypeVar("R", bound=_RunLike)


class Explanation(tuple[str, ...]):  # noqa: SLOT001 - a tuple's can have no more slots
    """Explanation of a violation as lines of text; `print` shows all of them.

    Attributes:
        about: The invariant.
        decided_by: The fact that decided, in one sentence.
    """

    about: str
    decided_by: str
    _found: CheckedExplanation

    def __new__(cls, found: CheckedExplanation) -> Explanation:
        """Takes the explanation of `sim.diagnose.explain`."""
        made = super().__new__(cls, found.lines)
        made.about, made.decided_by, made._found = (
            found.violation.invariant,
            found.decided_by,
            found,
        )
        return made

    def as_json(self) -> dict[str, Any]:
        """Returns the explanation as data, as `replog explain --json` prints it."""
        return self._found.as_json()

    def __str__(self) -> str:
        """Joins the lines of the explanation."""
        return "\n".join(self)

    def __repr__(self) -> str:
        """Returns one line for people."""
        return f"Explanation({self.about}, {len(self)} lines: {shorten(self.decided_by, 120)})"

    def _repr_html_(self) -> str:
        return plain_text(str(self))


class Comparison(dict[str, R]):
    """Runs of one case under different rules: a mapping from the differing values to the run."""

    def __missing__(self, label: str) -> R:
        """Raises BadInput: there is no run under those rules."""
        hint = did_you_mean(label, self)
        raise BadInput(f"compare: {label}: not among them{hint}: {', '.join(self)}")

    @cached_property
    def table(self) -> pd.DataFrame:
        """Table of runs: `rules`, `verdict`, `violations`, `first_invariant`, its time, `events`.

        The time is `first_ms`, or `first_step` for a story.
        """
        unit = next(iter(self.values())).scenario.unit
        rows = []
        for label, run in self.items():
            found = run.recorded.violations
            said = (found[0].invariant, found[0].at) if found else (None, None)
            rows.append((label, run.verdict, len(found), *said, len(run.recorded.events)))
        first = ("first_invariant", f"first_{unit}")
        return frame(rows, ["rules", "verdict", "violations", *first, "events"])

    def __repr__(self) -> str:
        """Returns one line for people."""
        said = ", ".join(f"{label}: {run.verdict}" for label, run in self.items())
        return f"Comparison({said})"

    def _repr_html_(self) -> str:
        rows = []
        for label, run in self.items():
            first = next(iter(run.recorded.violations), None)
            at = "" if first is None else run.recorded.when(first)
            said = "" if first is None else f"{first.invariant}: {first.sentence}"
            rows.append((label, run.verdict, len(run.recorded.violations), at, said))
        return grid(("rules", "verdict", "violations", "first at", "first violation"), rows)


@dataclass(frozen=True)
class Shrunk(Generic[R]):
    """A witness: a small scenario that violates the same invariant for the same cause.

    `print` shows its scenario file.

    Attributes:
        run: The run of the witness.
        scenario: The witness, ready to run: a story of single steps where possible.
        invariant: The violated invariant.
        steps: Number of steps of the story; None for a timed scenario.
        events: Number of events of the witness.
        events_before: Number of events of the original failure.
        tries: Number of runs that shrinking took.
        complete: True when shrinking finished; False when its time ran out.
        near_miss: The witness with one rule changed, so that nothing is violated; None where no
            such rule was found.
        change: The rule that the near miss changes, as in `fix: empty_batch`; empty without one.
        heals_origin: True when the changed rule avoids the violation in the original failure as
            well; False when no rule that was tried does both.
    """

    run: R
    scenario: Scenario
    invariant: str
    steps: int | None
    events: int
    events_before: int
    tries: int
    complete: bool
    near_miss: Scenario | None = None
    change: str = ""
    heals_origin: bool = True

    def save(self, path: str | Path) -> Path:
        """Writes the scenario of the witness to a file; returns its path."""
        return self.scenario.save(path)

    @property
    def size(self) -> str:
        """The size of the witness in words."""
        steps = "" if self.steps is None else f"{self.steps} steps, "
        cut = "" if self.complete else "; the time was over"
        return f"{steps}{self.events} events, from {self.events_before}{cut}"

    def __str__(self) -> str:
        """The scenario file of the witness."""
        return self.scenario.as_file()

    def __repr__(self) -> str:
        """Returns one line for people."""
        near = f"; near miss: {self.change}{self._but}" if self.change else ""
        return f"Shrunk({self.invariant}: {self.size}{near})"

    @property
    def _but(self) -> str:
        return "" if self.heals_origin else " (here only: it does not heal what was shrunk)"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [
            ("violates", self.invariant),
            ("size", self.size),
            ("nothing is violated with", self.change + self._but),
        ]
        picture: str = self.run.timeline(self.invariant)._repr_html_()
        return facts(rows) + plain_text(str(self)) + picture


def not_violated(name: str, verdict: str, wanted: str, violations: Iterable[Violation]) -> BadInput:
    """The error for a run without a violation of the invariant `wanted`; empty for any."""
    from sim.check.checker import known_invariants

    names = list(dict.fromkeys(one.invariant for one in violations))
    there = f"violated: {', '.join(names)}" if names else f"verdict: {verdict}"
    if not wanted:
        return BadInput(f"{name}: nothing is violated here; {there}")
    known = known_invariants()
    if wanted in known:
        return BadInput(f"{name}: {wanted}: is not violated here; {there}")
    what = f"there is no such invariant{did_you_mean(wanted, known)}"
    return BadInput(f"{name}: {wanted}: {what}; {there}; all names: replog list invariants")


def differing(one: Scenario, other: Scenario) -> list[str]:
    """Labels of two cases: the values of the rules in which they differ."""
    from sim.protocol.rules.rules import shown

    mine, theirs = one.rules, other.rules
    names = [name for name in mine if mine[name] != theirs.get(name)] or ["fix"]
    more = f" and {len(names) - RULES_NAMED} more rules" if len(names) > RULES_NAMED else ""
    return [
        ", ".join(f"{name}={shown(rules[name])}" for name in names[:RULES_NAMED]) + more
        for rules in (mine, theirs)
    ]


def label_of(rules: Mapping[str, Value], axes: Mapping[str, Sequence[Value]]) -> str:
    """The label of a run among others; with a single rule its value alone."""
    if "preset" in axes:
        raise BadInput("compare: preset: name the rules; or run the scenario with preset=…")
    from sim.protocol.rules.rules import shown

    if len(axes) == 1:
        return shown(rules[next(iter(axes))]) if next(iter(axes)) in rules else ""
    return ", ".join(f"{name}={shown(rules[name])}" for name in axes if name in rules)
