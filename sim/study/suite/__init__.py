"""Suites: any scenario file, story, timed or log, to a result with what was expected of it.

An error is a result, too. A process that ends in the middle of a file, killed or by an exit,
affects only that file. `scenario_files` finds the files of folders.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sim.bounds import Bounds, bound_each_run, bounded, bounds_in_force
from sim.check import Violation
from sim.errors import BadInput
from sim.files.document import is_tag, tags_at
from sim.files.foreign import command_line, one_line
from sim.files.formats import LOG_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.files.reading import read_document
from sim.plugins import Plugins, as_options, in_use, load_in_worker
from sim.simulate.run import Run, run_of
from sim.study.suite.scenario_files import (
    IN_A_SUITE,
    Collected,
    collect,
    content_at,
    format_of,
    refusal,
    scenario_files,
)

if TYPE_CHECKING:
    from sim.simulate.logfile.expect import Checked
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story

BAD_INPUT = "bad input"
ERROR = "error"
INCONCLUSIVE = "inconclusive"
NOT_AS_EXPECTED = "not as expected"
_WORST_FIRST = (2, 1, 3, 0)


@dataclass(frozen=True)
class NotRun:
    """The outcome of a file of a suite that has no result of a run.

    Attributes:
        id: Name of the file without its suffix.
        verdict: `bad input` for a file with a mistake; `error` for an exception, or a process that
            ended; `inconclusive` where a bound was hit outside a run, as while the file was read.
        reason: The error.
        command: The command that reproduces it.
    """

    id: str
    verdict: str
    reason: str
    command: str
    title: ClassVar[str] = ""
    violations: ClassVar[tuple[Violation, ...]] = ()
    differences: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[tuple[str, ...]] = ()

    @property
    def exit_code(self) -> int:
        """Exit status of the file by itself: 2 bad input, 1 error, 3 inconclusive."""
        return {BAD_INPUT: 2, ERROR: 1}.get(self.verdict, 3)


class CaseResult(NamedTuple):
    """A scenario file of a suite with its outcome.

    Attributes:
        path: The file.
        outcome: The run of a story or a timed scenario, without its events; the comparison of a log
            file with what it expects; or why there is neither.
        wall_ms: Duration in ms of real time.
        strip: Picture of each log at the first violation that was not expected, or at the end of a
            story without one; empty for a result as expected, a log file, and a timed run without
            such a violation.
        noted: True where only its notes are not as expected, in a strict suite.
    """

    path: Path
    outcome: Run | Checked | NotRun
    wall_ms: int = 0
    strip: str = ""
    noted: bool = False

    @property
    def run(self) -> Run | None:
        """The run of a story or a timed scenario; None for other files and without a run."""
        return self.outcome if isinstance(self.outcome, Run) else None

    @property
    def id(self) -> str:
        """Id of the scenario, else the name of its file."""
        return self.outcome.id

    @property
    def verdict(self) -> str:
        """`holds`, `violated` or `inconclusive`; or `bad input` or `error`, see `NotRun`."""
        return self.outcome.verdict

    @property
    def reason(self) -> str | None:
        """The reason of another verdict than `holds` and `violated`, else None."""
        return self.outcome.reason

    @property
    def differences(self) -> tuple[str, ...]:
        """Differences from what the file expects; empty where there are none."""
        return self.outcome.notes if self.noted else self.outcome.differences

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks that are no failure: violations not judged, steps without effect."""
        return () if self.noted else self.outcome.notes

    @property
    def expected(self) -> tuple[str, ...] | None:
        """Invariants that the file expects to be violated; None for a log file."""
        return None if self.run is None else self.run.content.expect.violated

    @property
    def expectation_met(self) -> bool:
        """True where everything is as the file expects, and no bound was hit."""
        return self.exit_code == 0

    @property
    def open(self) -> bool:
        """True where a bound was hit, and nothing else is wrong: the result is not known."""
        return self.exit_code == 3

    @property
    def exit_code(self) -> int:
        """0 expectation met, 1 not met, 2 bad input, 3 inconclusive."""
        return 1 if self.noted else self.outcome.exit_code

    @property
    def how(self) -> str:
        """The kind of a failure: `bad input`, `error`, `inconclusive` or `not as expected`.

        Without meaning for a result as expected.
        """
        if self.verdict in (BAD_INPUT, ERROR):
            return self.verdict
        return INCONCLUSIVE if self.open else NOT_AS_EXPECTED

    @property
    def complaints(self) -> tuple[str, ...]:
        """Reasons why the expectation is not met, a line each; empty when it is."""
        reason = [] if self.reason is None else f"{self.verdict}: {self.reason}".split("\n")
        return () if self.expectation_met else (*reason, *self.differences)

    @property
    def unexpected(self) -> tuple[Violation, ...]:
        """The first violation of each invariant that is judged and not expected."""
        first: dict[str, Violation] = {}
        for violation in self.outcome.violations:
            if violation.invariant not in (self.expected or ()):
                first.setdefault(violation.invariant, violation)
        return tuple(first.values())

    def strictly(self) -> CaseResult:
        """The result in a strict suite, where each note is a difference."""
        if not self.notes or not self.expectation_met:
            return self
        return self._replace(noted=True)

    @property
    def is_log(self) -> bool:
        """True for a log file: one cleaner, no cluster."""
        return self.outcome.command != "replog run"

    @property
    def command(self) -> str:
        """The command that reproduces the result, with the plugins that were named."""
        words: list[object] = [self.path, *as_options()]
        return f"{self.outcome.command} {command_line(words)}"

    def as_json(self) -> dict[str, Any]:
        """The row of `replog suite --json`."""
        document = {
            "id": self.id,
            "verdict": self.verdict,
            **({"reason": self.reason} if self.reason else {}),
            **{key: [] for key in ("violated", "violations", "not_judged", "idle_steps")},
        }
        return (document if self.run is None else self.run.as_json()) | {
            "notes": list(self.notes),
            "expectation_met": self.expectation_met,
            "differences": list(self.differences),
        }


