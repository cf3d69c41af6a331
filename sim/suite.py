"""Suites: any scenario file, story, timed or log, to a result with what was expected of it."""

from __future__ import annotations

import re
import shlex
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sim.check import Violation
from sim.check.checker import known_invariants
from sim.check.durability import OUTSIDE
from sim.check.reached import REACHED
from sim.errors import BadInput
from sim.logfile import LOG_FORMAT
from sim.plugins import as_options
from sim.rows import violation_row
from sim.rules import rules_from
from sim.scenario.file.document import SCENARIO_FORMAT
from sim.story.driver import run_story
from sim.story.format import STORY_FORMAT, load_story
from sim.story.idle import idle_steps
from sim.story.result import StoryRun
from sim.trace import Event

SUFFIXES = (".yaml", ".yml", ".json")
_FORMAT = re.compile(r"""^\s*["']?format["']?\s*:\s*["']?([\w./-]+)""", re.MULTILINE)
_FORMAT_INLINE = re.compile(r"""["']format["']\s*:\s*["']([\w./-]+)["']""")
_ELSEWHERE = {
    "replog-sweep/1": "a sweep plan; run it with: replog sweep",
    LOG_FORMAT: "a log file; run it with: replog clean",
}
IN_A_SUITE = (STORY_FORMAT, SCENARIO_FORMAT, LOG_FORMAT)
"""What a suite runs."""

BAD_INPUT = "bad input"
ERROR = "error"
_WORST_FIRST = (2, 1, 3, 0)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One scenario file, run.

    Attributes:
        path: The file.
        id: The scenario's or story's id.
        title: Its title.
        verdict: `holds`, `violated` or `inconclusive`; in a suite also `bad input` for a file that
            says something wrong, and `error` when the run ended in an exception.
        reason: Why it is none of the first two, else None.
        violations: In order of detection.
        differences: Where it is not what the file expects; empty = expectation met.
        detail: What `--json` adds for this kind of file.
        is_story: Whether it is a story: its times are steps.
        run_with: The command that reproduces it: a log file has commands of its own.
        wall_ms: How long it took, in ms of real time.
        events: (when, event) of everything that happened; of a timed run only if asked for.
        settled: That there is no verdict is what the file expects: its run is to leave the
            durability contract.
        tombstone_mark: What marks a tombstone in it.
        idle_steps: The steps of a story that did nothing, as (number, line); only if asked for.
    """

    path: Path
    id: str
    title: str
    verdict: str
    reason: str | None = None
    violations: tuple[Violation, ...] = ()
    differences: tuple[str, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    is_story: bool = False
    run_with: str = "replog run"
    wall_ms: int = 0
    events: tuple[tuple[int, Event], ...] = ()
    settled: bool = False
    tombstone_mark: str = "null_value"
    idle_steps: tuple[tuple[int, str], ...] = ()

    @property
    def expectation_met(self) -> bool:
        """Everything as the file says, and no bound was hit on the way."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """0 expectation met, 1 not met, 2 bad input, 3 inconclusive."""
        if self.verdict == BAD_INPUT:
            return 2
        if self.differences or self.verdict == ERROR:
            return 1
        return 3 if self.verdict == "inconclusive" and not self.settled else 0

    @property
    def complaints(self) -> tuple[str, ...]:
        """Why the expectation is not met, a line each; empty when it is."""
        reason = () if self.reason is None else (f"{self.verdict}: {self.reason}",)
        return () if self.expectation_met else (*reason, *self.differences)

    @property
    def is_log(self) -> bool:
        """Whether it is a log file: one cleaner, no cluster."""
        return self.run_with != "replog run"

    @property
    def command(self) -> str:
        """What reproduces it, with the plugins that were named."""
        words = [str(self.path), *["--check"] * self.is_log, *as_options()]
        return f"{self.run_with} {shlex.join(words)}"

    def as_json(self) -> dict[str, Any]:
        """What `replog run --json` prints."""
        return {
            "id": self.id,
            "verdict": self.verdict,
            **({"reason": self.reason} if self.reason and not self.detail else {}),
            "violated": list(dict.fromkeys(v.invariant for v in self.violations)),
            "violations": [violation_row(v, when="step") for v in self.violations],
            **self.detail,
            "expectation_met": self.expectation_met,
            "differences": list(self.differences),
        }


def exit_code(results: Iterable[CaseResult]) -> int:
    """That of the worst: bad input, then an expectation not met, then inconclusive."""
    codes = {result.exit_code for result in results}
    return next((code for code in _WORST_FIRST if code in codes), 0)


def format_of(path: Path) -> str | None:
    """The value of the file's `format` field; None when it has none.

    Raises:
        BadInput: The file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: cannot be read: not UTF-8 text") from None
    found = _FORMAT.search(text) or _FORMAT_INLINE.search(text)
    return found.group(1) if found else None


