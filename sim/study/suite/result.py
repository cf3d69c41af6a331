"""What came of one scenario file, whatever kind it is, and the exit status of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sim.check import Violation
from sim.files.foreign import shell
from sim.plugins import as_options

BAD_INPUT = "bad input"
ERROR = "error"
INCONCLUSIVE = "inconclusive"
NOT_AS_EXPECTED = "not as expected"
_WORST_FIRST = (2, 1, 3, 0)


class CaseResult(NamedTuple):
    """One scenario file, run.

    Attributes:
        path: The file.
        id: The scenario's or story's id.
        title: Its title.
        verdict: `holds`, `violated` or `inconclusive`; in a suite also `bad input` for a file that
            says something wrong, and `error` when the run ended in an exception.
        reason: Why it is none of the first two, else None.
        violations: Of what is judged, in order of detection.
        differences: Where it is not what the file expects; empty = expectation met.
        why: What became of the records that a log file's differences are about, a sentence each.
        document: What `--json` says of a story or a timed scenario; None = it has not run.
        is_story: Whether it is a story: its times are steps.
        run_with: The command that reproduces it: a log file has commands of its own.
        wall_ms: How long it took, in ms of real time.
        settled: That there is no verdict is what the file expects: its run is to leave the
            durability contract.
        notes: What is no failure, and should be known: what was not judged, and what did nothing.
        expected: The invariants that the file expects to be violated; None = it cannot say.
        strip: What each replica held at the first violation that was not expected, or at the end
            of a story that has none; only of what is not as expected, in a suite.
        noted: Whether nothing but its notes is not as expected, for somebody who is strict.
    """

    path: Path
    id: str
    title: str
    verdict: str
    reason: str | None = None
    violations: tuple[Violation, ...] = ()
    differences: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    document: Mapping[str, Any] | None = None
    is_story: bool = False
    run_with: str = "replog run"
    wall_ms: int = 0
    settled: bool = False
    notes: Sequence[str] = ()
    expected: tuple[str, ...] | None = None
    strip: str = ""
    noted: bool = False

    @property
    def expectation_met(self) -> bool:
        """Everything as the file says, and no bound was hit on the way."""
        return self.exit_code == 0

    @property
    def open(self) -> bool:
        """Nobody knows whether it is as expected: a bound was hit, and nothing else is wrong."""
        return self.exit_code == 3

    @property
    def exit_code(self) -> int:
        """0 expectation met, 1 not met, 2 bad input, 3 inconclusive."""
        if self.verdict == BAD_INPUT:
            return 2
        if self.differences or self.verdict == ERROR:
            return 1
        return 3 if self.verdict == INCONCLUSIVE and not self.settled else 0

    @property
    def how(self) -> str:
        """In what way it is not as expected: `bad input`, `error`, `inconclusive`, or just so."""
        unknown = self.verdict == INCONCLUSIVE and not self.differences
        return self.verdict if unknown or self.verdict in (BAD_INPUT, ERROR) else NOT_AS_EXPECTED

    @property
    def complaints(self) -> tuple[str, ...]:
        """Why the expectation is not met, a line each; empty when it is."""
        reason = [] if self.reason is None else f"{self.verdict}: {self.reason}".split("\n")
        return () if self.expectation_met else (*reason, *self.differences)

    @property
    def unexpected(self) -> tuple[Violation, ...]:
        """The first violation of each invariant that is judged and not expected."""
        first: dict[str, Violation] = {}
        for violation in self.violations:
            if violation.invariant not in (self.expected or ()):
                first.setdefault(violation.invariant, violation)
        return tuple(first.values())

    def strictly(self) -> CaseResult:
        """The same where a note is a difference: nothing is as expected that leaves one."""
        if not self.notes or not self.expectation_met:
            return self
        return self._replace(differences=tuple(self.notes), notes=(), noted=True)

    @property
    def is_log(self) -> bool:
        """Whether it is a log file: one cleaner, no cluster."""
        return self.run_with != "replog run"

    @property
    def command(self) -> str:
        """What reproduces it, with the plugins that were named."""
        words: list[object] = [self.path, *as_options()]
        return f"{self.run_with} {shell.command(words)}"

    def as_json(self) -> dict[str, Any]:
        """What `replog suite --json` prints of it."""
        return {
            "id": self.id,
            "verdict": self.verdict,
            **({"reason": self.reason} if self.reason else {}),
            "violated": [],
            "violations": [],
            "not_judged": [],
            "idle_steps": [],
            **(self.document or {}),
            "notes": list(self.notes),
            "expectation_met": self.expectation_met,
            "differences": list(self.differences),
            **({"why": list(self.why)} if self.why else {}),
        }


def exit_code(results: Iterable[CaseResult]) -> int:
    """That of the worst: bad input, then an expectation not met, then inconclusive."""
    codes = {result.exit_code for result in results}
    return next((code for code in _WORST_FIRST if code in codes), 0)
