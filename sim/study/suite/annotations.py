"""Annotations of GitHub, which it shows beside the lines of a change.

GitHub shows the first ten of a step; the log has all of them. See "Workflow commands for GitHub
Actions".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from sim.errors import BadInput
from sim.files.foreign import LONGEST, one_line
from sim.files.reading import read_document
from sim.study.suite.reports import failure_lines
from sim.study.suite.result import BAD_INPUT, ERROR, CaseResult
from sim.study.suite.scenario_files import from_here

_LINE = re.compile(r"(?:(?P<other>.+?)?:(?P<first>\d+): |.*\(line (?P<last>\d+)\))")
"""Where a message about a file has the line; that about a log file has it at the end."""


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
