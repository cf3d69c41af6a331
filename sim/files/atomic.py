"""Files that are written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sim.errors import BadInput


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that replaces `path` at the end of the block, unless it raises.

    A pipe or `/dev/stdout` is written directly.

    Raises:
        BadInput: It cannot be written: no such folder, no permission, no space.
    """
    check_writable(path)
    special = path.exists() and not path.is_file()
    part = path if special else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        if not special:
            part.replace(path)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if not special:
            part.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Replaces `path` by a file with this text, as `replacing` does. Raises BadInput."""
    with replacing(path) as file:
        file.write(text.encode())


def check_writable(path: Path, *, what: str | None = None, read: Iterable[Path] = ()) -> None:
    """Checks before any work is done that `path` can be written.

    Args:
        path: A file that may or may not exist.
        what: Name in messages, such as `--trace OUT`; None for the path itself.
        read: Files that the command reads, and must not replace.

    Raises:
        BadInput: It is a folder or one of those that are read, or its folder does not exist or may
            not be written.
    """
    name = what or str(path)
    if path.is_dir():
        raise BadInput(f"{name}: is a folder")
    if not path.parent.is_dir():
        raise BadInput(f"{name}: no such folder: {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput(f"{name}: may not be written by this user")
    if path.exists() and any(one.exists() and path.samefile(one) for one in read):
        raise BadInput(f"{name}: is a file that this command reads; give another one")
