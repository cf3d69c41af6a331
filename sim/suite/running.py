"""Reads and runs one scenario file: a story, a timed scenario or a log file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import BadInput
from sim.files.formats import LOG_FORMAT, PLAN_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.files.reading import read_document
from sim.foreign import shell
from sim.suite.result import CaseResult
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
        keep_events: Keep what happened in a timed run, for a saved trace or a timeline; of a story
            it is kept anyway.
        describe: Also say what the header of a saved trace needs.

    Raises:
        BadInput: The file is no scenario, or says something wrong.
    """
    found = format_of(path)
    if found == STORY_FORMAT:
        if seed is not None:
            raise BadInput(f"{path}: --seed: a story has no randomness to seed")
        story = story_at(path, rules or {})
        return story_result(path, story, describe=describe)
    if found == SCENARIO_FORMAT:
        scenario = scenario_at(path, seed, rules or {})
        return timed_result(path, scenario, keep_events=keep_events, describe=describe)
    if found == LOG_FORMAT:
        data = read_document(path).data
        command = "eligible" if isinstance(data, dict) and "logs" in data else "clean"
        raise BadInput(_elsewhere(path, found, "a log file", command))
    if found == PLAN_FORMAT:
        raise BadInput(_elsewhere(path, found, "a sweep plan", "sweep"))
    raise BadInput(*refusal(path, (STORY_FORMAT, SCENARIO_FORMAT)))


def _elsewhere(path: Path, found: str, what: str, command: str) -> str:
    """That a file of this format belongs to another command."""
    return f"{path}: format: {found}: {what}; run it with: replog {command} {shell.quoted(path)}"


def story_at(path: Path, rules: Mapping[str, str]) -> Story:
    """The story in a file, under other rules where some are given. Raises BadInput."""
    # What the other kinds of files need is most of what would have to be imported for a story.
    from sim.rules import rules_from
    from sim.story.format import load_story

    story = load_story(path)
    if rules:
        changed = rules_from(rules, base=story.rules, where="--rule")
        story = replace(story, rules=changed, preset=rules.get("preset", story.preset))
    return story


def story_result(path: Path, story: Story, *, describe: bool = False) -> CaseResult:
    """What comes of a story, compared with what it expects; the arguments are `run_file`'s."""
    from sim.story.driver import idle_steps, run_story

    started = time.perf_counter()
    run = run_story(story)
    return CaseResult(
        path=path,
        id=story.id,
        title=story.title,
        verdict=run.verdict,
        reason=run.reason,
        violations=run.violations,
        not_judged=run.not_judged,
        differences=tuple(run.differences()),
        detail=_story_detail(run),
        is_story=True,
        expected=story.expect.violated,
        judged_by=story.rules,
        wall_ms=_since(started),
        events=run.events,
        trace_header=_of_story(story) if describe else None,
        idle_steps=idle_steps(run),
    )


def _story_detail(run: StoryRun) -> dict[str, Any]:
    return {
        "replicas": {name: view.as_json() for name, view in run.replicas.items()},
        "leader": run.leader,
    }


def scenario_at(path: Path, seed: int | None, rules: Mapping[str, str]) -> Scenario:
    """The scenario in a file, with another seed and rules where they are given. Raises BadInput."""
    from sim.check.checker import known_invariants
    from sim.check.coverage import SITUATIONS
    from sim.rules import settings_from
    from sim.scenario.file.load import load_scenario

    scenario = load_scenario(
        path, seed=seed, known_invariants=known_invariants(), known_reached=SITUATIONS
    )
    if rules:
        settings = settings_from(rules, base=scenario.settings, where="--rule")
        preset = rules.get("preset", scenario.preset)
        scenario = replace(scenario.with_rules(settings), preset=preset)
    return scenario


def timed_result(
    path: Path, scenario: Scenario, *, keep_events: bool = False, describe: bool = False
) -> CaseResult:
    """What comes of a timed scenario, compared with what it expects; arguments as `run_file`."""
    from sim.check.durability import OUTSIDE
    from sim.scenario.model.promises import promise_of
    from sim.timed_run import as_document, differences, run_scenario

    started = time.perf_counter()
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events if keep_events else None)
    return CaseResult(
        path=path,
        id=scenario.id,
        title=scenario.title,
        verdict=run.verdict,
        reason=run.reason,
        violations=run.violations,
        not_judged=run.not_judged,
        differences=tuple(differences(scenario, run)),
        detail=as_document(run),
        wall_ms=_since(started),
        events=events,
        trace_header=_of_timed(scenario) if describe else None,
        expected=scenario.expect.violated,
        judged_by=promise_of(scenario).rules,
        skews=scenario.clock_skews,
        settled=run.outside is not None and OUTSIDE in scenario.expect.reached,
    )


def _of_story(story: Story) -> TraceHeader:
    from sim.story.trace_header import header_of

    return header_of(story)


def _of_timed(scenario: Scenario) -> TraceHeader:
    from sim.scenario.trace_header import header_of

    return header_of(scenario)


def log_result(path: Path) -> CaseResult:
    """The answer about a log file, compared with what it expects. Raises BadInput."""
    from sim.logfile.expect import checked

    started = time.perf_counter()
    found = checked(path)
    return CaseResult(
        path=path,
        id=found.id,
        title=found.title,
        verdict="holds",
        differences=found.differences,
        why=found.why,
        run_with=found.command,
        wall_ms=_since(started),
    )


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
