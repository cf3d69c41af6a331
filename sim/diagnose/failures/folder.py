"""Writes the folder of a failure as a whole or not at all, and never over another one."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from sim.diagnose.draw import strip
from sim.diagnose.failures.failure import (
    PAGE,
    PICTURE,
    SHRUNK,
    SHRUNK_PICTURE,
    RunFailure,
    expectation,
    missed,
)
from sim.errors import BadInput
from sim.files import markdown
from sim.files.foreign import LONGEST, json_text, one_line, readable
from sim.files.markdown import block, text
from sim.files.reading import read_json
from sim.plugins import as_options

FILES = {
    "picture.html": "the run to step through, in any browser, without a network",
    "picture.svg": "the logs of all replicas, and the messages that led there",
    "scenario.yaml": "the scenario, with its seed and its rules",
    "shrunk.yaml": "the smallest example of the same failure, mostly a story of a few steps",
    "shrunk.svg": "the logs of its replicas",
    "trace.ndjson": "all events, a line of JSON each",
    "failure.json": "the same facts as JSON",
}
"""Files that may be in the folder of a failure beside `README.md`, with their contents.

`picture.html` needs the extra `report`; the smallest example is there where an invariant is
violated."""

LINES_MAX = 200
"""How many unmet expectations a `README.md` shows."""
STRIP_WIDTH = 120

FAILURE_FORMAT = "replog-failure/1"
DOCUMENT = "failure.json"


def save_failure(folder: Path, failure: RunFailure) -> Path:
    """Writes a failure into a folder of its own below `folder`, and returns its path.

    `folder` is created if need be. The same failure is not written twice; another one of the same
    name gets a number.

    Raises:
        BadInput: It cannot be written; nothing is left half-written.
    """
    with _clear_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        place = _place(folder, failure)
        if not place.exists():
            draft = folder / f".{place.name}.{os.getpid()}.part"
            shutil.rmtree(draft, ignore_errors=True)
            try:
                draft.mkdir()
                _write(draft, failure)
                draft.rename(place)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    return place


def _place(folder: Path, failure: RunFailure) -> Path:
    """The path of the folder with this failure, or the next free one."""
    for number in count(1):
        place = folder / (failure.name if number == 1 else f"{failure.name}-{number}")
        if not place.exists() or _identity(_read(place)) == _identity(_document(failure)):
            return place
    raise AssertionError("the numbers have no end")


def _write(folder: Path, failure: RunFailure) -> None:
    texts = {**failure.texts(folder), DOCUMENT: ""}
    document = _document(failure) | {"files": [name for name in FILES if name in texts]}
    texts[DOCUMENT] = json_text(document, indent=2) + "\n"
    texts["README.md"] = readme(failure, texts)
    for name, content in texts.items():
        (folder / name).write_text(content, encoding="utf-8")


def readme(failure: RunFailure, texts: Mapping[str, str]) -> str:
    """Writes the `README.md` of a failure; `texts` are the other files of its folder by name."""
    run, seed = failure.run, failure.run.content.seed
    rules = ", ".join(f"{name}={value}" for name, value in failure.changed_rules.items())
    rows = {
        "title": text(failure.title),
        "file": text(str(failure.file or "")),
        "expected": text(expectation(run.content.expect)),
        "verdict": text(run.verdict + (f" ({run.reason})" if run.reason else "")),
        "cause": text(failure.cause),
        "violated": text(", ".join(dict.fromkeys(one.invariant for one in run.violations))),
        "note": text("; ".join(run.notes)),
        "rules": markdown.code(rules) if rules else "the defaults",
        "seed": "none: a story has no randomness" if seed is None else str(seed),
        "digest": f"`{run.digest}`",
        "found by": markdown.code(failure.made_by) if failure.made_by else "",
    }
    table = [f"| {name} | {value} |" for name, value in rows.items() if value]
    lines = [one_line(line, longest=LONGEST) for line in missed(run)]
    more = len(lines) - LINES_MAX
    left = [f"- and {more:,} lines more: {DOCUMENT}"] if more > 0 else []
    files = [f"- [{name}]({name}): {what}" for name, what in FILES.items() if name in texts]
    parts = [
        f"# {text(failure.id)}",
        text(failure.sentence),
        "\n".join(
            ["Expectation not met:", "", *(f"- {text(line)}" for line in lines[:LINES_MAX]), *left]
        ),
        "\n".join(["| | |", "|---|---|", *table]),
        "Run it again, in this folder:",
        block([f"$ {failure.command}"], language="console"),
        f"The logs of all replicas{' ([to step through](picture.html))' * (PAGE in texts)}:",
        f"![the logs of all replicas, and the messages that led there]({PICTURE})",
        block(strip(failure.case, STRIP_WIDTH).split("\n"), language="text"),
        "Explanation:",
        block(failure.explanation, language="text"),
    ]
    if SHRUNK in texts:
        parts += [
            "The smallest example of the same failure:",
            block(texts[SHRUNK].rstrip().split("\n"), language="text"),
        ]
        parts.append(f"![the logs of its replicas]({SHRUNK_PICTURE})")
    return "\n\n".join([*parts, "\n".join(["Files:", "", *files])]) + "\n"


def _document(failure: RunFailure) -> dict[str, Any]:
    """The content of `failure.json`."""
    run = failure.run
    return {
        "format": FAILURE_FORMAT,
        "id": failure.id,
        "title": failure.title,
        "file": None if failure.file is None else readable(str(failure.file)),
        "sentence": failure.sentence,
        "expected": expectation(run.content.expect),
        "missed": list(missed(run)),
        "invariant": None if failure.violation is None else failure.violation.invariant,
        "cause": failure.cause,
        "seed": run.content.seed,
        "verdict": run.verdict,
        "notes": list(run.notes),
        "rules": dict(failure.changed_rules),
        "events": len(run.events),
        "digest": run.digest,
        "plugins": as_options(),
        "made_by": failure.made_by,
        "command": failure.command,
    }


def _identity(document: dict[str, Any]) -> tuple[object, ...]:
    """The identity of a failure; the command that found it is no part of it."""
    same = ("file", "id", "sentence", "expected", "missed", "rules", "digest")
    return tuple(document.get(name) for name in same)


def _read(folder: Path) -> dict[str, Any]:
    """The content of a folder's `failure.json`; empty for any other folder."""
    try:
        document = read_json(folder / DOCUMENT).data
    except BadInput:
        return {}
    ours = isinstance(document, dict) and document.get("format") == FAILURE_FORMAT
    return document if ours else {}


@contextmanager
def _clear_errors(folder: Path) -> Iterator[None]:
    """Turns an error of the file system into BadInput of one line."""
    try:
        yield
    except OSError as error:
        what = error.strerror or str(error)
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            what = "is a file; failures are written into folders below a folder"
        raise BadInput(f"{error.filename or folder}: {what}") from None
