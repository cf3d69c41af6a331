"""What a failure is made of, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from sim.check import Violation
from sim.check.judged import unexpected
from sim.explain import explanation
from sim.explain.signature import signature_of
from sim.files.trace_file import TraceHeader
from sim.foreign.lines import one_line
from sim.foreign.names import file_name
from sim.recorded import Recorded
from sim.rules.spec import RuleValue


class Failure(NamedTuple):
    """A run that is not as it should be.

    Attributes:
        id: What its folder is called after: the scenario's name, or the run's in a sweep.
        title: The scenario's; may be empty.
        run: What happened, compared with what the scenario expects.
        violation: What the folder is about; None = no invariant is violated, but something that
            the scenario expects did not come.
        header: What its trace says first.
        changed_rules: The rules that are not the default, by name.
        scenario: The scenario file for a folder: a file of changes is named relative to it.
        made_by: The command that found it; None = there is none.
        shrunk: Makes files about the smallest run that fails in the same way, by their names; it
            may take seconds.
    """

    id: str
    title: str
    run: Recorded
    violation: Violation | None
    header: TraceHeader
    changed_rules: Mapping[str, RuleValue]
    scenario: Callable[[Path], str]
    made_by: str | None
    shrunk: Callable[[], Mapping[str, str]]

    @property
    def name(self) -> str:
        """The name of its folder: what failed, and how."""
        about = self.run.verdict if self.violation is None else self.violation.invariant
        if self.violation is None and self.run.differences:
            about = "not-as-expected"
        return file_name(f"{self.id}-{about}", instead="failure")

    @property
    def sentence(self) -> str:
        """What went wrong, in one line."""
        if self.violation is None:
            reason = f"{self.run.verdict}: {self.run.reason}"
            return one_line(self.run.differences[0] if self.run.differences else reason)
        when = self.run.when(self.violation)
        return f"{self.violation.invariant} at {when}: {self.violation.sentence}"

    @property
    def cause(self) -> str:
        """The signature of the violation; empty without one."""
        if self.violation is None:
            return ""
        return str(signature_of(self.run.events, self.violation, self.run.rules))

    def explanation(self) -> list[str]:
        """Why, a line each."""
        shown = {unexpected(found.invariant) for found in self.run.violations}
        lines = [one_line(line) for line in self.run.differences if line not in shown]
        if self.violation is not None:
            run = self.run
            lines += explanation(run.events, self.violation, rules=run.rules, skews=run.skews).lines
        return lines
