"""What every answer of the command line must be like, whatever it was given.

Shares no code with Replog: the exit statuses and the form of a complaint are written down again
here, from the documentation. A fault is a line that begins with its class and a colon.
"""

import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.case import Case

STATUSES = {0, 1, 2, 3, 130}
BAD_INPUT = 2
MOST_COMPLAINTS = 101
"""A hundred, and `and n more`."""
LONGEST_LINE = 4_200

_EXCEPTION = re.compile(
    r"Traceback \(most|MemoryError|Unable to allocate|malloc of size|site-packages"
    r"|\bsim/[\w/]+\.py\b"
    r"|\b(?:Assertion|Attribute|Import|Index|Key|Lookup|Name|NotImplemented|Overflow|Recursion"
    r"|Runtime|Type|UnicodeEncode|UnicodeDecode|Value|ZeroDivision|OS|Arrow\w*|Validation)Error\b"
)


@dataclass(frozen=True)
class Answer:
    """How a command ended.

    Attributes:
        status: Of the process; minus the signal that ended it.
        out: What it printed.
        err: What it complained.
        seconds: How long it took.
        in_time: Whether it ended by itself.
        left: Whether a process of it was left behind.
        before: What was in its folder, by path: the bytes of files.
        after: What is there now.
    """

    status: int
    out: bytes
    err: bytes
    seconds: float
    in_time: bool
    left: bool
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]


def faults(case: Case, answer: Answer, folder: Path) -> list[str]:
    """What is wrong with this answer, nothing most of the time; `folder` is where it was given."""
    if not answer.in_time:
        return [f"hang: not over after {answer.seconds:.0f} s"]
    found = [*_crashes(answer), *_of_status(answer), *_of_text(case, answer)]
    found += _of_folder(case, answer)
    if answer.left:
        found.append("orphan: a process is left behind")
    if answer.status == 0:
        found += _of_outputs(answer, folder)
    return found


def _crashes(answer: Answer) -> Iterator[str]:
    if answer.status < 0:
        yield f"signal: ended by signal {-answer.status}"
    text = (answer.err + answer.out).decode(errors="replace")
    if found := _EXCEPTION.search(text):
        yield f"traceback: {text[max(0, found.start() - 200) :][-2_000:]}"


def _of_status(answer: Answer) -> Iterator[str]:
    if answer.status >= 0 and answer.status not in STATUSES:
        yield f"status: {answer.status}"
    lines = answer.err.decode(errors="replace").splitlines()
    # Beside it there may be progress, and annotations; a suite says on stdout what is wrong.
    said = any(line.startswith(("replog: ", "::error ")) for line in lines)
    if answer.status == BAD_INPUT and not said and (lines or not answer.out):
        yield f"form: no complaint begins with 'replog: ': {lines[:1]}"
    if len(lines) > MOST_COMPLAINTS or any(len(line) > LONGEST_LINE for line in lines):
        yield f"form: {len(lines)} lines on stderr, up to {max(map(len, lines))} characters"


def _of_text(case: Case, answer: Answer) -> Iterator[str]:
    for name, content in (("stdout", answer.out), ("stderr", answer.err)):
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            yield f"text: {name} is not UTF-8: {error.reason}"
            continue
        controls = {one for one in text if unicodedata.category(one) in ("Cc", "Cs")}
        if strange := controls - {"\n", "\t"}:
            yield f"text: {name} has control characters {strange}"
    if "--json" in case.argv and answer.out.strip():
        try:
            json.loads(answer.out, parse_constant=_no_constant)
        except ValueError as error:
            yield f"json: stdout is not one document: {error}"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _of_folder(case: Case, answer: Answer) -> Iterator[str]:
    """The input is untouched, and what is new was asked for: no drafts, nothing on bad input."""
    for name in sorted({*answer.before, *answer.after}):
        if answer.before.get(name) == answer.after.get(name):
            continue
        # A suite tells of bad input when all is done.
        if answer.status == BAD_INPUT and case.argv[0] != "suite":
            yield f"half-written: status 2, and {name} is not as it was"
        elif not any(name == one or name.startswith(f"{one}/") for one in case.outputs):
            yield f"half-written: {name} is not as it was, and was not asked for"
        elif name.endswith((".tmp", ".draft", ".part", ".partial")):
            yield f"half-written: a draft is left: {name}"


def _of_outputs(answer: Answer, folder: Path) -> Iterator[str]:
    """What was written is whole, as far as its form tells."""
    for name in sorted(set(answer.after) - set(answer.before)):
        path = folder / name
        if not path.is_file():
            continue
        try:
            _read(path)
        except (ValueError, ET.ParseError) as error:
            yield f"output: {path.suffix} is broken: {str(error)[:200]}"


def _read(path: Path) -> None:
    content = path.read_bytes()
    if path.suffix == ".json":
        json.loads(content)
    elif path.suffix == ".ndjson":
        _ = [json.loads(line) for line in content.splitlines()]
    elif path.suffix in (".xml", ".svg"):
        ET.fromstring(content)  # noqa: S314 - what we wrote
    elif path.suffix in (".html", ".md", ".csv", ".yaml"):
        content.decode()
