"""The folder of a sweep, as files by name: on this machine, or where Spark writes to.

One writer at a time: a folder of this machine is held by a lock of the kernel's (`flock`), on a
file that says who holds it. A process that is killed leaves the file and not the lock.
"""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from sim.errors import BadInput
from sim.files.extras import check_extra
from sim.files.opening import read_bytes

DOCUMENT_BYTES_MAX = 1 << 30
LOCK_FILE = ".lock"
ONE_CORE = "local[1]"
"""The master of a session that only reads and writes files."""


class Folder(Protocol):
    """The files of one folder. A name is relative to it, with `/` between its parts.

    What goes wrong is an OSError (FileNotFoundError for a name that is not there), BadInput, or an
    error of Spark's.
    """

    label: str
    """What messages call the folder: its path or address."""

    def url(self, name: str) -> str:
        """What Spark calls a file or folder inside."""

    def entries(self) -> list[str]:
        """Names of the files and folders right inside, in order; none where no folder is.

        Raises NotADirectoryError when it is a file.
        """

    def read(self, name: str) -> bytes:
        """The content of a file."""

    def write(self, name: str, content: bytes) -> None:
        """Puts a file in place; makes folders as needed."""

    def remove(self, name: str) -> None:
        """Removes a file; nothing happens when it is not there."""

    def lock(self, owner: str) -> AbstractContextManager[None]:
        """Holds a folder of this machine for one writer, and makes it if need be.

        Raises BadInput, naming the owner, when somebody else holds it.
        """


class LocalFolder:
    """A folder of this machine, or of a file system that is mounted here."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.label = str(root)

    def url(self, name: str) -> str:
        """See `Folder`."""
        return (self.root.absolute() / name).as_uri()

    def entries(self) -> list[str]:
        """See `Folder`."""
        try:
            return sorted(entry.name for entry in self.root.iterdir())
        except FileNotFoundError:
            return []

    def names(self, under: str) -> list[str]:
        """Names of all that is in a folder inside, in order; none without it."""
        top = self.root / under
        found = sorted(top.iterdir()) if top.is_dir() else []
        return [f"{under}/{path.name}" for path in found]

    def read(self, name: str) -> bytes:
        """See `Folder`."""
        path = self.root / name
        path.stat()  # which says that it is not there
        return read_bytes(path, limit=DOCUMENT_BYTES_MAX)

    def write(self, name: str, content: bytes) -> None:
        """See `Folder`: whole or not at all, and on the disk before it is in place."""
        with putting(self.root / name) as file:
            file.write(content)

    def set_aside(self, name: str, aside: str) -> None:
        """Moves a file into another folder inside."""
        target = self.root / aside / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).replace(target)

    def remove(self, name: str) -> None:
        """See `Folder`."""
        path = self.root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    @contextmanager
    def lock(self, owner: str) -> Iterator[None]:
        """See `Folder`. The lock ends with the process that holds it, however that ends."""
        self.root.mkdir(parents=True, exist_ok=True)
        path = self.root / LOCK_FILE
        with path.open("a+", errors="backslashreplace") as file:
            self._take(file.fileno(), path)
            try:
                file.truncate(0)
                file.write(owner)
                file.flush()
                yield
            finally:
                with suppress(OSError):  # of a folder where nothing was written, nothing stays
                    path.unlink()
                    self.root.rmdir()

    def _take(self, number: int, path: Path) -> None:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = os.fstat(number).st_nlink > 0  # else its last holder has just removed it
        except BlockingIOError:
            held = False
        except OSError as error:
            raise BadInput(
                f"{self.root}: this file system has no locks ({error.strerror}); "
                "sweep into a local folder"
            ) from None
        if not held:
            with suppress(OSError):
                owner = path.read_text(encoding="utf-8", errors="replace").split("\n")[0][:500]
                raise BadInput(
                    f"{self.root}: another sweep is writing here ({owner or 'it just began'}); "
                    "wait for its end, or name another folder"
                )
            raise BadInput(f"{self.root}: another sweep has just ended here; try again")


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


def this_process() -> str:
    """Who this is, for whoever finds the folder locked: process, machine, start, command."""
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    command = shlex.join(sys.argv) if sys.argv[0] else "Python"
    return f"process {os.getpid()} on {socket.gethostname()}, since {since}: {command}"


def place(text: str) -> Path | str:
    """A folder of this machine as a path, one elsewhere (`hdfs://host/sweeps/one`) as its address.

    Raises BadInput for an empty text.
    """
    if not text:
        raise BadInput("'' is no folder; give a path, or an address such as hdfs://host/folder")
    return text if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) else Path(text)


def require_here(out: Path | str, *, what: str) -> Path:
    """A folder of this machine. Raises BadInput for an address, which `what` cannot read."""
    if isinstance(out, str):
        raise BadInput(
            f"{out}: {what} reads a folder of this machine; copy it here, as with "
            f"hdfs dfs -get {out} DIR"
        )
    return out


def spark_settings(given: Sequence[str] | None, *, engine: str = "spark") -> dict[str, str]:
    """Spark's settings out of NAME=VALUE each. Raises BadInput for others, and for no Spark."""
    settings = {}
    for word in given or ():
        name, equals, value = word.partition("=")
        if not (equals and name.startswith("spark.")):
            raise BadInput(f"--conf {word}: give NAME=VALUE, with a name of Spark's: spark.…")
        settings[name] = value
    if settings and engine != "spark":
        raise BadInput(f"--conf {next(iter(settings))}: only Spark has settings: --engine spark")
    return settings


@contextmanager
def folder_at(
    out: Path | str, *, master: str | None = ONE_CORE, settings: Mapping[str, str] | None = None
) -> Iterator[Folder]:
    """The files of a folder, wherever it is; for an address in a session of Spark's.

    `master` and `settings` are for `spark_session`. Raises BadInput as that does, and for an
    address that Spark cannot reach.
    """
    if isinstance(out, Path):
        yield LocalFolder(out)
        return
    check_extra("sweeps on Spark need", "sweep", "pyspark")
    from sim.study.sweep.engines.hadoop import HadoopFolder
    from sim.study.sweep.engines.session import spark_session

    with spark_session(master=master, settings=settings) as session:
        yield HadoopFolder(session.sparkContext, out)
