"""`replog suite`: many scenario files, for people and for continuous integration."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

from sim.cli.arguments import Command, FailuresIn, Json
from sim.cli.github import add_to_job_summary, on_github
from sim.cli.output import EXIT_INTERRUPTED, StatusLine, complain, print_json, tell
from sim.cli.signatures import Argument
from sim.cli.streams import beneath
from sim.cli.values import Number
from sim.errors import BadInput
from sim.foreign.lines import one_line
from sim.limits import JOBS

if TYPE_CHECKING:
    from sim.suite import CaseResult, Collected

SAME_TOLD = 5
"""Of ids that several files have, and of the files of each, so many are named."""


def suite(
    paths: Annotated[list[Path], Argument(metavar="paths...")],
    *,
    shipped: bool = False,
    chosen_by: Annotated[str | None, Argument(metavar="EXPR", flags=("-k",))] = None,
    last_failed: Annotated[bool, Argument(flags=("--lf", "--last-failed"))] = False,
    stop_at_first: Annotated[bool, Argument(flags=("-x",))] = False,
    jobs: Annotated[int, Argument(Number(0, JOBS.most), "N", flags=("-j", "--jobs"))] = 1,
    skip: Annotated[list[str] | None, Argument(metavar="PATTERN")] = None,
    junit: Annotated[Path | None, Argument(metavar="FILE")] = None,
    markdown: Annotated[Path | None, Argument(metavar="FILE")] = None,
    github: bool = False,
    failures: FailuresIn = None,
    as_json: Json = False,
) -> int:
    """Run scenario files, and every one below folders.

    A file that cannot be read, a YAML or JSON file of no known format, or a run that ends in an
    exception is one more failure; the others are run all the same. A suite that has nothing to run
    is an error, and so is a path that is not there: what Replog ships is run with --shipped, and
    never in the place of a folder that is missing. What is not run is counted.

    Status 0: all as expected. 1: something is not. 2: bad input, whatever else is. 3: a run hit a
    bound, so that nobody knows. 130: interrupted; what is finished is told all the same.

    On GitHub Actions the page of --markdown is also added to the summary of the job.

    Args:
        paths: Scenario files, folders of them.
        shipped: The scenarios that come with Replog.
        chosen_by: Only files whose path, id or tags contain a word, as in 'kip280 and not timed';
            each has its kind, story, timed or log, and its folder as tags.
        last_failed: Only what failed when it was last run from this folder; all, if nothing did.
        stop_at_first: Stop at the first failure.
        jobs: Number of processes; 0 = one for each core.
        skip: Leave out files so named, or with such a path; may be given more than once.
        junit: Also write JUnit XML to this file.
        markdown: Also add a page of Markdown to this file.
        github: Print annotations of GitHub Actions; on by itself where GITHUB_ACTIONS is true.
    """
    from sim.files.atomic import check_writable
    from sim.suite import collect, exit_code, run_suite
    from sim.suite.last_failed import remember
    from sim.suite.selecting import select

    found = collect(_all_of(paths, shipped=shipped), skip=skip or ())
    for option, path in (("--junit", junit), ("--markdown", markdown)):
        if path is not None:
            check_writable(path, what=f"{option} {path}", read=found.files)
    chosen = found if chosen_by is None else select(found, chosen_by)
    if last_failed:
        chosen = _last_failed(chosen)
    began, started = datetime.now(UTC), time.perf_counter()
    results: list[CaseResult] = []
    interrupted = False
    progress = _Progress(len(chosen.files), show_rows=not as_json)
    try:
        with closing(run_suite(chosen, jobs=jobs)) as running:
            for result in running:
                results.append(result)
                progress.show(result)
                if stop_at_first and not result.expectation_met:
                    break
    except KeyboardInterrupt:
        interrupted = True
    progress.wipe()
    problem = remember(results)
    if problem is not None:
        complain(problem)
    notes = [*map(one_line, _same_ids(results)), *_not_run(found, chosen, len(results))]
    seconds = time.perf_counter() - started
    red = sum(not result.expectation_met for result in results)
    summary = f"{len(results) - red} as expected, {red} not; {seconds:.1f} s"
    saved = {} if failures is None else _save(results, failures)
    _tell(results, notes, summary, saved, as_json=as_json)
    _hand_over(results, notes, summary, began=began, junit=junit, markdown=markdown)
    if github or on_github():
        _annotate(results, file=sys.stderr if as_json else sys.stdout)
    if interrupted:
        complain("interrupted")
        return EXIT_INTERRUPTED
    return exit_code(results)


def _all_of(paths: list[Path], *, shipped: bool) -> list[Path]:
    """The paths, and the folder of what is shipped, if that is asked for."""
    from sim.files.shipped import shipped_folder

    found = [*paths, shipped_folder()] if shipped else paths
    if not found:
        text = "nothing to run: give files or folders, or --shipped"
        raise BadInput(f"{text}; see replog suite --help")
    return found


def _last_failed(found: Collected) -> Collected:
    """Of these files those that failed last, and those that are refused; all, if none did."""
    from sim.suite.last_failed import last_failed

    failed = last_failed()
    if not any(path.absolute() in failed for path in found.files):
        complain("--lf: none of these files failed last time; all are run")
        return found
    files = (p for p in found.files if p.absolute() in failed or p in found.refused)
    return found._replace(files=tuple(files))


class _Progress:
    """A row for each result, and below, if stderr is a terminal, how far the suite is."""

    def __init__(self, total: int, *, show_rows: bool) -> None:
        self._total = total
        self._show_rows = show_rows
        self._line = StatusLine()
        self._done = self._failures = 0

    def show(self, result: CaseResult) -> None:
        """Print its row, and draw the line below anew."""
        self._done += 1
        self._failures += not result.expectation_met
        if self._show_rows:
            self.wipe()
            mark = "ok  " if result.expectation_met else "FAIL"
            print(one_line(f"{mark} {result.path}  {result.wall_ms} ms"), flush=True)
            if result.expectation_met:  # those of a failure are told with it
                for line in result.notes:
                    tell(f"     note: {line}")
        told = f"{self._done} of {self._total}, {self._failures} not as expected"
        self._line.show(told, at_once=self._show_rows)

    def wipe(self) -> None:
        """Take the line away."""
        self._line.wipe()


def _same_ids(results: Iterable[CaseResult]) -> Iterator[str]:
    """A note for each id that several files have: reports tell them apart by their paths alone."""
    files: dict[str, list[str]] = {}
    for result in results:
        files.setdefault(result.id, []).append(str(result.path))
    shared = [(name, paths) for name, paths in files.items() if len(paths) > 1]
    for name, paths in shared[:SAME_TOLD]:
        left = len(paths) - SAME_TOLD
        named = ", ".join(paths[:SAME_TOLD]) + (f" and {left:,} more" if left > 0 else "")
        yield f"the same id in {len(paths)} files, {name}: {named}"
    if len(shared) > SAME_TOLD:
        yield f"{len(shared) - SAME_TOLD:,} more ids are in several files"


def _not_run(found: Collected, chosen: Collected, done: int) -> Iterator[str]:
    """What was not run, in one line; nothing, when all was."""
    told = [found.not_run] if found.others else []
    for count, why in (
        (len(found.files) - len(chosen.files), "not selected"),
        (len(chosen.files) - done, "not reached"),
    ):
        told += [f"{count} scenario file{'s' if count > 1 else ''} {why}"] if count else []
    if told:
        yield f"not run: {', '.join(told)}"


def _save(results: Iterable[CaseResult], folder: Path) -> Mapping[Path, Path]:
    """Write a folder for each failure; which one each file has."""
    from sim.cli.failures import FOLDERS_MAX, save_results

    saved: dict[Path, Path] = {}
    try:
        saved.update(save_results(results, folder))
    except BadInput as error:
        complain(f"--failures {folder}: {error}")
    if len(saved) == FOLDERS_MAX:
        complain(f"--failures {folder}: no more than {FOLDERS_MAX} failures get a folder")
    return saved


def _tell(
    results: Sequence[CaseResult],
    notes: Sequence[str],
    summary: str,
    saved: Mapping[Path, Path],
    *,
    as_json: bool,
) -> None:
    """Print the failures, at last, where people look; or all results as JSON."""
    from sim.suite.failure import failure_lines

    if as_json:
        rows = [{"path": str(result.path), **result.as_json()} for result in results]
        for row in rows:
            if Path(row["path"]) in saved:
                row["failure"] = str(saved[Path(row["path"])])
        print_json(rows)
        complain("\n".join(notes))
        return
    for result in results:
        if not result.expectation_met:
            title = f": {result.title}" if result.title else ""
            print(f"\n{one_line(f'{result.path}{title}')}")
            print(*(f"  {line}" for line in failure_lines(result)), sep="\n")
            if result.path in saved:
                tell(f"  failure: {saved[result.path]}")
    if not all(result.expectation_met for result in results):
        print()
    print(*notes, summary, sep="\n")


def _hand_over(
    results: Sequence[CaseResult],
    notes: Sequence[str],
    summary: str,
    *,
    began: datetime,
    junit: Path | None,
    markdown: Path | None,
) -> None:
    """Write what others show."""
    from sim.suite.junit import write_junit
    from sim.suite.markdown import page

    if junit is not None:
        write_junit(junit, results, started=began)
    if markdown is not None:
        with markdown.open("a", encoding="utf-8", errors="backslashreplace") as added:
            added.write(page(results, notes, summary))
    add_to_job_summary(page(results, notes, summary))


def _annotate(results: Sequence[CaseResult], file: TextIO) -> None:
    from sim.suite.github import error_commands

    for line in error_commands(results):
        print(line, file=beneath(file))


COMMANDS = {"suite": Command(suite)}
