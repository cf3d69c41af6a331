"""Reads one scenario file, a story, a timed scenario or a log file, and says what came of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sim.suite.result import CaseResult

if TYPE_CHECKING:
    from sim.recorded import Recorded
    from sim.scenario.model import Scenario
    from sim.story.format import Story


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


def content_at(path: Path) -> Story | Scenario:
    """The story or the timed scenario in a file. Raises BadInput."""
    from sim.files.formats import STORY_FORMAT
    from sim.suite.scenario_files import format_of

    return story_at(path, {}) if format_of(path) == STORY_FORMAT else scenario_at(path, None, {})


def result_of(
    path: Path, content: Story | Scenario, *, keep_events: bool = False
) -> tuple[CaseResult, Recorded]:
    """What comes of a story or a timed scenario, compared with what it expects, and the run."""
    from sim.recorded import record

    started = time.perf_counter()
    run = record(content, keep_events=keep_events)
    result = CaseResult(
        path=path,
        id=content.id,
        title=content.title,
        verdict=run.verdict,
        reason=run.reason,
        violations=run.violations,
        not_judged=run.not_judged,
        differences=run.differences,
        document=run.as_json(),
        is_story=run.skews is None,
        settled=run.settled,
        notes=list(run.notes),
        expected=content.expect.violated,
        wall_ms=since(started),
    )
    return result, run


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
        wall_ms=since(started),
    )


def since(started: float) -> int:
    """Milliseconds of real time since then."""
    return round((time.perf_counter() - started) * 1000)
