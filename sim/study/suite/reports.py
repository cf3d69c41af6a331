"""The reports of a suite: each failure in about ten lines, JUnit XML, a page of Markdown."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from sim.check.violation import not_as_expected
from sim.files.atomic import replacing
from sim.files.foreign import markdown
from sim.files.foreign.lines import LONGEST, one_line
from sim.study.suite.result import BAD_INPUT, ERROR, INCONCLUSIVE, CaseResult

DIFFERENCES = 4
SENTENCES = 2
"""Of differences, and of violations, so many lines are shown; the command shows them all."""


def failure_lines(result: CaseResult, *, whole: bool = False) -> list[str]:
    """What a developer needs of a result that is not as expected, but for its path and title.

    Args:
        result: The result.
        whole: All differences and violations, for a file that a machine reads.
    """
    told = (one_line(line, longest=LONGEST) for line in _what(result, whole=whole))
    return [*told, f"reproduce: {result.command}"]


def _found_and_expected(result: CaseResult) -> list[str]:
    """The verdict that was expected and the one that came; empty where a file cannot say one."""
    if result.expected is None:
        return []
    violated = {violation.invariant for violation in result.outcome.violations}
    names = [name for name in result.expected if name in violated]
    names += [violation.invariant for violation in result.unexpected]
    found = [] if result.reason is None else [f"{result.verdict}: {result.reason}"]
    found += [_verdict(names)] if names or not found else []
    return [f"expected: {_verdict(result.expected)}", f"found: {'; '.join(found)}"]


def _beside(result: CaseResult, *, whole: bool = False) -> Iterator[str]:
    """What is told of a failure as a whole: the records concerned, notes, what replicas held."""
    yield from _first(None if whole else SENTENCES, list(result.why), "records")
    yield from result.notes
    yield from result.strip.split("\n") if result.strip else ()


def _what(result: CaseResult, *, whole: bool) -> Iterator[str]:
    if result.verdict in (BAD_INPUT, ERROR):
        yield from f"{result.verdict}: {result.reason}".splitlines()
        return
    told: set[str] = set()
    if result.expected is not None:
        yield from _found_and_expected(result)
        violated = {violation.invariant for violation in result.outcome.violations}
        told = set(not_as_expected(violated, result.expected, ended=True))
    elif result.reason is not None:
        yield result.complaints[0]
    differences = [line for line in result.differences if line not in told]
    yield from _first(None if whole else DIFFERENCES, differences, "differences")
    unit = "{} ms" if result.run is None or result.run.unit == "ms" else "step {}"
    sentences = [
        f"{one.invariant} ({unit.format(one.at)}): {one.sentence}" for one in result.unexpected
    ]
    yield from _first(None if whole else SENTENCES, sentences, "violations")
    yield from _beside(result, whole=whole)


def _verdict(violated: Iterable[str]) -> str:
    names = ", ".join(violated)
    return f"violated: {names}" if names else "holds"


def _first(count: int | None, lines: list[str], what: str) -> list[str]:
    if count is None or len(lines) <= count:
        return lines
    return [*lines[: count - 1], f"... and {len(lines) - count + 1} more {what}"]


def write_junit(path: Path, results: Sequence[CaseResult], *, started: datetime) -> None:
    """Write results as JUnit XML; a failure holds what the command prints of it.

    What is inconclusive is an error; a property of this name says how many there are.
    `started` is when the suite began, with its time zone.

    Raises BadInput when `path` cannot be written; then nothing is.
    """
    kinds = [_junit_kind(result) for result in results]
    suite = ET.Element(
        "testsuite",
        name="replog",
        tests=str(len(results)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped="0",
        time=f"{sum(result.wall_ms for result in results) / 1000:.3f}",
        timestamp=started.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        hostname=one_line(socket.gethostname()),
    )
    unknown = sum(result.how == INCONCLUSIVE for result in results if not result.expectation_met)
    if unknown:
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", name=INCONCLUSIVE, value=str(unknown))
    for result, kind in zip(results, kinds, strict=True):
        parts = result.path.with_suffix("").parts
        case = ET.SubElement(
            suite,
            "testcase",
            classname=one_line(".".join(part for part in parts if part != "/")),
            name=one_line(result.id),
            file=one_line(str(result.path)),
            time=f"{result.wall_ms / 1000:.3f}",
        )
        if kind is not None:
            message = "\n".join(map(one_line, result.complaints))
            problem = ET.SubElement(case, kind, message=message, type=_type(result))
            lines = [*filter(None, [result.outcome.title]), *failure_lines(result, whole=True)]
            problem.text = "\n".join(map(one_line, lines))
        elif result.notes:
            ET.SubElement(case, "system-out").text = "\n".join(map(one_line, result.notes))
    with replacing(path) as file:
        ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _type(result: CaseResult) -> str:
    """What kind of problem it is: `violated`, `inconclusive`, `bad input`, `error`, or another."""
    return "not as expected" if result.verdict == "holds" else result.verdict


def _junit_kind(result: CaseResult) -> str | None:
    if result.expectation_met:
        return None
    return "error" if result.how in (BAD_INPUT, ERROR, INCONCLUSIVE) else "failure"


SLOWEST = 5


def page(results: Sequence[CaseResult], notes: Sequence[str], summary: str) -> str:
    """A page of Markdown, such as the summary of a job on GitHub.

    Args:
        results: In order of their files.
        notes: What the command prints behind the failures, such as which files were not run.
        summary: Its last line.
    """
    failed = [result for result in results if not result.expectation_met]
    lines = [f"### Replog: {summary}", ""]
    for heading, unknown in (("not as expected", False), (INCONCLUSIVE, True)):
        lines += _table(
            heading, [(one, one.complaints[0]) for one in failed if one.open is unknown]
        )
    for one in failed:
        lines += [f"<details><summary>{markdown.in_html(_named(one))}</summary>", ""]
        lines += [markdown.block(failure_lines(one)), "", "</details>", ""]
    noted = [one for one in results if one.expectation_met and one.notes]
    lines += _table("as expected, with a note", [(one, "; ".join(one.notes)) for one in noted])
    slowest = sorted(results, key=lambda one: one.wall_ms, reverse=True)[:SLOWEST]
    told = ", ".join(f"{markdown.text(one.id)} {one.wall_ms:,} ms" for one in slowest)
    lines += [*(f"{markdown.text(note)}  " for note in notes), f"slowest: {told}"]
    return "\n".join(lines) + "\n"


def _named(result: CaseResult) -> str:
    return f"{result.id}: {title}" if (title := result.outcome.title) else result.id


def _table(heading: str, rows: Sequence[tuple[CaseResult, str]]) -> list[str]:
    """What is told of some files, a row each; nothing where there are none."""
    if not rows:
        return []
    told = [f"| {markdown.text(str(one.path))} | {markdown.text(text)} |" for one, text in rows]
    return [f"| file | {heading} |", "|---|---|", *told, ""]