def exit_code(results: Iterable[CaseResult]) -> int:
    """The exit status of the worst result: bad input, not as expected, inconclusive, 0."""
    codes = {result.exit_code for result in results}
    return next((code for code in _WORST_FIRST if code in codes), 0)


KINDS = {STORY_FORMAT: "story", SCENARIO_FORMAT: "timed", LOG_FORMAT: "log"}
"""The tag of each format."""


def tags_of(path: Path) -> tuple[str, ...]:
    """The tags of a scenario file: its kind, the name of its folder, and those it has itself.

    Raises:
        BadInput: It cannot be read, or has a tag that is not allowed.
    """
    document = read_document(path)
    top: Mapping[str, Any] = document.data if isinstance(document.data, dict) else {}
    own = tags_at(top.get("tags"), document.top.at("tags"))
    folder = path.absolute().parent.name
    derived = [KINDS.get(str(top.get("format")), ""), folder]
    return tuple(dict.fromkeys([*filter(is_tag, derived), *own]))


STRIP_COLUMNS = 96
"""Width of the picture of a failure in characters: it is indented, in lines of at most 100."""


class SuiteCase(NamedTuple):
    """A scenario file that was read.

    Attributes:
        id: Id of the file, else its name.
        run: Runs it. Raises BadInput where a log file expects a field that no answer has.
    """

    id: str
    run: Callable[[], CaseResult]


def load_case(path: Path) -> SuiteCase:
    """Reads a story, a timed scenario or a log file.

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
    return result._replace(strip=strip(DrawnCase(run, about), STRIP_COLUMNS))


def run_any(path: Path) -> CaseResult:
    """Reads and runs a file; returns an error as a result, too."""
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
    """The result of a file that has no result of a run."""
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
