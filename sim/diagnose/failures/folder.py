"""Writes the folder of a failure, whole or not at all, and never over one that is there."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from sim.diagnose.failures.failure import COMMAND, EXPLANATION, SENTENCE, Failure
from sim.diagnose.failures.pages import FILES, Red, index_page, readme
from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.foreign.documents import json_text, readable
from sim.files.reading import read_json
from sim.plugins import as_options

FAILURE_FORMAT = "replog-failure/1"
DOCUMENT = "failure.json"
INDEX = "index.html"


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
    texts = {
        SENTENCE: f"{failure.sentence}\n",
        EXPLANATION: "\n".join(failure.explanation()) + "\n",
        COMMAND: f"{failure.command}\n",
        **failure.texts(folder),
        DOCUMENT: "",
    }
    document = _document(failure) | {"files": [name for name in FILES if name in texts]}
    texts[DOCUMENT] = json_text(document, indent=2) + "\n"
    texts["README.md"] = readme(failure, texts)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    failure.write(folder)


def _document(failure: Failure) -> dict[str, Any]:
    """What a machine needs to know of a folder."""
    return {
        "format": FAILURE_FORMAT,
        "id": failure.id,
        "title": failure.title,
        "file": None if failure.file is None else readable(str(failure.file)),
        "sentence": failure.sentence,
        "expected": failure.expected,
        "missed": list(failure.missed),
        **failure.document(),
        "plugins": as_options(),
        "made_by": failure.made_by,
    }


def _identity(document: dict[str, Any]) -> tuple[object, ...]:
    """Failures with the same are the same one, whoever found them."""
    told = ("file", "id", "sentence", "expected", "missed", "rules", "digest")
    return tuple(document.get(name) for name in told)


def _read(folder: Path) -> dict[str, Any]:
    """The document of a folder; empty for one that is not ours."""
    try:
        document = read_json(folder / DOCUMENT).data
    except BadInput:
        return {}
    ours = isinstance(document, dict) and document.get("format") == FAILURE_FORMAT
    return document if ours else {}


def write_index(folder: Path, red: Sequence[Red] = (), *, summary: str = "") -> None:
    """Write the page that lists the failures in a folder.

    Args:
        folder: Where folders of failures are; nothing is written where there is none.
        red: What a suite has found that is not as expected, with a folder or without.
        summary: What the suite says of all its files; empty = no suite was run.

    Raises:
        BadInput: It cannot be written.
    """
    with _clear_errors(folder):
        if red:
            folder.mkdir(parents=True, exist_ok=True)
        if folder.is_dir():
            _write_index(folder, red, summary)


def _write_index(folder: Path, red: Sequence[Red] = (), summary: str = "") -> None:
    found = {
        path.name: document
        for path in sorted(folder.iterdir())
        if path.is_dir() and not path.name.startswith(".") and (document := _read(path))
    }
    replace_text(folder / INDEX, index_page(found, red, summary=summary))


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
