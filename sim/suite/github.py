"""Failures of a suite as annotations of GitHub Actions: `::error file=…,line=…,title=…::…`.

GitHub shows the first ten of a step beside the lines of a change; the log has all of them. See
"Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sim.errors import BadInput
from sim.files.reading import read_document
from sim.foreign.lines import one_line
from sim.suite.failure import failure_lines
from sim.suite.result import BAD_INPUT, ERROR, CaseResult
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
