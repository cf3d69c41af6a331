"""What a gate found: one comparison, its numbers, and the line that tells them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from sim.study.sweep import wording
from sim.study.sweep.stats import Interval

Kind = Literal["fail-on", "budget"]
Outcome = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True, slots=True)
class Place:
    """Whose runs are judged together: those of a rule set in an environment."""

    rule_set: str
    environment: str
    alone: bool
    """Whether the sweep has this environment only, which need not be told then."""

    @property
    def text(self) -> str:
        """The rule set, and where there are several, the environment."""
        return self.rule_set if self.alone else f"{self.rule_set}, {self.environment}"


@dataclass(frozen=True, slots=True)
class Seen:
    """In how many runs something was violated."""

    violated: int
    judged: int
    first_run: int | None = None
    """The lowest number of a run that violated it."""

    @property
    def text(self) -> str:
        """The runs and their share; never a bare zero."""
        if not self.judged:
            return "no run was judged"
        runs = wording.counted(self.judged, "run")
        if not self.violated:
            return f"none of {runs}"
        share = wording.share(self.violated / self.judged)
        return f"{wording.count(self.violated)} of {runs} ({share})"


@dataclass(frozen=True, slots=True)
class Finding:
    """One comparison of one gate.

    Attributes:
        gate: Which kind of gate.
        name: The family or invariant, `any` or `about`.
        place: Whose runs.
        seen: What was counted.
        outcome: `undecided` where the runs are too few to tell.
        limit: Of a budget: the share that is allowed.
        bounds: Of the rate: two one-sided exact limits, each at the level of the gates.
        p: Of the test whose rejection makes the gate fail.
        adjusted_p: The same, corrected for all comparisons of this kind (Holm).
        runs_needed: Of an undecided budget: about how many judged runs would do at this rate.
        shows: A run that shows it, for `replog run`.
    """

    gate: Kind
    name: str
    place: Place
    seen: Seen
    outcome: Outcome = "passed"
    limit: float | None = None
    bounds: Interval | None = None
    p: float | None = None
    adjusted_p: float | None = None
    runs_needed: int | None = None
    shows: int | None = None

    @property
    def asked(self) -> str:
        """What the gate is, as its option says it."""
        limit = "" if self.limit is None else f"={wording.share(self.limit)}"
        return f"{self.gate} {self.name}{limit}"

    @property
    def text(self) -> str:
        """The comparison in one line, without its outcome."""
        return f"{self.asked} [{self.place.text}]: {self.numbers}"

    @property
    def numbers(self) -> str:
        """What was counted, and what follows from it."""
        if self.bounds is None:
            return f"{self.seen.text}: nothing is decided"
        if self.gate == "fail-on":
            if self.seen.violated:
                return f"{self.seen.text}; first in run {self.seen.first_run}"
            high = wording.share(self.bounds.high)
            return f"{self.seen.text}; a rate of up to {high} is not excluded"
        limits = f"at least {wording.share(self.bounds.low)}, at most "
        limits += wording.share(self.bounds.high)
        return f"{self.seen.text}; {limits}: {self._against_limit()}"

    def _against_limit(self) -> str:
        if self.outcome == "passed":
            return "within the budget"
        if self.outcome == "failed":
            return f"above the budget ({wording.p_value(self.adjusted_p or 0.0)})"
        if self.runs_needed is None:
            return "not decided: the rate is too near to the budget"
        return (
            "not decided with so few runs; "
            f"at this rate about {wording.count(self.runs_needed)} would do"
        )

    def as_document(self) -> dict[str, Any]:
        """For JSON; what a kind of gate does not have is left out."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        found.pop("place")
        place = {"rule_set": self.place.rule_set, "environment": self.place.environment}
        return {"gate": found.pop("gate"), "name": found.pop("name"), **place, **found} | {
            "text": self.text
        }
