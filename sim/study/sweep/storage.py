"""How a sweep writes: whole files, by one writer at a time.

A folder is held by a lock of the kernel's (`flock`), on a file that says who holds it. A process
that is killed leaves the file and not the lock.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sim.errors import BadInput

LOCK_FILE = ".lock"


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Holds a folder for one writer, and makes it if need be.

    The lock ends with the process that holds it, however that ends. Raises BadInput, naming the
    owner, when another process holds it.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / LOCK_FILE
    with path.open("a+", errors="backslashreplace") as file:
        _take(file.fileno(), path)
        try:
            file.truncate(0)
            file.write(_this_process())
            file.flush()
            yield
        finally:
            with suppress(OSError):  # of a folder where nothing was written, nothing stays
                path.unlink()
                out.rmdir()


def _take(number: int, path: Path) -> None:
    out = path.parent
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.fstat(number).st_nlink > 0  # else its last holder has just removed it
    except BlockingIOError:
        held = False
    except OSError as error:
        raise BadInput(
            f"{out}: this file system has no locks ({error.strerror}); sweep into another folder"
        ) from None
    if not held:
        with suppress(OSError):
            owner = path.read_text(encoding="utf-8", errors="replace").split("\n")[0][:500]
            raise BadInput(
                f"{out}: another sweep is writing here ({owner or 'it just began'}); "
                "wait for its end, or name another folder"
            )
        raise BadInput(f"{out}: another sweep has just ended here; try again")


def _this_process() -> str:
    """Process, machine, start and command, for the reader of the lock file."""
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    command = shlex.join(sys.argv) if sys.argv[0] else "Python"
    return f"process {os.getpid()} on {socket.gethostname()}, since {since}: {command}"


@contextmanager
def putting(path: Path) -> Iterator[BinaryIO]:
    """A file to write that is at `path` once it is whole and on the disk; no reader knows before.

    Raises OSError, naming the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:  # a write knows its file by number only
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
