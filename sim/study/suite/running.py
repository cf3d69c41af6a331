"""Reads one scenario file, a story, a timed scenario or a log file, and says what came of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import BadInput
from sim.files.foreign.lines import one_line
from sim.files.formats import STORY_FORMAT
from sim.files.reading import read_document
from sim.study.suite.result import CaseResult

if TYPE_CHECKING:
    from sim.files.document import Document
    from sim.protocol.rules.spec import RuleValue
    from sim.simulate.run import Run
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story


def content_at(path: Path, rules: Mapping[str, str] | None = None) -> Story | Scenario:
    """The story or the timed scenario in a file, under other rules where some are given.

    Raises:
        BadInput: It is none, or says something wrong.
    """
    return under(content_in(read_document(path), path), rules or {}, where="--rule")


def content_in(document: Document, path: Path, *, seed: int | None = None) -> Story | Scenario:
    """The story or the timed scenario in a document, whose name is that of `path` if it has none.

    Raises:
        BadInput: It says something wrong; or a story is given a seed.
    """
    # What the other kinds of files need is most of what would have to be imported for a story.
    if isinstance(document.data, dict) and document.data.get("format") == STORY_FORMAT:
        from sim.simulate.story.format import story_in

        if seed is not None:
            raise BadInput(f"{document.name}: seed: a story has no randomness to seed")
        return story_in(document, default_id=one_line(path.stem))
    from sim.check.checker import known_invariants
    from sim.check.coverage import SITUATIONS
    from sim.simulate.scenario.file.load import scenario_in

    known = known_invariants()
    return scenario_in(
        document, path=path, seed=seed, known_invariants=known, known_reached=SITUATIONS
    )


def under(
    content: Story | Scenario, rules: Mapping[str, RuleValue], *, where: str
) -> Story | Scenario:
    """The same under other rules; `where` is what messages call them. Raises BadInput."""
    if not rules:
        return content
    from sim.protocol.rules import rules_from

    told: Any = content
    preset = rules.get("preset", told.preset)
    changed = rules_from(rules, base=told.rules, where=where)
    found: Story | Scenario = replace(told, rules=changed, preset=preset)
    return found


def result_of(
    path: Path, content: Story | Scenario, *, keep_events: bool = False
) -> tuple[CaseResult, Run]:
    """What comes of a story or a timed scenario, compared with what it expects, and the run."""
    from sim.simulate.run import run_of

    started = time.perf_counter()
    run = run_of(content, keep_events=keep_events)
    result = CaseResult(
        path=path,
        id=content.id,
        title=content.title,
        verdict=run.verdict,
        reason=run.reason,
        violations=run.violations,
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
    from sim.simulate.logfile.expect import checked

    started = time.perf_counter()
    found = checked(path)
    return CaseResult(
        path=path,
        id=found.id,
        title=found.title,
        verdict="holds",
        differences=found.differences,
        why=found.why,
        notes=found.notes,
        run_with=found.command,
        wall_ms=since(started),
    )


def since(started: float) -> int:
    """Milliseconds of real time since then."""
    return round((time.perf_counter() - started) * 1000)
