"""Files of a sweep's folder, whoever made it: regular ones, of a size, and inside of it.

A folder may come from somewhere else. What is in it must not make a reader wait for a pipe, read a
device without an end, or follow a link to a file that is none of the sweep's.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sim.errors import BadInput
from sim.files.json_text import parse_json

MIB = 2**20


def check_folder_of(out: Path) -> None:
    """Raises BadInput unless `out` is a folder that can be looked into."""
    try:
        if not stat.S_ISDIR(out.stat().st_mode):
            raise BadInput(f"{out}: is a file; give the folder of a sweep (--out of replog sweep)")
        os.scandir(out).close()
    except OSError as error:
        raise BadInput(f"{out}: cannot be read: {error.strerror or error}") from None


def size_inside(out: Path, path: Path) -> int:
    """How large a file in the folder `out` is.

    Raises:
        BadInput: It is not there, may not be read, is no regular file, or a link leads out of the
            folder.
    """
    try:
        real, root = os.path.realpath(path, strict=True), os.path.realpath(out, strict=True)
        found = os.stat(real)  # noqa: PTH116 - of the text that realpath gave
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    if os.path.commonpath([real, root]) != root:
        raise BadInput(f"{path}: a link that leads out of {out}; a sweep's files are its own")
    if not stat.S_ISREG(found.st_mode):
        raise BadInput(f"{path}: is no regular file")
    return found.st_size


def read_bytes(out: Path, path: Path, *, at_most: int) -> bytes:
    """A whole file in the folder `out`. Raises BadInput as `size_inside`, or it is too large."""
    size = size_inside(out, path)
    if size > at_most:
        raise BadInput(
            f"{path}: has {size / MIB:,.0f} MiB; such a file has {at_most / MIB:,.0f} MiB at most"
        )
    try:
        with path.open("rb") as file:
            return file.read(at_most)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


def read_json_inside(out: Path, path: Path, *, at_most: int) -> object:
    """What a JSON file in the folder `out` holds. Raises BadInput as `read_bytes`; or no JSON."""
    try:
        text = read_bytes(out, path, at_most=at_most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text (byte {error.start})") from None
    return parse_json(text, str(path)).data
