"""A story or a timed scenario that did not end as it should: with its trace and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sim.check import Violation
from sim.check.judged import unexpected
from sim.diagnose.draw import Case, html, strip, svg
from sim.diagnose.draw.scene import verdict_of
from sim.diagnose.explain import explanation
from sim.diagnose.explain.signature import signature_of
from sim.diagnose.failures.failure import EXPLANATION, Failure
from sim.files.foreign import markdown
from sim.files.foreign.lines import one_line
from sim.files.foreign.markdown import block, text
from sim.protocol.rules.spec import RuleValue
from sim.simulate.run import Run
from sim.simulate.run.trace_file import write_trace
from sim.simulate.scenario.generate.mix import Mix

SHRUNK, SHRUNK_PICTURE = "shrunk.yaml", "shrunk.svg"
PAGE, PICTURE, STRIP = "picture.html", "picture.svg", "strip.txt"
SCENARIO = "scenario.yaml"
TRACE = "trace.ndjson"
STRIP_WIDTH = 120


@dataclass(frozen=True, kw_only=True)
class RunFailure(Failure):
    """A run that is not as it should be.

    Attributes:
        run: What happened, compared with what the scenario expects.
        violation: What the folder is about; None = no invariant is violated, but something that
            the scenario expects did not come.
        mix: What its scenario was drawn from; None = a file, or a story.
        changed_rules: The rules that are not the default, by name.
        scenario: The scenario file for a folder: a file of changes is named relative to it.
        shrunk: Makes files about the smallest run that fails in the same way, by their names; it
            may take seconds.
    """

    run: Run
    violation: Violation | None
    mix: Mix | None
    changed_rules: Mapping[str, RuleValue]
    scenario: Callable[[Path], str]
    shrunk: Callable[[], Mapping[str, str]]

    @property
    def about(self) -> str:
        """The invariant, or how it failed without one."""
        if self.violation is not None:
            return self.violation.invariant
        return "not-as-expected" if self.run.differences else self.run.verdict

    @property
    def sentence(self) -> str:
        """What went wrong, in one line."""
        if self.violation is None:
            return one_line(self.missed[0])
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
        lines = [line for line in self.missed if line not in shown]
        if self.violation is not None:
            run = self.run
            lines += explanation(run.events, self.violation, rules=run.rules, skews=run.skews).lines
        return lines

    def rows(self) -> dict[str, str]:
        """Facts about it by their names, as Markdown."""
        rules = ", ".join(f"{name}={value}" for name, value in self.changed_rules.items())
        run, seed = self.run, self.run.content.seed
        return {
            "verdict": text(run.verdict + (f" ({run.reason})" if run.reason else "")),
            "cause": text(self.cause),
            "violated": text(", ".join(dict.fromkeys(one.invariant for one in run.violations))),
            "note": text("; ".join(run.notes)),
            "rules": markdown.code(rules) if rules else "the defaults",
            "seed": "none: a story has no randomness" if seed is None else str(seed),
            "digest": f"`{run.digest}`",
        }

    def document(self) -> dict[str, Any]:
        """What a machine needs to know of it beside what is the same for all."""
        return {
            "invariant": None if self.violation is None else self.violation.invariant,
            "cause": self.cause,
            "seed": self.run.content.seed,
            "verdict": self.run.verdict,
            "notes": list(self.run.notes),
            "rules": dict(self.changed_rules),
            "events": len(self.run.events),
            "digest": self.run.digest,
        }

    def texts(self, folder: Path) -> dict[str, str]:
        """The scenario, the pictures, and the smallest run that fails in the same way."""
        return {
            SCENARIO: self.scenario(folder),
            **self._pictures(),
            **self.shrunk(),
            TRACE: "",
        }

    def write(self, folder: Path) -> None:
        """Write the trace."""
        write_trace(folder / TRACE, self.run, mix=self.mix)

    def shown(self, texts: Mapping[str, str]) -> list[str]:
        """What every replica held, as pictures and as text, and the smallest run."""
        return [
            "What every replica held ([to step through](picture.html)):"
            if PAGE in texts
            else "What every replica held:",
            f"![what every replica held, and the messages that led there]({PICTURE})",
            _file(texts[STRIP]),
            f"What led there:\n\n{_file(texts[EXPLANATION])}",
            *_shrunk(texts),
        ]

    def _pictures(self) -> dict[str, str]:
        """The pictures by their file; the page only where there is what makes it."""
        run, title = self.run, self.title or self.id
        case = Case(
            run.proper if self.violation is None else run.events,
            self.violation,
            run.rules,
            run.labels,
            verdict=verdict_of(run.violations),
            violations=() if self.violation is None else run.violations,
            skews=run.skews,
            missed=self.not_as_expected,
        )
        found = {
            STRIP: strip(case, STRIP_WIDTH) + "\n",
            PICTURE: svg(case, title=title, unit=run.unit),
        }
        if find_spec("jinja2") is not None:
            # The page tells above what was missed, so that here only the reasons are told.
            told = [line for line in self.explanation() if line not in self.missed]
            found[PAGE] = html(
                case, title=title, unit=run.unit, explanation=told, command=self.command
            )
        return found


def expectation(expect: Any) -> str:
    """What a story or a timed scenario expects, in one line."""
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


def missed(run: Run) -> tuple[str, ...]:
    """Where a run is not as the scenario expects, a line each; first that nobody knows."""
    unknown = run.verdict == "inconclusive" and not run.settled
    reason = [f"{run.verdict}: {run.reason}"] if unknown else []
    return tuple(map(one_line, [*reason, *run.differences]))


def _shrunk(texts: Mapping[str, str]) -> list[str]:
    """The smallest run that fails in the same way, with its picture, if there is one."""
    if SHRUNK not in texts:
        return []
    told = "The same failure in as little as can be:"
    return [told, _file(texts[SHRUNK]), f"![what every replica held in it]({SHRUNK_PICTURE})"]


def _file(content: str) -> str:
    """What a file of text has, as it stands there."""
    return block(content.rstrip().split("\n"), language="text")
