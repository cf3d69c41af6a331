"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sim.errors import BadInput


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when all went well, and only then.

    Raises:
        BadInput: It cannot be written: no such folder, no permission, no space.
    """
    check_writable(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def check_writable(path: Path, *, what: str | None = None) -> None:
    """Say before any work is done that `path` cannot be written.

    Args:
        path: A file that may or may not exist.
        what: What it was given as, such as `--trace OUT`; default the path itself.

    Raises:
        BadInput: It is a folder, or its folder does not exist or may not be written.
    """
    name = what or str(path)
    if path.is_dir():
        raise BadInput(f"{name}: is a folder")
    if not path.parent.is_dir():
        raise BadInput(f"{name}: no such folder: {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise BadInput(f"{name}: may not be written: {path.parent}")
