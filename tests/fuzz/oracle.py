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
MOST_BYTES = 1_500 * 2**20
"""Of memory, at the peak: what is imported for a report takes 300 MB."""

_OURS = re.compile(r'File "[^"]*", line \d+|\bsim/[a-z_/]+\.py\b|site-packages')
_EXCEPTION = re.compile(
    r"\b(?:Assertion|Attribute|Import|Index|Key|Lookup|Memory|Name|NotImplemented|Overflow"
    r"|Recursion|Runtime|Type|UnicodeEncode|UnicodeDecode|Value|ZeroDivision|OS|Arrow\w*"
    r"|Validation)Error\b"
)


@dataclass(frozen=True)
class Answer:
    """How a command ended.

    Attributes:
        status: Of the process; minus the signal that ended it.
        out: What it printed.
        err: What it complained.
        in_time: Whether it ended by itself.
        seconds: How long it took.
        peak_bytes: Most memory it had.
        left: Commands of processes that it left behind.
        before: What was in its folder: path and a digest, or the kind of what is no file.
        after: What is there now.
    """

    status: int
    out: bytes
    err: bytes
    in_time: bool
    seconds: float
    peak_bytes: int
    left: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]


def faults(case: Case, answer: Answer, folder: Path) -> list[str]:
    """What is wrong with this answer, nothing most of the time; `folder` is where it was given."""
    if not answer.in_time:
        return [f"hang: not over after {answer.seconds:.0f} s"]
    found = [*_crashes(answer), *_of_status(case, answer), *_of_streams(case, answer)]
    if answer.peak_bytes > MOST_BYTES:
        found.append(f"memory: {answer.peak_bytes >> 20} MB at the peak")
    if answer.left:
        found.append(f"orphan: left behind: {answer.left[0]}")
    found += _of_folder(case, answer)
    if answer.status == 0:
        found += _of_outputs(case, answer, folder)
    return found


def kind_of(fault: str) -> str:
    """The class of a fault: `traceback`, `hang`, `memory`, `half-written` ..."""
    return fault.partition(":")[0]


def _crashes(answer: Answer) -> Iterator[str]:
    text = answer.err.decode(errors="replace") + answer.out.decode(errors="replace")
    if answer.status < 0:
        yield f"signal: ended by signal {-answer.status}"
    if "MemoryError" in text or "Unable to allocate" in text or "malloc of size" in text:
        yield "memory: allocation failed"
    elif "Traceback (most recent call last)" in text:
        yield f"traceback: {_where(text)}"
    elif shown := _OURS.search(text):
        yield f"traceback: a line of our code is shown: {shown[0]}"
    elif found := _EXCEPTION.search(text):
        line = next(one for one in text.splitlines() if found[0] in one)
        if not line.startswith("replog: plugin "):  # whose exception is its own
            yield f"exception: {line.strip()[:300]}"


def _where(text: str) -> str:
    """The exception, and the last function of ours that it went through."""
    frames = re.findall(r'File "[^"]*?([\w]+/[\w]+\.py)", line \d+, in (\S+)', text)
    places = re.findall(r'File "[^"]*?(sim/[\w/]+\.py)", line \d+, in (\S+)', text)
    place = " ".join((places or frames or [("?", "?")])[-1])
    errors = re.findall(
        r"^(?:\w+\.)*(\w+(?:Error|Exception|Interrupt|Exit)\b.*)$", text, re.MULTILINE
    )
    return f"{place}: {(errors or ['?'])[-1][:200]}"


def _of_status(case: Case, answer: Answer) -> Iterator[str]:
    if answer.status >= 0 and answer.status not in STATUSES:
        yield f"status: {answer.status}"
    lines = answer.err.decode(errors="replace").splitlines()
    if answer.status == BAD_INPUT:
        if not lines and not answer.out and case.argv and case.stdout == "file":
            yield "silent: status 2 and no complaint"
        # Beside it there may be progress, and annotations; or the help, when there is no command.
        said = ("replog: ", "::error ", "Usage: replog")
        if lines and not any(line.startswith(said) for line in lines):
            yield f"form: no complaint begins with 'replog: ': {lines[0][:200]}"
    if len(lines) > MOST_COMPLAINTS:
        yield f"form: {len(lines)} lines on stderr"
    longest = max(map(len, lines), default=0)
    if longest > LONGEST_LINE:
        yield f"form: a line of {longest} characters on stderr"


def _of_streams(case: Case, answer: Answer) -> Iterator[str]:
    encoding = case.environment.get("PYTHONIOENCODING") or "utf-8"
    for name, content in (("stdout", answer.out), ("stderr", answer.err)):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError as error:
            yield f"text: {name} is not {encoding}: {error.reason}"
            continue
        for character in sorted(set(text) - {"\n", "\t"}):
            if unicodedata.category(character) in ("Cc", "Cs"):
                yield f"text: {name} has the control character {character!r}"
                break
    if "--json" in case.argv and answer.out.strip() and case.stdout == "file":
        try:
            json.loads(answer.out, parse_constant=_no_constant)
        except ValueError as error:
            if not answer.out.startswith(b"Usage: replog"):
                yield f"json: stdout is not one document: {error}"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _of_folder(case: Case, answer: Answer) -> Iterator[str]:
    """The input is untouched, and what is new was asked for: no drafts, nothing on bad input."""
    changed = sorted(
        name
        for name in {*answer.before, *answer.after}
        if answer.before.get(name) != answer.after.get(name)
    )
    for name in changed:
        # The memory of `suite --lf`, where something failed; bad input elsewhere may be beside it.
        if name.partition("/")[0] == ".replog_cache":
            continue
        # A suite tells of bad input when all is done; so does who cannot print the last line.
        refused = answer.status == BAD_INPUT and case.command != "suite" and case.stdout == "file"
        if refused:
            yield f"half-written: status 2, and {name} is not as it was"
        elif not any(name == one or name.startswith(f"{one}/") for one in case.outputs):
            yield f"half-written: {name} is not as it was, and was not asked for"
        elif re.search(r"(^|/)[._]?[^/]*\.(tmp|draft|part|partial)$", name):
            yield f"half-written: a draft is left: {name}"
        else:
            continue
        return


def _of_outputs(case: Case, answer: Answer, folder: Path) -> Iterator[str]:
    """What was written is whole, as far as its form tells."""
    for name in sorted(set(answer.after) - set(answer.before)):
        if answer.after[name] in answer.before.values():
            continue  # what was there, set aside under another name
        path = folder / name
        if not path.is_file() or path.is_symlink() or name.startswith(".replog_cache"):
            continue
        content = path.read_bytes()
        try:
            if path.suffix == ".json":
                json.loads(content)
            elif path.suffix in (".ndjson", ".jsonl"):
                _ = [json.loads(line) for line in content.splitlines()]
            elif path.suffix in (".xml", ".svg"):
                ET.fromstring(content)  # noqa: S314 - what we wrote
            elif path.suffix in (".html", ".md", ".txt", ".csv", ".yaml"):
                content.decode()
        except (ValueError, ET.ParseError) as error:
            yield f"output: {path.suffix} is broken: {str(error)[:200]}"
