"""Files of a sweep's folder, whoever made it: regular ones, of a size, and inside of it.

A folder may come from somewhere else. What is in it must not make a reader wait for a pipe, read a
device without an end, or follow a link to a file that is none of the sweep's.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from sim.errors import BadInput

MIB = 2**20


def check_folder_of(out: Path) -> None:
    """Raises BadInput unless `out` is a folder that can be looked into."""
    try:
        if not stat.S_ISDIR(out.stat().st_mode):
            raise BadInput(f"{out}: is a file; give the folder of a sweep (--out of replog sweep)")
        os.scandir(out).close()
    except OSError as error:
        raise BadInput(f"{out}: cannot be read: {error.strerror or error}") from None


def real_inside(out: Path, path: Path) -> Path:
    """Where a file or folder in the folder `out` is, links followed; it need not exist.

    Raises OSError when a link leads out of the folder, or in a circle.
    """
    root = os.path.realpath(out)
    real = os.path.realpath(path)
    if Path(real).is_symlink():  # which was not followed: it leads back to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if os.path.commonpath([real, root]) != root:
        what = "a link that leads out of the folder; a sweep's files are its own"
        raise OSError(errno.EXDEV, what, str(path))
    return Path(real)


def size_inside(out: Path, path: Path) -> int:
    """How large a file in the folder `out` is.

    Raises:
        BadInput: It is not there, may not be read, is no regular file, or a link leads out of the
            folder.
    """
    try:
        found = real_inside(out, path).stat()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
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
            return file.read(size)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
