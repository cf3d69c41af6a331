"""One thing to try: a command line, the files beside it, and what surrounds them. As JSON, too."""

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SWEEP = "swept"
"""The finished sweep that a case may start from, a folder of this name; see `prepared.py`."""


@dataclass(frozen=True)
class Special:
    """What is no regular file.

    Attributes:
        kind: `folder`, `fifo`, `link` (symbolic, to `target`), `hole` (a file of `target` bytes,
            none of them written) or `gone` (what a prepared folder has there is removed).
        target: See there.
    """

    kind: str
    target: str = ""


Content = bytes | Special


@dataclass(frozen=True)
class Case:
    """What is tried.

    Attributes:
        reader: Which reader of files or words it is for, as in `readers.READERS`.
        argv: The words after `replog`. A byte that is not UTF-8 is a lone surrogate, as in
            `sys.argv`.
        files: What lies in the folder where the command is run, by its path there.
        outputs: Names that the command may make or replace, with all that is below them.
        start: Which prepared folder is there first, `SWEEP` or none.
        environment: Variables that are set, or unset when None.
        stdin: What can be read from standard input.
        stdout: `file`, `closed` or `full` (every write fails).
    """

    reader: str
    argv: tuple[str, ...]
    files: Mapping[str, Content] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    start: str | None = None
    environment: Mapping[str, str | None] = field(default_factory=dict)
    stdin: bytes = b""
    stdout: str = "file"

    @property
    def command(self) -> str:
        """The first word."""
        return self.argv[0] if self.argv else ""

    @property
    def size(self) -> int:
        """Bytes of its files and words: smaller cases are shown."""
        contents = (len(one) for one in self.files.values() if isinstance(one, bytes))
        return sum(contents) + len(self.stdin) + sum(map(len, self.argv))

    def lay(self, folder: Path) -> None:
        """Put the files into `folder`; a name that the file system refuses is left out."""
        for name, content in self.files.items():
            path = folder / name
            try:
                _lay(path, content)
            except (OSError, ValueError):
                continue


def _lay(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.is_file():
        path.unlink()
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content.kind == "folder":
        path.mkdir(exist_ok=True)
    elif content.kind == "fifo":
        os.mkfifo(path)
    elif content.kind == "link":
        path.symlink_to(content.target)
    elif content.kind == "hole":
        with path.open("wb") as file:
            file.truncate(int(content.target))


def to_json(case: Case, **more: object) -> str:
    """One document; `more` are fields of the corpus, such as what is expected."""
    document: dict[str, Any] = {"reader": case.reader, "argv": list(case.argv)}
    document |= more
    if case.start:
        document["start"] = case.start
    if case.outputs:
        document["outputs"] = list(case.outputs)
    if case.environment:
        document["environment"] = dict(case.environment)
    if case.stdin:
        document["stdin"] = _content_to_json(case.stdin)
    if case.stdout != "file":
        document["stdout"] = case.stdout
    document["files"] = {name: _content_to_json(one) for name, one in case.files.items()}
    return json.dumps(document, indent=1) + "\n"


def from_json(text: str) -> Case:
    """The case that `to_json` wrote."""
    document = json.loads(text)
    files = document.get("files", {})
    stdin = _content_from_json(document.get("stdin", ""))
    assert isinstance(stdin, bytes)
    return Case(
        reader=document["reader"],
        argv=tuple(document["argv"]),
        files={name: _content_from_json(one) for name, one in files.items()},
        outputs=tuple(document.get("outputs", ())),
        start=document.get("start"),
        environment=document.get("environment", {}),
        stdin=stdin,
        stdout=document.get("stdout", "file"),
    )


def _content_to_json(content: Content) -> object:
    if isinstance(content, Special):
        return {content.kind: content.target}
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _content_from_json(content: Any) -> Content:
    if isinstance(content, str):
        return content.encode()
    ((kind, value),) = content.items()
    return base64.b64decode(value) if kind == "base64" else Special(kind, value)
