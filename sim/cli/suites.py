"""`replog suite`: many scenario files, for people and for continuous integration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.cli.arguments import (
    Argument,
    FailuresIn,
    IntRange,
    Json,
)
from sim.cli.output import EXIT_INTERRUPTED, StatusLine, complain, hand_over, print_json, tell
from sim.errors import BadInput
from sim.files.foreign import one_line
from sim.files.limits import JOBS

if TYPE_CHECKING:
    from sim.study.suite import CaseResult, Collected


FOLDERS_MAX = 50
"""Largest number of folders of failures: each may take seconds to shrink."""


def suite(
    paths: Annotated[list[Path], Argument(metavar="paths...")],
    *,
    shipped: bool = False,
    strict: bool = False,
    jobs: Annotated[int, Argument(IntRange(0, JOBS.most), "N", flags=("-j", "--jobs"))] = 1,
    skip: Annotated[list[str] | None, Argument(metavar="PATTERN")] = None,
    junit: Annotated[Path | None, Argument(metavar="FILE")] = None,
    failures: FailuresIn = None,
    as_json: Json = False,
) -> int:
    """Run scenario files and folders of them, and compare each with what it expects.

    A file that cannot be read, a YAML or JSON file of no known format, and a run that ends in an
    exception are failures; the other files are still run. A path that does not exist is an error,
    and so is a suite without files. Files that are not run are counted.

    Status 0: all as expected. 1: a file is not as expected. 2: bad input. 3: inconclusive, since
    a run hit a bound or left the durability contract. 130: interrupted; finished files are still
    reported.

    On GitHub Actions a page of Markdown is added to the summary of the job (the file that the
    environment variable GITHUB_STEP_SUMMARY names), and failures are annotated.

    Args:
        paths: Scenario files, folders of them.
        shipped: The scenarios that come with Replog.
        strict: Notes are failures: a step without effect, a violation that is not judged, an id
            that several files have.
        jobs: Number of processes; 0 for one per core.
        skip: Leave out files whose name or path matches; may be given more than once.
        junit: Also write JUnit XML to this file.
    """
    from sim.files.atomic import check_writable
    from sim.study.suite import exit_code

    found = _found(paths, shipped, skip or ())
    if junit is not None:
        check_writable(junit, what=f"--junit {junit}", read=found.files)
    began = datetime.now(UTC)
    results, interrupted = _run(found, jobs, strict=strict, show_rows=not as_json)
    same_ids = [*map(one_line, _same_ids(results))]
    notes = [*same_ids, *_not_run(found, len(results))]
    saved = {} if failures is None else _save(results, failures)
    _report(results, notes, saved, began=began, junit=junit, as_json=as_json)
    if interrupted:
        complain("interrupted")
        return EXIT_INTERRUPTED
    return exit_code(results) or int(strict and same_ids != [])


def _report(
    results: Sequence[CaseResult],
    notes: Sequence[str],
    saved: Mapping[Path, Path],
    *,
    began: datetime,
    junit: Path | None,
    as_json: bool,
) -> None:
    """Prints and writes the results of a run that began at that time."""
    from sim.study.suite.reports import error_commands, page, write_junit

    summary = f"{_counted(results)}; {(datetime.now(UTC) - began).total_seconds():.1f} s"
    if as_json:
        print_json([_as_row(result, saved) for result in results])
        complain("\n".join(notes))
    else:
        _show_failures(results, saved)
        print(*notes, summary, sep="\n")
    if junit is not None:
        write_junit(junit, results, started=began)
    hand_over(page(results, notes, summary), error_commands(results), as_json=as_json)


def _found(paths: Sequence[Path], shipped: bool, skip: Sequence[str]) -> Collected:
    """The files below the paths, and the shipped ones if wanted, without those to skip."""
    from sim.files.shipped import shipped_folder
    from sim.study.suite import collect

    if not (paths or shipped):
        text = "nothing to run: give files or folders, or --shipped"
        raise BadInput(f"{text}; see replog suite --help")
    return collect([*paths, *([shipped_folder()] if shipped else [])], skip=skip)


def _as_row(result: CaseResult, saved: Mapping[Path, Path]) -> dict[str, Any]:
    failure = {"failure": str(saved[result.path])} if result.path in saved else {}
    return {"path": str(result.path), **result.as_json(), **failure}


def _run(
    chosen: Collected, jobs: int, *, strict: bool, show_rows: bool
) -> tuple[list[CaseResult], bool]:
    """The results, each printed when it is there; true where Ctrl-C came before the last."""
    from sim.study.suite import run_suite

    results: list[CaseResult] = []
    red, interrupted = 0, False
    try:
        with closing(run_suite(chosen, jobs=jobs)) as running, StatusLine() as line:
            for found in running:
                result = found.strictly() if strict else found
                results.append(result)
                if show_rows:
                    line.wipe()
                    _show_row(result)
                red += not result.expectation_met and not result.open
                progress = f"{len(results)} of {len(chosen.files)}, {red} not as expected"
                line.show(progress, at_once=show_rows)
    except KeyboardInterrupt:
        interrupted = True
    return results, interrupted


def _counted(results: Sequence[CaseResult]) -> str:
    """The numbers of files as expected, not as expected, and inconclusive."""
    met = sum(result.expectation_met for result in results)
    unknown = sum(result.open for result in results)
    known = f"{met} as expected, {len(results) - met - unknown} not"
    return f"{known}, {unknown} inconclusive" if unknown else known


def _show_row(result: CaseResult) -> None:
    """Prints the row of a result; the notes of a failure are printed with the failure."""
    unmet = result.how if result.open else "FAIL"
    mark = "ok  " if result.expectation_met else unmet
    print(one_line(f"{mark} {result.path}  {result.wall_ms} ms"), flush=True)
    for note in result.notes if result.expectation_met else ():
        tell(f"     note: {note}")


def _same_ids(results: Iterable[CaseResult]) -> Iterator[str]:
    """A note for each id that several files have: in reports only their paths differ."""
    files: dict[str, list[str]] = {}
    for result in results:
        files.setdefault(result.id, []).append(str(result.path))
    for name, paths in files.items():
        if len(paths) > 1:
            yield f"the same id in {len(paths)} files, {name}: {', '.join(paths)}"


def _not_run(found: Collected, done: int) -> Iterator[str]:
    """A line about the files that were not run, if there are any."""
    count = len(found.files) - done
    parts = [found.not_run] if found.others else []
    parts += [f"{count} scenario file{'s' if count > 1 else ''} not reached"] if count else []
    if parts:
        yield f"not run: {', '.join(parts)}"


def _save(results: Sequence[CaseResult], folder: Path) -> Mapping[Path, Path]:
    """Writes a folder for each of the first failures; returns the folders by file."""
    from sim.api.failures import save_result

    saved: dict[Path, Path] = {}
    try:
        for result in results:
            made = save_result(result, folder) if len(saved) < FOLDERS_MAX else None
            if made is not None:
                saved[result.path] = made
    except BadInput as error:
        complain(f"--failures {folder}: {error}")
    if len(saved) == FOLDERS_MAX:
        complain(f"--failures {folder}: no more than {FOLDERS_MAX} failures get a folder")
    return saved


def _show_failures(results: Sequence[CaseResult], saved: Mapping[Path, Path]) -> None:
    """Prints the failures last, where people look."""
    from sim.study.suite.reports import failure_lines

    failed = [result for result in results if not result.expectation_met]
    for result in failed:
        title = f": {result.outcome.title}" if result.outcome.title else ""
        print(f"\n{one_line(f'{result.path}{title}')}")
        print(*(f"  {line}" for line in failure_lines(result)), sep="\n")
        if result.path in saved:
            tell(f"  failure: {saved[result.path]}")
    if failed:
        print()
