"""One writer at a time: a lock on a folder of this machine that ends with the process holding it.

It is the kernel's (`flock`), on a file in the folder that says who holds it. A process that is
killed leaves the file and not the lock.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sim.errors import BadInput

LOCK_FILE = ".lock"
OWNER_LENGTH_MAX = 500
OWNER_SECONDS = 0.1
"""That a holder takes at most, mostly, to say who it is."""
_CANNOT_LOCK = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def this_process() -> str:
    """Who this is, for whoever finds the folder locked: process, machine, start, command."""
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    command = shlex.join(sys.argv) if sys.argv[0] else "Python"
    return f"process {os.getpid()} on {socket.gethostname()}, since {since}: {command}"


@contextmanager
def folder_lock(folder: Path, owner: str) -> Iterator[None]:
    """Holds `folder` and makes it if need be; one that was made here and stays empty goes again.

    Raises BadInput, naming the owner, when another process holds it, and where the file system
    has no locks.
    """
    made = _make(folder)
    lock = folder / LOCK_FILE
    held = _take(lock)
    try:
        os.truncate(held, 0)
        os.pwrite(held, owner.encode(errors="backslashreplace"), 0)
        yield
    finally:
        with suppress(OSError):
            lock.unlink()  # while it is held: see `_take`
        os.close(held)
        with suppress(OSError):  # not empty, or somebody else is about to begin there
            for each in made:
                each.rmdir()


def _make(folder: Path) -> list[Path]:
    """Makes a folder; which ones were made for it, the deepest first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _take(lock: Path) -> int:
    """The descriptor of the lock's file, held.

    The file that a holder removes is no lock any more: who opened it in that moment looks again.
    """
    while True:
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except FileNotFoundError:  # the folder went with its last holder
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(held, lock):
                return held
        except BlockingIOError:
            owner = _owner(held)
            os.close(held)
            raise BadInput(
                f"{lock.parent}: another sweep is writing here ({owner or 'it just began'}); "
                "wait for its end, or name another folder"
            ) from None
        except OSError as error:
            os.close(held)
            if error.errno in _CANNOT_LOCK:
                raise BadInput(
                    f"{lock.parent}: this file system has no locks ({error.strerror}); "
                    "sweep into a local folder"
                ) from None
            raise
        os.close(held)


def _owner(held: int) -> str:
    """Who holds the lock; who has just taken it is about to write that over the last one's."""
    for _ in range(5):
        time.sleep(OWNER_SECONDS)
        owner = os.pread(held, OWNER_LENGTH_MAX, 0).decode(errors="replace").split("\n")[0]
        if owner:
            return owner
    return ""


def _is_there(held: int, lock: Path) -> bool:
    try:
        there = lock.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(held)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
