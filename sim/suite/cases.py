"""The files of a suite as cases: read first, which may fail, then run, which tells what came of it.

Whatever happens to a case of a suite is a result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sim.bounds import bounded
from sim.errors import BadInput
from sim.files.formats import LOG_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.foreign.lines import one_line
from sim.suite.result import BAD_INPUT, ERROR, INCONCLUSIVE, CaseResult
from sim.suite.running import log_result, scenario_at, story_at, story_result, timed_result
from sim.suite.scenario_files import IN_A_SUITE, format_of, refusal

if TYPE_CHECKING:
    from sim.scenario.model import Scenario
    from sim.story.format import Story
    from sim.trace import Event

STRIP_COLUMNS = 96
"""Of the picture of a failure, which is indented in what is at most 100 wide."""


class Case(NamedTuple):
    """A file that was read.

    Attributes:
        path: The file.
        id: What it calls itself, else the name of the file.
        run: Runs it. Raises BadInput where a log file expects what no answer has.
    """

    path: Path
    id: str
    run: Callable[[], CaseResult]


def load_case(path: Path) -> Case:
    """Read a story, a timed scenario or a log file.

    Raises:
        BadInput: It is none, or says something wrong.
    """
    found = format_of(path)
    if found == STORY_FORMAT:
        story = story_at(path, {})
        return Case(path, story.id, partial(_run_story, path, story))
    if found == SCENARIO_FORMAT:
        scenario = scenario_at(path, None, {})
        return Case(path, scenario.id, partial(_run_timed, path, scenario))
    if found == LOG_FORMAT:
        from sim.logfile.expect import read_and_check

        return Case(path, read_and_check(path), partial(log_result, path))
    raise BadInput(*refusal(path, IN_A_SUITE))


def _run_story(path: Path, story: Story) -> CaseResult:
    result = story_result(path, story)._replace(events=())
    if result.expectation_met:
        return result
    from sim.draw import Case, strip
    from sim.story.driver import run_story

    run = run_story(story)
    violation = next(iter(result.unexpected), None)
    told = strip(Case(run.events, violation, story.rules, run.labels), STRIP_COLUMNS)
    return result._replace(strip=told)


def _run_timed(path: Path, scenario: Scenario) -> CaseResult:
    result = timed_result(path, scenario)
    if result.expectation_met or not result.unexpected:
        return result
    from sim.draw import Case, strip
    from sim.timed_run import run_scenario

    events: list[tuple[int, Event]] = []  # the first run, which mostly needs none, kept none
    run_scenario(scenario, trace=events)
    skews = scenario.clock_skews
    told = strip(Case(events, result.unexpected[0], scenario.rules, skews=skews), STRIP_COLUMNS)
    return result._replace(strip=told)


def run_any(path: Path) -> CaseResult:
    """Read and run one file; that it cannot be read or run is a result like any other."""
    started = time.perf_counter()
    try:
        with bounded() as watch:
            result = load_case(path).run()
            return result._replace(wall_ms=_since(started))
        verdict, reason = INCONCLUSIVE, str(watch.reached)
    except BadInput as error:
        verdict, reason = BAD_INPUT, str(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the others are run all the same
        verdict, reason = ERROR, _last_place(error)
    return without_result(path, verdict, reason)._replace(wall_ms=_since(started))


def without_result(path: Path, verdict: str, reason: str) -> CaseResult:
    """The result of a file that has none of its own."""
    return CaseResult(path, one_line(path.stem), "", verdict, reason, run_with=_command(path))


def _command(path: Path) -> str:
    """The command that says the same about a file, as far as one can tell."""
    try:
        return "replog clean" if format_of(path) == LOG_FORMAT else "replog run"
    except BadInput:
        return "replog run"


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)


def _last_place(error: BaseException) -> str:
    """The exception and where it was raised, in one line."""
    import traceback

    text = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
