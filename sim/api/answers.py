"""What a run answers with: why, what if, the same case under other rules, the same made small."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sim.api.markup import facts, grid, plain_text, shorten, when
from sim.api.scenarios import Scenario, Value
from sim.api.tables import frame
from sim.errors import BadInput, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from sim.check import Violation
    from sim.diagnose.explain import Explanation as Told
    from sim.simulate.run import Run

HEALS_NAMED = 3
"""Of the changes that heal, so many are named in a line."""
RULES_NAMED = 6
"""So many of the rules that tell two cases apart are named."""


class _Looked(Protocol):
    """What an answer asks of a run: `sim.api.runs.Run` has it, and names the answers itself."""

    scenario: Scenario

    @property
    def verdict(self) -> str: ...
    @property
    def recorded(self) -> Run: ...
    def timeline(self, invariant: str | None = None) -> Any: ...


R = TypeVar("R", bound=_Looked)


class Explanation(tuple[str, ...]):  # noqa: SLOT001 - a tuple's can have no more slots
    """Why an invariant is violated, a line each; `print` shows all of it.

    Attributes:
        about: The invariant.
        decided_by: The fact that decided, in one sentence.
    """

    about: str
    decided_by: str
    _told: Told

    def __new__(cls, told: Told) -> Explanation:
        """What `sim.diagnose.explain` tells of a violation."""
        made = super().__new__(cls, told.lines)
        made.about, made.decided_by, made._told = told.violation.invariant, told.decided_by, told
        return made

    def as_json(self) -> dict[str, Any]:
        """The same as data, as `replog explain --json` prints it."""
        return self._told.as_json()

    def __str__(self) -> str:
        """All lines."""
        return "\n".join(self)

    def __repr__(self) -> str:
        """One line for people."""
        return f"Explanation({self.about}, {len(self)} lines: {shorten(self.decided_by, 120)})"

    def _repr_html_(self) -> str:
        return plain_text(str(self))


class Comparison(dict[str, R]):
    """The same case under different rules: a mapping from what differs to the run."""

    def __missing__(self, label: str) -> R:
        """Raises BadInput: there is no run under those rules."""
        hint = did_you_mean(label, self)
        raise BadInput(f"compare: {label}: not among them{hint}: {', '.join(self)}")

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per run: `rules`, `verdict`, `violations`, `first_invariant`, its time, `events`.

        The time is `first_ms`, or `first_step` for a story.
        """
        unit = next(iter(self.values())).scenario.unit
        rows = [
            {
                "rules": label,
                "verdict": run.verdict,
                "violations": len(run.recorded.violations),
                "first_invariant": next((one.invariant for one in run.recorded.violations), None),
                f"first_{unit}": next((one.at for one in run.recorded.violations), None),
                "events": len(run.recorded.events),
            }
            for label, run in self.items()
        ]
        kinds = {"rules": "category", "verdict": "category", "violations": ""}
        kinds |= {"first_invariant": "category", f"first_{unit}": "Int64", "events": ""}
        return frame(rows, kinds)

    def __repr__(self) -> str:
        """One line for people."""
        said = ", ".join(f"{label}: {run.verdict}" for label, run in self.items())
        return f"Comparison({said})"

    def _repr_html_(self) -> str:
        rows = []
        for label, run in self.items():
            first = next(iter(run.recorded.violations), None)
            at = "" if first is None else when(run.scenario.unit, first.at)
            said = "" if first is None else f"{first.invariant}: {first.sentence}"
            rows.append((label, run.verdict, len(run.recorded.violations), at, said))
        return grid(("rules", "verdict", "violations", "first at", "first violation"), rows)


@dataclass(frozen=True)
class WhatIf:
    """What could have been otherwise: a single change, or the future from some moment on.

    Attributes:
        invariant: What is violated.
        heals: The single changes that avoid it, as `Run.heals` has them.
        no_return: How likely it was after each moment, as `Run.no_return` has it; None of a story,
            which has no chance in it.
    """

    invariant: str
    heals: pd.DataFrame
    no_return: pd.DataFrame | None

    @property
    def sentence(self) -> str:
        """The answer to both questions, in one line."""
        passing = self.heals[self.heals.still == ""].change.tolist()
        shown = ", ".join(passing[:HEALS_NAMED])
        more = f" and {len(passing) - HEALS_NAMED} more" if len(passing) > HEALS_NAMED else ""
        healed = f"healed by {shown}{more}" if passing else "no single change makes it pass"
        if self.no_return is None:
            return healed
        sealed = self.no_return[self.no_return.sealed]
        if sealed.empty:
            return f"{healed}; no point of no return was found"
        first = sealed.iloc[0]
        return f"{healed}; point of no return: {first.at_ms:,} ms, {first.sentence}"

    def __repr__(self) -> str:
        """One line for people."""
        return f"WhatIf({self.invariant}: {shorten(self.sentence, 200)})"

    def _repr_html_(self) -> str:
        tables = [self.heals, *([] if self.no_return is None else [self.no_return])]
        shown = [
            grid(list(table.columns), table.astype("string").fillna("").to_numpy())
            for table in tables
        ]
        return facts([("violated", self.invariant), ("what if", self.sentence)]) + "".join(shown)


@dataclass(frozen=True)
class Shrunk(Generic[R]):
    """A witness: the same invariant is violated for the same cause, in as little as can be.

    `print` shows its scenario file.

    Attributes:
        run: The run of the witness; it has all that any run has.
        scenario: The witness, ready to run: a story of single steps where one can say it.
        invariant: What it violates.
        steps: How many steps the story has; None = it is a timed scenario.
        events: How many events it has.
        events_before: How many events the failure had.
        tries: How many runs it took.
        complete: Whether it came to an end; False = the time was over.
        near_miss: The same with one rule changed, and nothing is violated; None = there is none.
        change: That rule and its value, as in `fix: empty_batch`; empty without a near miss.
        heals_origin: Whether the failure that was shrunk does not violate the invariant under that
            rule, either; False = no rule that was tried heals both.
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
        """Write the scenario of the witness as a file; its path."""
        return self.scenario.save(path)

    @property
    def size(self) -> str:
        """How large it is, in words."""
        steps = "" if self.steps is None else f"{self.steps} steps, "
        cut = "" if self.complete else "; the time was over"
        return f"{steps}{self.events} events, from {self.events_before}{cut}"

    def __str__(self) -> str:
        """The scenario file of the witness."""
        return self.scenario.as_file()

    def __repr__(self) -> str:
        """One line for people."""
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
    """Why a run has no violation to tell of; `wanted` is the invariant asked for, empty = any."""
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
    """What tells two cases apart: the values of the rules that are not the same."""
    from sim.protocol.rules.rules import shown

    mine, theirs = one.rules, other.rules
    names = [name for name in mine if mine[name] != theirs.get(name)] or ["fix"]
    more = f" and {len(names) - RULES_NAMED} more rules" if len(names) > RULES_NAMED else ""
    return [
        ", ".join(f"{name}={shown(rules[name])}" for name in names[:RULES_NAMED]) + more
        for rules in (mine, theirs)
    ]


def label_of(rules: Mapping[str, Value], axes: Mapping[str, Sequence[Value]]) -> str:
    """What tells a run from the others; of one rule its value alone."""
    if "preset" in axes:
        raise BadInput("compare: preset: name the rules; or run the scenario with preset=…")
    from sim.protocol.rules.rules import shown

    if len(axes) == 1:
        return shown(rules[next(iter(axes))]) if next(iter(axes)) in rules else ""
    return ", ".join(f"{name}={shown(rules[name])}" for name in axes if name in rules)
