"""Answers about a run: its explanation, its picture, its folder, other rules, a small witness."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sim.api.scenarios import Scenario, Value
from sim.api.tables import facts, frame, grid, plain_text, shorten
from sim.errors import BadInput, did_you_mean
from sim.simulate.run import Run as Simulated

if TYPE_CHECKING:
    import pandas as pd

    from sim.check import Violation
    from sim.diagnose.draw import DrawnCase
    from sim.diagnose.explain import ExplanationText as CheckedExplanation
    from sim.diagnose.failures import RunFailure

RULES_NAMED = 6
"""Number of differing rules that a label names."""
SUFFIXES = (".html", ".svg", ".png", ".txt")
"""Endings of files that a timeline can be saved as."""


class _RunLike(Protocol):
    """The part of `sim.api.runs.Run` that answers need; that module imports this one."""

    scenario: Scenario

    @property
    def id(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def recorded(self) -> Simulated: ...
    @property
    def command(self) -> str | None: ...
    def timeline(self, invariant: str | None = None) -> Timeline: ...


R = TypeVar("R", bound=_RunLike)
P = TypeVar("P")


class Explanation(tuple[str, ...]):  # noqa: SLOT001 - a subclass of tuple has no slots
    """Explanation of a violation as lines of text; `print` shows all of them.

    Attributes:
        about: Name of the violated invariant.
        decided_by: The deciding fact, in one sentence.
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


@dataclass(frozen=True)
class Timeline:
    """A picture of a run for Jupyter; `print` shows it as text.

    Attributes:
        case: The run, and the violation that is shown.
        title: Title of the scenario.
        moments: Caption by time (ms, or a step); a picture then shows the logs at these times, and
            nothing else.
        against: The same case under other rules; `save("page.html")` shows it beside this one.
        command: Command that runs it again; may be empty.
        decided: True to state the deciding fact below the sentence of the violation.
    """

    case: DrawnCase
    title: str
    moments: Mapping[int, str] | None = None
    against: DrawnCase | None = None
    command: str = ""
    decided: bool = False

    def at(self, *moments: int, **captions: int) -> Timeline:
        """The logs at some moments side by side: times in ms, or numbers of steps.

        A name for a moment is its caption: `at(before=11, after=12)`.
        """
        named = dict.fromkeys(moments, "") | {when: name for name, when in captions.items()}
        return replace(self, moments=dict(sorted(named.items())))

    @property
    def svg(self) -> str:
        """The picture as an SVG file."""
        from sim.diagnose.draw import svg

        return self._drawn(svg)

    @property
    def png(self) -> bytes:
        """The picture as a PNG file. Raises BadInput when matplotlib is not installed."""
        from sim.diagnose.draw import png

        return self._drawn(png)

    @property
    def page(self) -> str:
        """The picture as a self-contained HTML page, with keys and a slider to step through it.

        Raises:
            BadInput: Jinja2 is not installed.
        """
        from sim.diagnose.draw import html

        return html(
            self.case,
            title=self.title or self.case.name,
            against=self.against,
            command=self.command,
        )

    def save(self, path: str | Path) -> Path:
        """Writes the picture as `.html` (a page to step through), `.svg`, `.png` or `.txt`.

        Returns the path.

        Raises:
            BadInput: Another ending, a package that is not installed, or it cannot be written.
        """
        from sim.files.atomic import replacing

        where = Path(path)
        if where.suffix.lower() not in SUFFIXES:
            allowed = ", ".join(SUFFIXES)
            raise BadInput(f"{where}: a picture has one of these endings: {allowed}")
        with replacing(where) as file:
            file.write(self._content(where.suffix.lower()))
        return where

    def _content(self, suffix: str) -> bytes:
        if suffix == ".png":
            return self.png
        texts = {".html": lambda: self.page, ".svg": lambda: self.svg, ".txt": lambda: f"{self}\n"}
        return texts[suffix]().encode()

    def _drawn(self, draw: Callable[..., P]) -> P:
        """The picture that `draw` makes of the case."""
        note = self.case.decided_by if self.decided and not self.moments else ""
        return draw(self.case, title=self.title, note=note, captions=self.moments)

    def __str__(self) -> str:
        """Draws the logs of all replicas as a text of about a dozen lines."""
        return self.as_text()

    def as_text(self, columns: int = 100) -> str:
        """The violation, and the logs of all replicas, as a text of about a dozen lines.

        Args:
            columns: Width of a line; 40 at least.
        """
        from sim.diagnose.draw import strip

        about, text = self.case.violation, strip(self.case, columns)
        return text if about is None else f"{about.invariant}: {about.sentence}\n{text}"

    def __repr__(self) -> str:
        """Returns one line for people."""
        case, said = self.case, f"{len(self.case.run.events)} events, nothing violated"
        if case.violation is not None:
            said = shorten(case.violation.sentence, 120)
        return f"Timeline({case.name}: {said})"

    def _repr_html_(self) -> str:
        from sim.diagnose.draw import figure_html

        return self._drawn(figure_html)


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
        picture = self.run.timeline(self.invariant)._repr_html_()
        return facts(rows) + plain_text(str(self)) + picture


def not_violated(name: str, verdict: str, wanted: str, violations: Iterable[Violation]) -> BadInput:
    """The error for a run that does not violate an invariant.

    `wanted` is its name; empty for a run that violates nothing.
    """
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
    from sim.protocol.rules import shown

    mine, theirs = one.rules, other.rules
    names = [name for name in mine if mine[name] != theirs.get(name)] or ["fix"]
    more = f" and {len(names) - RULES_NAMED} more rules" if len(names) > RULES_NAMED else ""
    return [
        ", ".join(f"{name}={shown(rules[name])}" for name in names[:RULES_NAMED]) + more
        for rules in (mine, theirs)
    ]


def label_of(rules: Mapping[str, Value], axes: Mapping[str, Sequence[Value]]) -> str:
    """The label of a run: its values of the rules in `axes`, with their names if there are several.

    Raises BadInput for a `preset`.
    """
    if "preset" in axes:
        raise BadInput("compare: preset: name the rules; or run the scenario with preset=…")
    from sim.protocol.rules import shown

    if len(axes) == 1:
        return shown(rules[next(iter(axes))]) if next(iter(axes)) in rules else ""
    return ", ".join(f"{name}={shown(rules[name])}" for name in axes if name in rules)


def failure_of(run: _RunLike, found: Violation | None) -> RunFailure:
    """Collects the content of the folder of a failing run.

    Args:
        run: The run.
        found: The violation that the folder is about; None for an expectation that was not met.

    Raises:
        BadInput: Nothing is violated, and all is as the scenario expects.
    """
    from sim.diagnose.failures import RunFailure, missed
    from sim.study.suite.scenario_files import from_here

    scenario, ended = run.scenario, run.recorded
    if not (ended.violations or missed(ended)):
        raise BadInput(f"{run.id}: all is as expected; only a failure gets a folder")
    return RunFailure(
        id=run.id.replace(" ", "-"),
        file=None if scenario.path is None else from_here(scenario.path),
        made_by=run.command,
        run=ended,
        violation=found,
        mix=scenario.mix,
        scenario=scenario.as_file,
    )
