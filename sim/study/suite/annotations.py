"""Annotations of GitHub: each mistake at its own line of its own file.

GitHub shows the first ten annotations of a step beside the lines of a change; the log has all of
them. See "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sim.check.violation import unexpected
from sim.errors import BadInput
from sim.files.document import Document
from sim.files.foreign.lines import LONGEST, one_line
from sim.files.reading import read_document
from sim.study.suite.reports import beside, found_and_expected
from sim.study.suite.result import BAD_INPUT, ERROR, CaseResult
from sim.study.suite.scenario_files import from_here

_AT = re.compile(r"(?P<file>.+?):(?P<line>\d+): |.*\(line (?P<told>\d+)\)")
"""How messages about files, and about log files, say where."""
_PATH = re.compile(r"(\S+?):? ")
_STEP = re.compile(r"step (\d+)\b")
_OF_REPLICA = re.compile(r"(?:(?P<moment>.+): )?replica (?P<way>.+?): (?P<part>\w+) is ")
_NAMED = {
    "was not violated, but expected": "violated",
    "was not reached": "reached",
    "was reached, not expected": "unreached",
}
"""What is said of a name that stands in this list of `expect`."""


class Mistake(NamedTuple):
    """One thing that is wrong with a file, or that did not come as it expects.

    Attributes:
        file: Where, mostly the file of the suite.
        line: From 1.
        lines: What is told of it.
    """

    file: Path
    line: int
    lines: tuple[str, ...]


def error_commands(results: Sequence[CaseResult]) -> Iterator[str]:
    """One line for each mistake of a result that is not as expected."""
    for result in results:
        for one in mistakes(result):
            yield error_command(
                "\n".join([*one.lines, f"reproduce: {result.command}"]),
                file=str(from_here(one.file)),
                line=str(one.line),
                title=f"{result.id}: {result.how}",
            )


def error_command(text: str, **place: str) -> str:
    """The line that makes GitHub show an error; `place` says where, by `file`, `line`, `title`."""
    given = ",".join(f"{name}={_property(value)}" for name, value in place.items())
    return f"::error {given}::{_data(text)}"


def mistakes(result: CaseResult) -> list[Mistake]:
    """What is wrong, each at its place; nothing of a result that is as expected.

    What is told of the whole, such as what every replica held, is told with the first one.
    """
    if result.expectation_met:
        return []
    if result.verdict in (BAD_INPUT, ERROR):
        return [_as_told(line, result) for line in str(result.reason).split("\n")]
    document = _document(result.path)
    sentences = {unexpected(one.invariant): one.sentence for one in result.unexpected}
    found = [
        Mistake(
            result.path,
            _line(told, result, document),
            tuple(_short(line) for line in (told, sentences.get(told)) if line),
        )
        for told in result.complaints
    ]
    first, *others = found
    told = [*found_and_expected(result), *first.lines, *beside(result)]
    told = [line for line in told if f"found: {line}" not in told]
    return [first._replace(lines=tuple(dict.fromkeys(map(_short, told)))), *others]


def _as_told(line: str, result: CaseResult) -> Mistake:
    """A message that says itself where something is wrong."""
    told = (_short(f"{result.verdict}: {line}"),)
    path = str(result.path)
    own = line.startswith(path)
    at = _AT.match(line[len(path) - 1 :] if own else line)
    if at is None:
        return Mistake(result.path, 1, told)
    other = at["file"] is not None and not own and Path(at["file"]).is_file()
    if at["file"] is not None and not own and not other:
        return Mistake(result.path, 1, told)
    return Mistake(Path(at["file"]) if other else result.path, int(at["line"] or at["told"]), told)


def _document(path: Path) -> Document | None:
    try:
        return read_document(path)
    except BadInput:
        return None


def _line(told: str, result: CaseResult, document: Document | None) -> int:
    """The line that a complaint is about: of a claim, a step, a setting, else of `expect`."""
    if document is None or not isinstance(document.data, dict):
        return 1
    location = _location(told, result, document.data)
    whole = document.line_of(["expect"]) if "expect" in document.data else 1
    return (document.line_of(location) if location else whole) or 1


def _location(told: str, result: CaseResult, data: dict[str, Any]) -> list[str | int]:
    """Where in a file stands what a complaint is about; empty = nowhere that is known."""
    step = _STEP.match(told)
    if step is not None:
        return ["steps", int(step[1]) - 1]
    for violation in result.unexpected if "steps" in data else ():
        if told == unexpected(violation.invariant):
            return ["steps", violation.at - 1]
    expect = data.get("expect")
    name, _, rest = told.partition(" ")
    listed = _NAMED.get(rest)
    if listed is not None and isinstance(expect, dict):
        names = expect.get(listed)
        at = [names.index(name)] if isinstance(names, list) and name in names else []
        return ["expect", listed, *at]
    of_replica = _OF_REPLICA.match(told)
    if of_replica is not None:
        moment = ["moments", of_replica["moment"]] if of_replica["moment"] else ["replicas"]
        return ["expect", *moment, of_replica["way"], of_replica["part"]]
    path = _PATH.match(told)
    if path is None:
        return []
    if told.startswith(f"{result.verdict}: "):  # of a bound: which field set it
        return _way(told.removeprefix(f"{result.verdict}: ").partition(": ")[0], data)
    way = path[1].removeprefix("steps") if result.is_log else path[1]
    found = _way(way, expect)
    return ["expect", *found] if found else []


def _way(path: str, value: Any) -> list[str | int]:
    """The steps of a path such as `[0].a.b` that name something in a value; names may have dots."""
    if isinstance(value, list) and (index := re.match(r"\[(\d+)\]\.?", path)):
        at = int(index[1])
        return [at, *_way(path[index.end() :], value[at])] if at < len(value) else []
    if isinstance(value, dict):
        for name in sorted(value, key=len, reverse=True):
            rest = path.removeprefix(name)
            if path.startswith(name) and (not rest or rest[0] in ".["):
                return [name, *_way(rest.removeprefix("."), value[name])]
    return []


def _short(line: str) -> str:
    return one_line(line, longest=LONGEST)


def _data(text: str) -> str:
    text = "\n".join(map(one_line, text.split("\n")))
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")
