"""What a failure is made of, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sim.check import Violation
from sim.check.judged import unexpected
from sim.explain import explanation
from sim.explain.signature import signature_of
from sim.files.trace_file import TraceHeader, TraceVerdict
from sim.foreign.lines import one_line
from sim.foreign.names import file_name
from sim.rules import Rules
from sim.rules.spec import RuleValue
from sim.trace import Event


class Failure(NamedTuple):
    """A run that is not as it should be.

    Attributes:
        id: What its folder is called after: the scenario's name, or the run's in a sweep.
        title: The scenario's; may be empty.
        violation: What the folder is about; None = no invariant is violated, but something that
            the scenario expects did not come.
        violations: Of what is judged, in order of detection.
        not_judged: Of what was looked at as well.
        notes: What is no failure, and should be known, a line each.
        complaints: Where it is not what the scenario expects, a line each.
        verdict: `violated`, `holds` or `inconclusive`.
        reason: Why it is inconclusive, else None.
        events: (when, event) of everything that happened.
        header: What its trace says first.
        rules: What it is judged by.
        changed_rules: The rules that are not the default, by name.
        skews: How far each replica's clock is ahead of simulated time in ms; None = in steps.
        labels: Of a story: uid -> label of the record.
        digest: Of all events.
        scenario: The scenario file for a folder: a file of changes is named relative to it.
        made_by: The command that found it; None = there is none.
        shrunk: Makes files about the smallest run that fails in the same way, by their names; it
            may take seconds.
    """

    id: str
    title: str
    violation: Violation | None
    violations: tuple[Violation, ...]
    not_judged: tuple[Violation, ...]
    notes: tuple[str, ...]
    complaints: tuple[str, ...]
    verdict: str
    reason: str | None
    events: Sequence[tuple[int, Event]]
    header: TraceHeader
    rules: Rules
    changed_rules: Mapping[str, RuleValue]
    skews: Mapping[str, int] | None
    labels: Mapping[int, str]
    digest: str
    scenario: Callable[[Path], str]
    made_by: str | None
    shrunk: Callable[[], Mapping[str, str]]

    @property
    def name(self) -> str:
        """The name of its folder: what failed, and how."""
        about = self.verdict if self.violation is None else self.violation.invariant
        if self.violation is None and self.complaints:
            about = "not-as-expected"
        return file_name(f"{self.id}-{about}", instead="failure")

    @property
    def sentence(self) -> str:
        """What went wrong, in one line."""
        if self.violation is None:
            reason = f"{self.verdict}: {self.reason}"
            return one_line(self.complaints[0] if self.complaints else reason)
        when = f"{self.violation.at} ms"
        if self.header.kind == "story":
            when = f"step {self.violation.at}"
        return f"{self.violation.invariant} at {when}: {self.violation.sentence}"

    @property
    def cause(self) -> str:
        """The signature of the violation; empty without one."""
        if self.violation is None:
            return ""
        return str(signature_of(self.events, self.violation, self.rules))

    def explanation(self) -> list[str]:
        """Why, a line each."""
        shown = {unexpected(found.invariant) for found in self.violations}
        lines = [one_line(line) for line in self.complaints if line not in shown]
        if self.violation is not None:
            told = explanation(self.events, self.violation, rules=self.rules, skews=self.skews)
            lines += told.lines
        return lines

    def trace_verdict(self) -> TraceVerdict:
        """What its trace says last."""
        seen = (*self.violations, *self.not_judged)
        rows = tuple(violation.as_row(when="at") for violation in seen)
        return TraceVerdict(self.verdict, self.reason, rows, self.digest)
