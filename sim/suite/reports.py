"""What a suite hands over: annotations of GitHub, JUnit XML, a page of Markdown.

GitHub shows the first ten annotations of a step beside the lines of a change; the log has all of
them. See "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from sim.errors import BadInput
from sim.files.atomic import replacing
from sim.files.reading import read_document
from sim.foreign import markdown
from sim.foreign.lines import one_line
from sim.suite.failure import failure_lines
from sim.suite.result import BAD_INPUT, ERROR, INCONCLUSIVE, CaseResult
from sim.suite.scenario_files import from_here

_LINE = re.compile(r":(\d+):|\(line (\d+)\)")
"""How messages about files, and about log files, say where."""


def error_commands(results: Sequence[CaseResult]) -> Iterator[str]:
    """One line for each result that is not as expected."""
    for result in results:
        if not result.expectation_met:
            place = {
                "file": str(from_here(result.path)),
                "line": str(line_of(result)),
                "title": f"{result.id}: {_what(result)}",
            }
            yield error_command("\n".join(failure_lines(result)), **place)


def error_command(text: str, **place: str) -> str:
    """The line that makes GitHub show an error; `place` says where, by `file`, `line`, `title`."""
    given = ",".join(f"{name}={_property(value)}" for name, value in place.items())
    return f"::error {given}::{_data(text)}"


def line_of(result: CaseResult) -> int:
    """The line of its file that a failure is about: what is wrong there, or what was expected."""
    if result.reason is not None:
        found = _LINE.search(result.reason.removeprefix(str(result.path)))
        if found:
            return int(found[1] or found[2])
    try:
        return read_document(result.path).line_of(["expect"]) or 1
    except BadInput:
        return 1


def _what(result: CaseResult) -> str:
    stopped = result.verdict in (BAD_INPUT, ERROR)
    return result.verdict if stopped else "not as expected"


def _data(text: str) -> str:
    text = "\n".join(map(one_line, text.split("\n")))
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")


def write_junit(path: Path, results: Sequence[CaseResult], *, started: datetime) -> None:
    """Write results as JUnit XML; a failure holds what the command prints of it.

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
            problem = ET.SubElement(
                case, kind, message=one_line(result.complaints[0]), type=_type(result)
            )
            lines = [*filter(None, [result.title]), *failure_lines(result, whole=True)]
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
    return "error" if result.verdict in (BAD_INPUT, ERROR) else "failure"


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
    return f"{result.id}: {result.title}" if result.title else result.id


def _table(heading: str, rows: Sequence[tuple[CaseResult, str]]) -> list[str]:
    """What is told of some files, a row each; nothing where there are none."""
    if not rows:
        return []
    told = [f"| {markdown.text(str(one.path))} | {markdown.text(text)} |" for one, text in rows]
    return [f"| file | {heading} |", "|---|---|", *told, ""]
