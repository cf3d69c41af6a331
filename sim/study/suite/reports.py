"""The reports of a suite: about ten lines per failure, JUnit XML, Markdown, GitHub annotations.

GitHub shows the first ten annotations of a step beside the lines of a change; the log has all of
them. See "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from sim.check.violation import not_as_expected
from sim.errors import BadInput
from sim.files import markdown
from sim.files.atomic import replacing
from sim.files.foreign import LONGEST, one_line
from sim.files.reading import read_document
from sim.study.suite import BAD_INPUT, ERROR, INCONCLUSIVE, NOT_AS_EXPECTED, CaseResult
from sim.study.suite.scenario_files import from_here

DIFFERENCES = 4
SENTENCES = 2
"""Largest numbers of lines about differences and about violations; the command shows all."""


def failure_lines(result: CaseResult, *, whole: bool = False) -> list[str]:
    """Lines for a developer about a result that is not as expected, without path and title.

    Args:
        result: The result.
        whole: True for all differences and violations, in a file that a machine reads.
    """
    lines = (one_line(line, longest=LONGEST) for line in _lines(result, whole=whole))
    return [*lines, f"reproduce: {result.command}"]


def _lines(result: CaseResult, *, whole: bool) -> Iterator[str]:
    if result.verdict in (BAD_INPUT, ERROR):
        yield from f"{result.verdict}: {result.reason}".splitlines()
        return
    said: set[str] = set()
    if result.expected is not None:
        violated = {violation.invariant for violation in result.outcome.violations}
        names = [name for name in result.expected if name in violated]
        names += [violation.invariant for violation in result.unexpected]
        found = [] if result.reason is None else [f"{result.verdict}: {result.reason}"]
        found += [_verdict(names)] if names or not found else []
        yield f"expected: {_verdict(result.expected)}"
        yield f"found: {'; '.join(found)}"
        said = set(not_as_expected(violated, result.expected, ended=True))
    elif result.reason is not None:
        yield result.complaints[0]
    differences = [line for line in result.differences if line not in said]
    yield from _first(None if whole else DIFFERENCES, differences, "differences")
    unit = "{} ms" if result.run is None or result.run.unit == "ms" else "step {}"
    sentences = [
        f"{one.invariant} ({unit.format(one.at)}): {one.sentence}" for one in result.unexpected
    ]
    yield from _first(None if whole else SENTENCES, sentences, "violations")
    yield from result.notes
    yield from result.strip.split("\n") if result.strip else ()


def _verdict(violated: Iterable[str]) -> str:
    names = ", ".join(violated)
    return f"violated: {names}" if names else "holds"


def _first(count: int | None, lines: list[str], what: str) -> list[str]:
    if count is None or len(lines) <= count:
        return lines
    return [*lines[: count - 1], f"... and {len(lines) - count + 1} more {what}"]


def write_junit(path: Path, results: Sequence[CaseResult], *, started: datetime) -> None:
    """Writes results as JUnit XML; a failure has the lines of `failure_lines`, all of them.

    An inconclusive result is an error; the property `inconclusive` counts such results.

    Args:
        path: The file to write.
        results: The results.
        started: Start of the suite, with its time zone.

    Raises:
        BadInput: `path` cannot be written.
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
    """The kind of problem: `violated`, `inconclusive`, `bad input`, `error`, `not as expected`."""
    return NOT_AS_EXPECTED if result.verdict == "holds" else result.verdict


def _junit_kind(result: CaseResult) -> str | None:
    if result.expectation_met:
        return None
    return "error" if result.how in (BAD_INPUT, ERROR, INCONCLUSIVE) else "failure"


def page(results: Sequence[CaseResult], notes: Sequence[str], summary: str) -> str:
    """A page of Markdown, such as the summary of a job on GitHub.

    Args:
        results: In order of their files.
        notes: Lines that the command prints after the failures, such as the files not run.
        summary: The last line of the command.
    """
    failed = [result for result in results if not result.expectation_met]
    lines = [f"### Replog: {summary}", ""]
    for heading, unknown in ((NOT_AS_EXPECTED, False), (INCONCLUSIVE, True)):
        lines += _table(
            heading, [(one, one.complaints[0]) for one in failed if one.open is unknown]
        )
    for one in failed:
        lines += [f"<details><summary>{markdown.in_html(_named(one))}</summary>", ""]
        lines += [markdown.block(failure_lines(one)), "", "</details>", ""]
    noted = [one for one in results if one.expectation_met and one.notes]
    lines += _table("as expected, with a note", [(one, "; ".join(one.notes)) for one in noted])
    lines += [f"{markdown.text(note)}  " for note in notes]
    return "\n".join(lines) + "\n"


def _named(result: CaseResult) -> str:
    return f"{result.id}: {title}" if (title := result.outcome.title) else result.id


def _table(heading: str, rows: Sequence[tuple[CaseResult, str]]) -> list[str]:
    """A table with a row for each file and its text; nothing without files."""
    if not rows:
        return []
    cells = [(markdown.text(str(one.path)), markdown.text(text)) for one, text in rows]
    return [markdown.table(("file", heading), cells), ""]


_LINE = re.compile(r"(?:(?P<other>.+?)?:(?P<first>\d+): |.*\(line (?P<last>\d+)\))")
"""Where a message about a file has the number of the line: a log file has it at the end."""


def error_commands(results: Iterable[CaseResult]) -> Iterator[str]:
    """A line for each mistake in a file, and one for each file that is not as expected."""
    for result in results:
        for file, line, text in () if result.expectation_met else _mistakes(result):
            yield error_command(
                "\n".join([text, f"reproduce: {result.command}"]),
                file=str(from_here(file)),
                line=str(line),
                title=f"{result.id}: {result.how}",
            )


def error_command(text: str, **place: str) -> str:
    """The line that makes GitHub show an error; `place` says where, by `file`, `line`, `title`."""
    given = ",".join(f"{name}={_property(value)}" for name, value in place.items())
    return f"::error {given}::{_data(text)}"


def _mistakes(result: CaseResult) -> Iterator[tuple[Path, int, str]]:
    """File, line from 1 and text of each annotation of a result that is not as expected."""
    if result.verdict not in (BAD_INPUT, ERROR):
        *lines, _reproduce = failure_lines(result)
        yield result.path, _line_of_expect(result.path), "\n".join(lines)
        return
    for message in str(result.reason).split("\n"):
        file, line = _place_of(message, result.path)
        yield file, line, one_line(f"{result.verdict}: {message}", longest=LONGEST)


def _place_of(message: str, path: Path) -> tuple[Path, int]:
    """Where a message says that something is wrong: in the file at `path`, or in one it names."""
    own = message.removeprefix(str(path))
    found = _LINE.match(own)
    if found is None or (found["other"] and not Path(found["other"]).is_file()):
        return path, 1
    return Path(found["other"] or path), int(found["first"] or found["last"])


def _line_of_expect(path: Path) -> int:
    try:
        document = read_document(path)
    except BadInput:  # it is not what it was when it was run
        return 1
    has_one = isinstance(document.data, dict) and "expect" in document.data
    return (document.line_of(["expect"]) if has_one else None) or 1


def _data(text: str) -> str:
    text = "\n".join(map(one_line, text.split("\n")))
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")
