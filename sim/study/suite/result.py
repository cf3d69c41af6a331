"""The result of a scenario file of any kind, and the exit status of several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sim.check import Violation
from sim.files.foreign import command_line
from sim.plugins import as_options
from sim.simulate.run import Run

if TYPE_CHECKING:
    from sim.simulate.logfile.expect import Checked

BAD_INPUT = "bad input"
ERROR = "error"
INCONCLUSIVE = "inconclusive"
NOT_AS_EXPECTED = "not as expected"
_WORST_FIRST = (2, 1, 3, 0)


@dataclass(frozen=True)
class NotRun:
    """The outcome of a file of a suite that was not run.

    Attributes:
        id: Name of the file without its suffix.
        verdict: `bad input` for a file with a mistake, `error` for a run that ended in an
            exception, `inconclusive` for one that a bound ended before it began.
        reason: The error.
        command: The command that reproduces it.
    """

    id: str
    verdict: str
    reason: str
    command: str
    title: ClassVar[str] = ""
    violations: ClassVar[tuple[Violation, ...]] = ()
    differences: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()

    @property
    def exit_code(self) -> int:
        """Exit status of the file by itself: 2 bad input, 1 error, 3 inconclusive."""
        return {BAD_INPUT: 2, ERROR: 1}.get(self.verdict, 3)


class CaseResult(NamedTuple):
    """A scenario file of a suite with its outcome.

    Attributes:
        path: The file.
        outcome: The run of a story or a timed scenario, without its events; the comparison of a log
            file with what it expects; or why there is neither.
        wall_ms: Duration in ms of real time.
        strip: Picture of each log at the first violation that was not expected, or at the end of a
            story without one; empty for a result as expected.
        noted: True where only its notes are not as expected, in a strict suite.
    """

    path: Path
    outcome: Run | Checked | NotRun
    wall_ms: int = 0
    strip: str = ""
    noted: bool = False

    @property
    def run(self) -> Run | None:
        """The run of a story or a timed scenario; None for other files and without a run."""
        return self.outcome if isinstance(self.outcome, Run) else None

    @property
    def id(self) -> str:
        """Name of the scenario."""
        return self.outcome.id

    @property
    def verdict(self) -> str:
        """`holds`, `violated` or `inconclusive`; or `bad input` or `error`, see `NotRun`."""
        return self.outcome.verdict

    @property
    def reason(self) -> str | None:
        """The reason of another verdict than `holds` and `violated`, else None."""
        return self.outcome.reason

    @property
    def differences(self) -> tuple[str, ...]:
        """Differences from what the file expects; empty where there are none."""
        return self.outcome.notes if self.noted else self.outcome.differences

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks that are no failure: violations not judged, steps without effect."""
        return () if self.noted else self.outcome.notes

    @property
    def expected(self) -> tuple[str, ...] | None:
        """Invariants that the file expects to be violated; None for a log file."""
        return None if self.run is None else self.run.content.expect.violated

    @property
    def expectation_met(self) -> bool:
        """True where everything is as the file expects, and no bound was hit."""
        return self.exit_code == 0

    @property
    def open(self) -> bool:
        """True where a bound was hit, and nothing else is wrong: the result is not known."""
        return self.exit_code == 3

    @property
    def exit_code(self) -> int:
        """0 expectation met, 1 not met, 2 bad input, 3 inconclusive."""
        return 1 if self.noted else self.outcome.exit_code

    @property
    def how(self) -> str:
        """The kind of failure: `bad input`, `error`, `inconclusive` or `not as expected`."""
        unknown = self.verdict == INCONCLUSIVE and not self.differences
        return self.verdict if unknown or self.verdict in (BAD_INPUT, ERROR) else NOT_AS_EXPECTED

    @property
    def complaints(self) -> tuple[str, ...]:
        """Reasons why the expectation is not met, a line each; empty when it is."""
        reason = [] if self.reason is None else f"{self.verdict}: {self.reason}".split("\n")
        return () if self.expectation_met else (*reason, *self.differences)

    @property
    def unexpected(self) -> tuple[Violation, ...]:
        """The first violation of each invariant that is judged and not expected."""
        first: dict[str, Violation] = {}
        for violation in self.outcome.violations:
            if violation.invariant not in (self.expected or ()):
                first.setdefault(violation.invariant, violation)
        return tuple(first.values())

    def strictly(self) -> CaseResult:
        """The result in a strict suite, where each note is a difference."""
        if not self.notes or not self.expectation_met:
            return self
        return self._replace(noted=True)

    @property
    def is_log(self) -> bool:
        """True for a log file: one cleaner, no cluster."""
        return self.outcome.command != "replog run"

    @property
    def command(self) -> str:
        """The command that reproduces it, with the plugins that were named."""
        words: list[object] = [self.path, *as_options()]
        return f"{self.outcome.command} {command_line(words)}"

    def as_json(self) -> dict[str, Any]:
        """The row of `replog suite --json`."""
        document = {
            "id": self.id,
            "verdict": self.verdict,
            **({"reason": self.reason} if self.reason else {}),
            **{key: [] for key in ("violated", "violations", "not_judged", "idle_steps")},
        }
        return (document if self.run is None else self.run.as_json()) | {
            "notes": list(self.notes),
            "expectation_met": self.expectation_met,
            "differences": list(self.differences),
        }


def exit_code(results: Iterable[CaseResult]) -> int:
    """The exit status of the worst result: bad input, then not as expected, then inconclusive."""
    codes = {result.exit_code for result in results}
    return next((code for code in _WORST_FIRST if code in codes), 0)
