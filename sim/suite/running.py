"""Runs one scenario file: a story, a timed scenario or a log file."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import BadInput
from sim.files.formats import LOG_FORMAT, PLAN_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.files.reading import read_document
from sim.suite.result import BAD_INPUT, ERROR, CaseResult
from sim.suite.scenario_files import format_of, refusal

if TYPE_CHECKING:
    from sim.files.trace_file import TraceHeader
    from sim.scenario.model import Scenario
    from sim.story.format import Story
    from sim.story.result import StoryRun
    from sim.trace import Event


def run_file(
    path: Path,
    *,
    seed: int | None = None,
    rules: Mapping[str, str] | None = None,
    keep_events: bool = False,
    describe: bool = False,
) -> CaseResult:
    """Run one scenario file.

    Args:
        path: A story or a timed scenario.
        seed: Replaces the scenario's seed; a story has none.
        rules: Rule values, or a preset, that replace those of the file.
        keep_events: Keep what happened, for a saved trace or a timeline, and of a story the steps
            that did nothing.
        describe: Also say what the header of a saved trace needs.

    Raises:
        BadInput: The file is no scenario, or says something wrong.
    """
    found = format_of(path)
    if found == STORY_FORMAT:
        if seed is not None:
            raise BadInput(f"{path}: --seed: a story has no randomness to seed")
        return _run_story(path, rules or {}, watch=keep_events, describe=describe)
    if found == SCENARIO_FORMAT:
        return _run_timed(path, seed, rules or {}, keep_events=keep_events, describe=describe)
    if found == LOG_FORMAT:
        data = read_document(path).data
        command = "eligible" if isinstance(data, dict) and "logs" in data else "clean"
        raise BadInput(_elsewhere(path, found, "a log file", command))
    if found == PLAN_FORMAT:
        raise BadInput(_elsewhere(path, found, "a sweep plan", "sweep"))
    raise BadInput(refusal(path, (STORY_FORMAT, SCENARIO_FORMAT)))


def _elsewhere(path: Path, found: str, what: str, command: str) -> str:
    """That a file of this format belongs to another command."""
    return (
        f"{path}: format: {found}: {what}; run it with: replog {command} {shlex.quote(str(path))}"
    )


def _run_story(path: Path, rules: Mapping[str, str], *, watch: bool, describe: bool) -> CaseResult:
    # What the other kinds of files need is most of what would have to be imported for a story.
    from sim.rules import rules_from
    from sim.story.driver import run_story
    from sim.story.format import load_story
    from sim.story.idle import idle_steps

    started = time.perf_counter()
    story = load_story(path)
    if rules:
        changed = rules_from(rules, base=story.rules, where="--rule")
        story = replace(story, rules=changed, preset=rules.get("preset", story.preset))
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
        expected=story.expect.violated,
        wall_ms=_since(started),
        events=run.events,
        trace_header=_of_story(story) if describe else None,
        idle_steps=tuple((step.number, step.line) for step in idle_steps(story)) if watch else (),
    )


def _story_detail(run: StoryRun) -> dict[str, Any]:
    return {
        "replicas": {name: view.as_json() for name, view in run.replicas.items()},
        "leader": run.leader,
    }


def _run_timed(
    path: Path,
    seed: int | None,
    rules: Mapping[str, str],
    *,
    keep_events: bool,
    describe: bool,
) -> CaseResult:
    from sim.check.checker import known_invariants
    from sim.check.coverage import SITUATIONS
    from sim.check.durability import OUTSIDE
    from sim.rules import settings_from
    from sim.scenario.file.load import load_scenario
    from sim.timed_run import as_document, differences, run_scenario

    started = time.perf_counter()
    scenario = load_scenario(
        path, seed=seed, known_invariants=known_invariants(), known_reached=SITUATIONS
    )
    if rules:
        settings = settings_from(rules, base=scenario.settings, where="--rule")
        preset = rules.get("preset", scenario.preset)
        scenario = replace(scenario.with_rules(settings), preset=preset)
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
        events=events,
        trace_header=_of_timed(scenario) if describe else None,
        expected=scenario.expect.violated,
        settled=run.outside is not None and OUTSIDE in scenario.expect.reached,
    )


def _of_story(story: Story) -> TraceHeader:
    from sim.story.trace_header import header_of

    return header_of(story)


def _of_timed(scenario: Scenario) -> TraceHeader:
    from sim.scenario.trace_header import header_of

    return header_of(scenario)


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


def run_any(path: Path) -> CaseResult:
    """Run one file of a suite, a log file as well, and whatever happens is a result.

    The events are left out of it: a suite has too many of them.
    """
    started = time.perf_counter()
    command = "replog run"
    try:
        if format_of(path) == LOG_FORMAT:
            command = "replog clean"
            return _run_log(path)
        return run_file(path)._replace(events=())
    except BadInput as error:
        return not_run(path, BAD_INPUT, str(error), command, started)
    except Exception as error:  # noqa: BLE001 - the others are to be run all the same
        return not_run(path, ERROR, _last_place(error), command, started)


def not_run(
    path: Path, verdict: str, reason: str, command: str = "replog run", started: float | None = None
) -> CaseResult:
    """The result of a file that has none of its own; `started`: when it was begun, if it was."""
    wall_ms = 0 if started is None else _since(started)
    return CaseResult(path, path.stem, "", verdict, reason, run_with=command, wall_ms=wall_ms)


def _last_place(error: Exception) -> str:
    """The exception and where it was raised, in one line."""
    import traceback

    text = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
