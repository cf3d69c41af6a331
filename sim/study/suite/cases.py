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
from sim.files.foreign.lines import one_line
from sim.files.formats import LOG_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.simulate.run import run_of
from sim.study.suite.contents import content_at
from sim.study.suite.result import BAD_INPUT, ERROR, INCONCLUSIVE, CaseResult, NotRun
from sim.study.suite.scenario_files import IN_A_SUITE, format_of, refusal

if TYPE_CHECKING:
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story

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
    if found == LOG_FORMAT:
        from sim.simulate.logfile.expect import checked, read_and_check

        return Case(path, read_and_check(path), lambda: CaseResult(path, checked(path)))
    if found not in (STORY_FORMAT, SCENARIO_FORMAT):
        raise BadInput(*refusal(path, IN_A_SUITE))
    content = content_at(path)
    return Case(path, content.id, partial(_run, path, content))


def _run(path: Path, content: Story | Scenario) -> CaseResult:
    run = run_of(content, keep_events=False)
    result = CaseResult(path, run.without_events())
    about = next(iter(result.unexpected), None)
    if result.expectation_met or not (run.unit == "step" or about):
        return result
    from sim.diagnose.draw import Case, strip

    if not run.events:  # of a timed run, which mostly needs none
        run = run_of(content)
    drawn = Case(run.events, about, run.rules, run.labels, skews=run.skews)
    return result._replace(strip=strip(drawn, STRIP_COLUMNS))


def run_any(path: Path) -> CaseResult:
    """Read and run one file; that it cannot be read or run is a result like any other."""
    started = time.perf_counter()
    result = _run_any(path)
    return result._replace(wall_ms=round((time.perf_counter() - started) * 1000))


def _run_any(path: Path) -> CaseResult:
    try:
        with bounded() as watch:
            return load_case(path).run()
        verdict, reason = INCONCLUSIVE, str(watch.reached)
    except BadInput as error:
        verdict, reason = BAD_INPUT, str(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the others are run all the same
        verdict, reason = ERROR, _last_place(error)
    return without_result(path, verdict, reason)


def without_result(path: Path, verdict: str, reason: str) -> CaseResult:
    """The result of a file that has none of its own."""
    try:
        is_log = format_of(path) == LOG_FORMAT
    except BadInput:
        is_log = False
    command = "replog clean" if is_log else "replog run"
    return CaseResult(path, NotRun(one_line(path.stem), verdict, reason, command))


def _last_place(error: BaseException) -> str:
    """The exception and where it was raised, in one line."""
    import traceback

    text = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
