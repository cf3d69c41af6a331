"""One thing to try: a command line, and the files beside it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Special:
    """What is no regular file.

    Attributes:
        kind: `folder`, `fifo`, `link` (symbolic, to `target`) or `hole` (a file of `target` bytes,
            none of them written).
        target: See there.
    """

    kind: str
    target: str = ""


Content = bytes | Special


@dataclass(frozen=True)
class Case:
    """What is tried.

    Attributes:
        argv: The words after `replog`. A byte that is not UTF-8 is a lone surrogate, as in
            `sys.argv`.
        files: What lies in the folder where the command is run, by its path there.
        outputs: Names that the command may make or replace, with all that is below them.
    """

    argv: tuple[str, ...]
    files: Mapping[str, Content] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()

    def lay(self, folder: Path) -> None:
        """Put the files into `folder`; a name that the file system refuses is left out."""
        for name, content in self.files.items():
            try:
                _lay(folder / name, content)
            except (OSError, ValueError):
                continue


def _lay(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content.kind == "folder":
        path.mkdir()
    elif content.kind == "fifo":
        os.mkfifo(path)
    elif content.kind == "link":
        path.symlink_to(content.target)
    else:
        with path.open("wb") as file:
            file.truncate(int(content.target))
