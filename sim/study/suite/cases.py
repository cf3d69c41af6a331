"""The files of a suite as cases: selected, read, then run; a failure to do so is a result, too.

Files are selected by `-k EXPRESSION`, as in pytest. A process that ends in the middle of a file,
killed or by an exit, affects only that file.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.bounds import Bounds, bound_each_run, bounded, bounds_in_force
from sim.errors import BadInput
from sim.files.document import OPERATORS, Document, is_tag, tags_at
from sim.files.foreign import one_line
from sim.files.formats import LOG_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.files.reading import read_document
from sim.plugins import Plugins, in_use, load_in_worker
from sim.simulate.run import run_of
from sim.study.suite.result import BAD_INPUT, ERROR, INCONCLUSIVE, CaseResult, NotRun
from sim.study.suite.scenario_files import (
    IN_A_SUITE,
    Collected,
    content_at,
    format_of,
    from_here,
    refusal,
)

if TYPE_CHECKING:
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story

KINDS = {STORY_FORMAT: "story", SCENARIO_FORMAT: "timed", LOG_FORMAT: "log"}
"""The tag of each format."""
_WORD = re.compile(r"[\w:+\-.\[\]\\/]+")
_ALL_OF_IT = re.compile(r"[\w:+\-.\[\]\\/()\s]*")
_ALLOWED = "words, and, or, not, parentheses"
_PARTS = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not),
    *(ast.Name, ast.Load),
)
"""What a parsed expression may consist of."""

Names = Iterable[str]
Chooses = Callable[[Names], bool]
"""Decides by its names whether a file is selected."""


def chooser(expression: str) -> Chooses:
    """The selection by an expression such as `kip280 and not (timed or slow)`.

    A word selects files with the word in one of their names, in upper or lower case, as `-k` of
    pytest does, whose parser is private; precedence and parentheses are those of Python.

    Raises:
        BadInput: It cannot be read.
    """
    words: list[str] = []

    def numbered(token: re.Match[str]) -> str:
        if token[0] in OPERATORS:
            return token[0]
        words.append(token[0].lower())
        return f"_{len(words)}"

    expression = expression.strip()
    try:
        if not _ALL_OF_IT.fullmatch(expression):
            raise SyntaxError
        tree = ast.parse(_WORD.sub(numbered, expression), mode="eval")
        if not all(isinstance(part, _PARTS) for part in ast.walk(tree)):
            raise SyntaxError
        meaning = compile(tree, "-k", "eval")
    except (SyntaxError, RecursionError, MemoryError):
        raise BadInput(f"-k {expression}: cannot be read; allowed: {_ALLOWED}") from None

    def is_meant(names: Names) -> bool:
        known = [name.lower() for name in names]
        found = {f"_{n}": any(word in name for name in known) for n, word in enumerate(words, 1)}
        return bool(eval(meaning, {"__builtins__": {}}, found))  # noqa: S307 - only `_PARTS`

    return is_meant


def names_of(path: Path) -> tuple[str, ...]:
    """The names of a scenario file: its path, its id, and its tags."""
    document = read_document(path)
    given = document.data.get("id") if isinstance(document.data, dict) else None
    return (str(from_here(path)), str(given or path.stem), *_tags_in(document, path))


def tags_of(path: Path) -> tuple[str, ...]:
    """The tags of a scenario file: its kind, the name of its folder, and those it has itself.

    Raises:
        BadInput: It cannot be read, or has a tag that is not allowed.
    """
    return _tags_in(read_document(path), path)


def _tags_in(document: Document, path: Path) -> tuple[str, ...]:
    top: Mapping[str, Any] = document.data if isinstance(document.data, dict) else {}
    own = tags_at(top.get("tags"), document.top.at("tags"))
    folder = path.absolute().parent.name
    derived = [KINDS.get(str(top.get("format")), ""), folder]
    return tuple(dict.fromkeys([*filter(is_tag, derived), *own]))


def select(found: Collected, expression: str) -> Collected:
    """The files that an expression selects; a file that cannot be read has only its path.

    Raises:
        BadInput: The expression cannot be read, or selects none of them.
    """
    is_meant = chooser(expression)
    chosen = [path for path in found.files if is_meant(_names_as_known(path))]
    if not chosen:
        raise BadInput(f"-k {expression}: means none of {len(found.files)} scenario files")
    return found._replace(files=tuple(chosen))


def _names_as_known(path: Path) -> Names:
    try:
        return names_of(path)
    except BadInput:
        return (str(from_here(path)),)


STRIP_COLUMNS = 96
"""Width of the picture of a failure, which is indented in lines of at most 100."""


class SuiteCase(NamedTuple):
    """A scenario file that was read.

    Attributes:
        id: Id of the file, else its name.
        run: Runs it. Raises BadInput where a log file expects a field that no answer has.
    """

    id: str
    run: Callable[[], CaseResult]


def load_case(path: Path) -> SuiteCase:
    """Read a story, a timed scenario or a log file.

    Raises:
        BadInput: It is none of these, or has a mistake.
    """
    found = format_of(path)
    if found == LOG_FORMAT:
        from sim.simulate.logfile.expect import checked, read_and_check

        return SuiteCase(read_and_check(path), lambda: CaseResult(path, checked(path)))
    if found not in (STORY_FORMAT, SCENARIO_FORMAT):
        raise BadInput(*refusal(path, IN_A_SUITE))
    content = content_at(path)
    return SuiteCase(content.id, partial(_run, path, content))


def _run(path: Path, content: Story | Scenario) -> CaseResult:
    run = run_of(content, keep_events=False)
    result = CaseResult(path, run.without_events())
    about = next(iter(result.unexpected), None)
    if result.expectation_met or not (run.unit == "step" or about):
        return result
    from sim.diagnose.draw import DrawnCase, strip

    if not run.events:  # of a timed run, which mostly needs none
        run = run_of(content)
    return result._replace(strip=strip(DrawnCase.of(run, about), STRIP_COLUMNS))


def run_any(path: Path) -> CaseResult:
    """Reads and runs a file; a failure to do so is a result, too."""
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
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the other files are still run
        verdict, reason = ERROR, _last_place(error)
    return without_result(path, verdict, reason)


def without_result(path: Path, verdict: str, reason: str) -> CaseResult:
    """The result of a file that was not run."""
    try:
        is_log = format_of(path) == LOG_FORMAT
    except BadInput:
        is_log = False
    command = "replog clean" if is_log else "replog run"
    return CaseResult(path, NotRun(one_line(path.stem), verdict, reason, command))


def _last_place(error: BaseException) -> str:
    """The exception and the place where it was raised, in one line."""
    import traceback

    text = traceback.format_exception_only(error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


DIED = "the process that ran it ended, perhaps for want of memory"


def run_suite(found: Collected, *, jobs: int = 1) -> Generator[CaseResult]:
    """The result of each file in the order of `found.files`, also of those that cannot be run.

    Closing the generator ends the processes.

    Args:
        found: The files.
        jobs: Number of processes; 1 for this one, 0 for one per core.
    """
    wanted = [path for path in found.files if path not in found.refused]
    alone = jobs == 1 or len(wanted) < 2
    running = (run_any(path) for path in wanted) if alone else _on_processes(wanted, jobs)
    with closing(running) as results:
        for path in found.files:
            refused = found.refused.get(path)
            yield next(results) if refused is None else without_result(path, BAD_INPUT, refused)


def _on_processes(paths: list[Path], jobs: int) -> Generator[CaseResult]:
    """The results of `paths` in their order; a file whose process dies is an error.

    Closing the generator, as an exception such as Ctrl-C does, ends the processes.
    """
    # Their import takes longer than the run of a story.
    from concurrent.futures.process import BrokenProcessPool

    from sim.study.workers import pool_of, usable_cores

    run = partial(_in_worker, in_use(), bounds_in_force())
    left, alone = list(paths), False
    while left:
        with pool_of(1 if alone else min(jobs or usable_cores(), len(left))) as pool:
            try:
                for job in [pool.submit(run, path) for path in (left[:1] if alone else left)]:
                    yield job.result()
                    del left[0]
                alone = False
            except BrokenProcessPool:  # by any of the files that are running
                if alone:
                    yield without_result(left.pop(0), ERROR, DIED)
                alone = not alone


def _in_worker(plugins: Plugins, bounds: Bounds, path: Path) -> CaseResult:
    try:
        load_in_worker(plugins)
    except BadInput as error:  # though the leading process could load it
        return without_result(path, ERROR, str(error))
    bound_each_run(bounds)
    return run_any(path)