def run_file(
    path: Path,
    *,
    seed: int | None = None,
    rules: Mapping[str, str] | None = None,
    keep_events: bool = False,
) -> CaseResult:
    """Run one scenario file.

    Args:
        path: A story or a timed scenario.
        seed: Replaces the scenario's seed; a story has none.
        rules: Rule values, or a preset, that replace those of the file.
        keep_events: Keep what happened, for a saved trace or a timeline, and of a story the steps
            that did nothing.

    Raises:
        BadInput: The file is no scenario, or says something wrong.
    """
    found = format_of(path)
    if found == STORY_FORMAT:
        if seed is not None:
            raise BadInput(f"{path}: --seed: a story has no randomness to seed")
        return _run_story(path, rules or {}, watch=keep_events)
    if found == SCENARIO_FORMAT:
        return _run_timed(path, seed, rules or {}, keep_events=keep_events)
    if found in _ELSEWHERE:
        raise BadInput(f"{path}: format: {found}: {_ELSEWHERE[found]} {shlex.quote(str(path))}")
    raise BadInput(
        f"{path}: format: {found or 'missing'}; allowed: {STORY_FORMAT}, {SCENARIO_FORMAT}"
    )


def _run_story(path: Path, rules: Mapping[str, str], *, watch: bool) -> CaseResult:
    started = time.perf_counter()
    story = load_story(path)
    if rules:
        story = replace(story, rules=rules_from(rules, base=story.rules, where="--rule"))
    run = run_story(story)
    return CaseResult(
        path=path,
        id=story.id,
        title=story.title,
        verdict=run.verdict,
        violations=run.violations,
        differences=tuple(run.differences()),
        detail=_story_detail(run),
        is_story=True,
        wall_ms=_since(started),
        events=run.events,
        tombstone_mark=story.rules.tombstone_mark,
        idle_steps=tuple((step.number, step.line) for step in idle_steps(story)) if watch else (),
    )


def _story_detail(run: StoryRun) -> dict[str, Any]:
    return {
        "replicas": {name: view.as_json() for name, view in run.replicas.items()},
        "leader": run.leader,
    }


def _run_timed(
    path: Path, seed: int | None, rules: Mapping[str, str], *, keep_events: bool
) -> CaseResult:
    # A story needs none of these, and they are most of what would have to be imported for it.
    from sim.run import as_document, differences, run_scenario
    from sim.scenario.file.load import load_scenario

    started = time.perf_counter()
    scenario = load_scenario(
        path, seed=seed, known_invariants=known_invariants(), known_reached=REACHED
    )
    if rules:
        scenario = scenario.with_rules(rules_from(rules, base=scenario.rules, where="--rule"))
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events if keep_events else None)
    return CaseResult(
        path=path,
        id=scenario.id,
        title=scenario.title,
        verdict=run.verdict,
        reason=run.reason,
        violations=run.violations,
        differences=tuple(differences(scenario, run)),
        detail=as_document(run),
        wall_ms=_since(started),
        events=tuple(events),
        settled=run.outside is not None and OUTSIDE in scenario.expect.reached,
        tombstone_mark=scenario.rules.tombstone_mark,
    )


def _run_log(path: Path) -> CaseResult:
    from sim.logfile.expect import checked

    started = time.perf_counter()
    found = checked(path)
    return CaseResult(
        path=path,
        id=found.id,
        title=found.title,
        verdict="holds",
        differences=found.differences,
        run_with=found.command,
        wall_ms=_since(started),
    )


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)


def scenario_files(folder: Path) -> list[Path]:
    """All stories, timed scenarios and log files below `folder`, sorted by path.

    Raises:
        BadInput: It is no folder, or holds none.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder")
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and format_of(path) in IN_A_SUITE
    ]
    if not found:
        raise BadInput(f"{folder}: no scenario files; they say format: {' or '.join(IN_A_SUITE)}")
    return found


def run_suite(folder: Path) -> Iterator[CaseResult]:
    """Run every scenario file below `folder`, one after the other.

    One that cannot be run, whatever the reason, is a result like any other.
    """
    for path in scenario_files(folder):
        started = time.perf_counter()
        command = "replog run"
        try:
            if format_of(path) == LOG_FORMAT:
                command = "replog clean"
                yield _run_log(path)
            else:
                yield run_file(path)
        except BadInput as error:
            yield _not_run(path, BAD_INPUT, str(error), command, started)
        except Exception as error:  # noqa: BLE001 - the others are to be run all the same
            yield _not_run(path, ERROR, _last_place(error), command, started)


def _not_run(path: Path, verdict: str, reason: str, command: str, started: float) -> CaseResult:
    wall_ms = _since(started)
    return CaseResult(path, path.stem, "", verdict, reason, run_with=command, wall_ms=wall_ms)


def _last_place(error: Exception) -> str:
    """The exception and where it was raised, in one line."""
    text = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
