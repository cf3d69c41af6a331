"""Writes the folder of a failure, whole or not at all, and never over one that is there."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from sim.draw import Case, html, strip, svg
from sim.errors import BadInput
from sim.failures.failure import Failure
from sim.failures.pages import FILES, index_page, readme
from sim.files.atomic import replace_text
from sim.files.reading import read_json
from sim.files.trace_file import write_trace
from sim.foreign import shell
from sim.foreign.documents import json_text
from sim.plugins import as_options

FAILURE_FORMAT = "replog-failure/1"
DOCUMENT = "failure.json"
INDEX = "index.html"
SCENARIO = "scenario.yaml"
TRACE = "trace.ndjson"
STRIP_WIDTH = 120


def save_failure(folder: Path, failure: Failure) -> Path:
    """Write a failure into a folder of its own below `folder`, which is made; that folder's path.

    The very same failure is not written a second time: its folder is left as it is. Another one of
    the same name gets a number behind it.

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
        _write_index(folder)
    return place


def _place(folder: Path, failure: Failure) -> Path:
    """The folder that has this failure, or the next free name for it."""
    for number in count(1):
        place = folder / (failure.name if number == 1 else f"{failure.name}-{number}")
        if not place.exists() or _identity(_read(place)) == _identity(_document(failure)):
            return place
    raise AssertionError("the numbers have no end")


def _write(folder: Path, failure: Failure) -> None:
    command = f"replog run {shell.command([SCENARIO, *as_options()])}"
    texts = {
        SCENARIO: failure.scenario(folder),
        "sentence.txt": f"{failure.sentence}\n",
        "explanation.txt": "\n".join(failure.explanation()) + "\n",
        "command.txt": f"{command}\n",
        **_pictures(failure, command),
        **failure.shrunk(),
        TRACE: "",
        DOCUMENT: "",
    }
    document = _document(failure) | {"files": [name for name in FILES if name in texts]}
    texts[DOCUMENT] = json_text(document, indent=2) + "\n"
    texts["README.md"] = readme(failure, command=command, texts=texts)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    run = failure.run
    write_trace(folder / TRACE, failure.header, run.events, run.trace_verdict())


def _pictures(failure: Failure, command: str) -> dict[str, str]:
    """The pictures by their file; the page only where there is what makes it."""
    run, title = failure.run, failure.title or failure.id
    case = Case(
        run.proper if failure.violation is None else run.events,
        failure.violation,
        run.rules,
        run.labels,
        verdict=run.verdict,
        violations=() if failure.violation is None else run.violations,
        skews=run.skews,
    )
    found = {
        "strip.txt": strip(case, STRIP_WIDTH) + "\n",
        "picture.svg": svg(case, title=title, unit=run.unit),
    }
    if find_spec("jinja2") is not None:
        told = failure.explanation()
        found["picture.html"] = html(
            case, title=title, unit=run.unit, explanation=told, command=command
        )
    return found


def _document(failure: Failure) -> dict[str, Any]:
    """What a machine needs to know of a folder."""
    return {
        "format": FAILURE_FORMAT,
        "id": failure.id,
        "title": failure.title,
        "invariant": None if failure.violation is None else failure.violation.invariant,
        "sentence": failure.sentence,
        "cause": failure.cause,
        "seed": failure.header.seed,
        "verdict": failure.run.verdict,
        "notes": list(failure.run.notes),
        "rules": dict(failure.changed_rules),
        "events": len(failure.run.events),
        "digest": failure.run.digest,
        "plugins": as_options(),
        "made_by": failure.made_by,
    }


def _identity(document: dict[str, Any]) -> tuple[object, ...]:
    """Failures with the same are the same one, whoever found them."""
    return tuple(document.get(name) for name in ("id", "sentence", "rules", "digest"))


def _read(folder: Path) -> dict[str, Any]:
    """The document of a folder; empty for one that is not ours."""
    try:
        document = read_json(folder / DOCUMENT).data
    except BadInput:
        return {}
    ours = isinstance(document, dict) and document.get("format") == FAILURE_FORMAT
    return document if ours else {}


def _write_index(folder: Path) -> None:
    found = {
        path.name: document
        for path in sorted(folder.iterdir())
        if path.is_dir() and not path.name.startswith(".") and (document := _read(path))
    }
    replace_text(folder / INDEX, index_page(found))


@contextmanager
def _clear_errors(folder: Path) -> Iterator[None]:
    """Turns a folder that cannot be written into one line of BadInput."""
    try:
        yield
    except OSError as error:
        what = error.strerror or str(error)
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            what = "is a file; failures are written into folders below a folder"
        raise BadInput(f"{error.filename or folder}: {what}") from None
