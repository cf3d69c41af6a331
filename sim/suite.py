"""Suites: any scenario file, story or timed, to a result with what was expected of it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from sim.check import Violation
from sim.check.checker import known_invariants
from sim.check.reached import REACHED
from sim.errors import BadInput
from sim.run import differences, run_scenario
from sim.scenario.file import SCENARIO_FORMAT
from sim.scenario.load import load_scenario
from sim.story.driver import tell
from sim.story.format import STORY_FORMAT, load_story
from sim.story.outcome import StoryRun
from sim.trace import Event

SUFFIXES = (".yaml", ".yml", ".json")
_FORMAT = re.compile(r"""^\s*["']?format["']?\s*:\s*["']?([\w./-]+)""", re.MULTILINE)
_FORMAT_INLINE = re.compile(r"""["']format["']\s*:\s*["']([\w./-]+)["']""")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One scenario file, run.

    Attributes:
        path: The file.
        id: The scenario's or story's id.
        title: Its title.
        verdict: `holds`, `violated` or `inconclusive`.
        reason: Why it is inconclusive, else None.
        violations: In order of detection.
        differences: Where it is not what the file expects; empty = expectation met.
        detail: What `--json` adds for this kind of file.
        wall_ms: How long it took, in ms of real time.
        events: (when, event) of everything that happened.
    """

    path: Path
    id: str
    title: str
    verdict: str
    reason: str | None
    violations: tuple[Violation, ...]
    differences: tuple[str, ...]
    detail: Mapping[str, Any]
    wall_ms: int
    events: tuple[tuple[int, Event], ...]

    @property
    def expectation_met(self) -> bool:
        """Everything as the file says, and no bound was hit on the way."""
        return not self.differences and self.verdict != "inconclusive"

    @property
    def exit_code(self) -> int:
        """0 expectation met, 1 not met, 3 inconclusive."""
        if self.differences:
            return 1
        return 3 if self.verdict == "inconclusive" else 0

    def as_json(self) -> dict[str, Any]:
        """What `replog run --json` prints."""
        when = "step" if "replicas" in self.detail else "at_ms"
        return {
            "id": self.id,
            "verdict": self.verdict,
            "reason": self.reason,
            "violated": list(dict.fromkeys(v.invariant for v in self.violations)),
            "violations": [
                {
                    "invariant": v.invariant,
                    when: v.at,
                    "replica": v.replica,
                    "offset": v.offset,
                    "key": v.key,
                    "sentence": v.sentence,
                }
                for v in self.violations
            ],
            **self.detail,
            "expectation_met": self.expectation_met,
            "differences": list(self.differences),
        }


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
        rules: Rule values that replace those of the file.
        keep_events: Keep what happened, for a saved trace or a timeline.

    Raises:
        BadInput: The file is no scenario, or says something wrong.
    """
    found = format_of(path)
    if found == STORY_FORMAT:
        if seed is not None:
            raise BadInput(f"{path}: --seed: a story has no randomness to seed")
        return _run_story(path, rules or {})
    if found == SCENARIO_FORMAT:
        return _run_timed(path, seed, rules or {}, keep_events=keep_events)
    raise BadInput(
        f"{path}: format: {found or 'missing'}; allowed: {STORY_FORMAT}, {SCENARIO_FORMAT}"
    )


def _run_story(path: Path, rules: Mapping[str, str]) -> CaseResult:
    started = time.perf_counter()
    story = load_story(path)
    if rules:
        story = replace(story, rules=story.rules.with_values(rules, where="--rule"))
    run = tell(story)
    return CaseResult(
        path=path,
        id=story.id,
        title=story.title,
        verdict=run.verdict,
        reason=None,
        violations=run.violations,
        differences=tuple(run.differences()),
        detail=_story_detail(run),
        wall_ms=_since(started),
        events=run.events,
    )


def _story_detail(run: StoryRun) -> dict[str, Any]:
    return {
        "replicas": {name: asdict(view) for name, view in run.replicas.items()},
        "leader": run.leader,
    }


def _run_timed(
    path: Path, seed: int | None, rules: Mapping[str, str], *, keep_events: bool
) -> CaseResult:
    started = time.perf_counter()
    scenario = load_scenario(
        path, seed=seed, known_invariants=known_invariants(), known_reached=REACHED
    )
    if rules:
        scenario = scenario.with_rules(scenario.rules.with_values(rules, where="--rule"))
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
        detail={
            "seed": run.seed,
            "rules": run.rules.as_dict(),
            "counters": run.counters,
            "reached": list(run.reached),
            "digest": run.digest,
            "weather": run.weather,
        },
        wall_ms=_since(started),
        events=tuple(events),
    )


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)


def scenario_files(folder: Path) -> list[Path]:
    """All stories and timed scenarios below `folder`, sorted by path.

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
        if path.suffix in SUFFIXES and format_of(path) in (STORY_FORMAT, SCENARIO_FORMAT)
    ]
    if not found:
        raise BadInput(
            f"{folder}: no scenario files; they say format: {STORY_FORMAT} or {SCENARIO_FORMAT}"
        )
    return found


def run_suite(folder: Path) -> Iterator[CaseResult]:
    """Run every scenario file below `folder`, one after the other."""
    for path in scenario_files(folder):
        yield run_file(path)


def write_junit(path: Path, results: list[CaseResult]) -> None:
    """Write results as JUnit XML; a failure holds the differences and the reproduce command."""
    failed = sum(1 for result in results if not result.expectation_met)
    suite = ET.Element(
        "testsuite", name="replog", tests=str(len(results)), failures=str(failed), errors="0"
    )
    for result in results:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=".".join(result.path.with_suffix("").parts),
            name=result.id,
            time=f"{result.wall_ms / 1000:.3f}",
        )
        if not result.expectation_met:
            lines = [*result.differences, *([result.reason] if result.reason else [])]
            failure = ET.SubElement(case, "failure", message=lines[0])
            sentences = [violation.sentence for violation in result.violations]
            failure.text = "\n".join([*lines, *sentences, f"replog run {result.path}"])
    try:
        ET.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
