"""Failures: runs that miss what was expected, with the texts of the files about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sim.check import Violation
from sim.check.violation import unexpected
from sim.diagnose.draw import DrawnCase, html, svg
from sim.diagnose.explain.signature import signature_of
from sim.files.foreign import LONGEST, LONGEST_BYTES, file_name, one_line
from sim.protocol.rules.spec import RuleValue
from sim.simulate.run import Run
from sim.simulate.run.trace_file import trace_lines
from sim.simulate.scenario.generate.mix import Mix

PAGE = "picture.html"
SCENARIO, TRACE = "scenario.yaml", "trace.ndjson"
PICTURE = "picture.svg"
SHRUNK, SHRUNK_PICTURE = "shrunk.yaml", "shrunk.svg"


@dataclass(frozen=True, kw_only=True)
class RunFailure:
    """A run that violates something, or misses an expectation.

    Attributes:
        id: Id of the scenario, or of the run in a sweep.
        title: Title of the scenario; may be empty.
        file: Path of its file, as given to the command; None without a file.
        made_by: Command that found it; None without one.
        command: Command that runs it again, in its folder.
        run: The run, compared with what its scenario expects.
        violation: Violation that the folder is about; None if only an expectation is unmet.
        mix: Mix that its scenario was drawn from; None for a file, or a story.
        changed_rules: Name -> value of the rules with another value than the default.
        scenario: Function from a folder to the text of the scenario file for it, which names a
            file of changes relative to the folder.
        shrunk: Function that makes files about the smallest example: name -> text. It may take
            seconds.
    """

    id: str
    title: str
    file: Path | None
    made_by: str | None
    command: str
    run: Run
    violation: Violation | None
    mix: Mix | None
    changed_rules: Mapping[str, RuleValue]
    scenario: Callable[[Path], str]
    shrunk: Callable[[], Mapping[str, str]]

    @property
    def name(self) -> str:
        """The name of its folder, made of the file, the case, and how it failed.

        The path is part of it, so that files of one name differ; of a long one the end is kept.
        """
        words = [self.id, self.about]
        if self.file is not None:
            parts = [part for part in self.file.with_suffix("").parts if part not in ("/", "..")]
            words = [*parts, *([] if self.id == self.file.stem else [self.id]), self.about]
        text = "-".join(words)
        while len(text.encode("utf-8", "replace")) > LONGEST_BYTES:
            text = text[max(len(text) // 20, 1) :]
        return file_name(text, instead="failure")

    @property
    def about(self) -> str:
        """The violated invariant, or the kind of failure without one."""
        if self.violation is not None:
            return self.violation.invariant
        return "not-as-expected" if self.run.differences else self.run.verdict

    @property
    def sentence(self) -> str:
        """The violation, or the first unmet expectation, in one line."""
        if self.violation is None:
            return missed(self.run)[0]
        when = self.run.when(self.violation)
        return f"{self.violation.invariant} at {when}: {self.violation.sentence}"

    @cached_property
    def case(self) -> DrawnCase:
        """The run and its violation, folded once for the pictures and the explanation."""
        return DrawnCase.of(self.run, self.violation, missed=not_as_expected(self.run))

    @cached_property
    def cause(self) -> str:
        """The signature of the violation as text; empty without one."""
        if self.violation is None:
            return ""
        return str(signature_of(self.case.logs, self.violation))

    @cached_property
    def explanation(self) -> list[str]:
        """The unmet expectations, then the explanation of the violation, as lines."""
        shown = {unexpected(found.invariant) for found in self.run.violations}
        lines = [line for line in missed(self.run) if line not in shown]
        if self.violation is not None:
            lines += self.case.explained(self.violation).lines
        return lines

    def texts(self, folder: Path) -> dict[str, str]:
        """Name -> text of the files: the scenario, the pictures, the smallest example."""
        return {
            SCENARIO: self.scenario(folder),
            **self._pictures(),
            **self.shrunk(),
            TRACE: b"".join(trace_lines(self.run, mix=self.mix)).decode(),
        }

    def _pictures(self) -> dict[str, str]:
        """Name -> text of the pictures; the page only if jinja2 is installed."""
        run, title = self.run, self.title or self.id
        found = {
            PICTURE: svg(self.case, title=title, unit=run.unit),
        }
        if find_spec("jinja2") is not None:
            found[PAGE] = html(self.case, title=title, unit=run.unit, command=self.command)
        return found


def expectation(expect: Any) -> str:
    """Words the expectation of a story or a timed scenario in one line."""
    return "; ".join(_expected(expect))


def _expected(expect: Any) -> Iterator[str]:
    yield f"violated: {', '.join(expect.violated)}" if expect.violated else "holds"
    for name, what in (("reached", "reached"), ("unreached", "not reached")):
        if found := getattr(expect, name, ()):
            yield f"{what}: {', '.join(found)}"
    if getattr(expect, "leader", None) is not None:
        yield f"leader: {expect.leader}"
    yield from _claimed("", getattr(expect, "replicas", {}))
    for moment, claims in getattr(expect, "moments", {}).items():
        yield from _claimed(f"{moment}: ", claims)


def _claimed(at: str, claims: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for replica, parts in claims.items():
        yield f"{at}{replica}: {', '.join(f'{part} {value}' for part, value in parts.items())}"


def not_as_expected(run: Run) -> list[str]:
    """Lines about the expectation of a run's scenario, then about the differences."""
    lines = (f"expected: {expectation(run.content.expect)}", *missed(run))
    return [one_line(line, longest=LONGEST) for line in lines]


def missed(run: Run) -> tuple[str, ...]:
    """Lines about the differences of a run from its expectation; first that it is inconclusive."""
    unknown = run.verdict == "inconclusive" and not run.settled
    reason = [f"{run.verdict}: {run.reason}"] if unknown else []
    return tuple(map(one_line, [*reason, *run.differences]))
