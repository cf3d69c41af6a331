"""Where a sweep's folder is: whole files by relative name, on this machine or elsewhere.

Everything that writes, checks or resumes a sweep goes through `Storage`, so that it works wherever
files can be listed, read and put in place whole.
"""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from sim.sweeps.inside import real_inside
from sim.sweeps.layout import STAGING
from sim.sweeps.lock import folder_lock


class Storage(Protocol):
    """The files of one folder. A name is relative to it, with `/` between its parts.

    What goes wrong is an OSError (FileNotFoundError for a name that is not there), with the
    file's name in `filename`.
    """

    @property
    def label(self) -> str:
        """What messages call the folder: its path or address."""

    def url(self, name: str) -> str:
        """What Spark calls a file."""

    def entries(self) -> list[str]:
        """Names of the files and folders right inside, in order; none where no folder is.

        Raises NotADirectoryError when it is a file.
        """

    def names(self, under: str) -> list[str]:
        """Names of all files below a folder inside, hidden ones too, in order; none without it."""

    def size(self, name: str) -> int:
        """Bytes of a file."""

    def read(self, name: str) -> bytes:
        """The content of a file."""

    def write(self, name: str, content: bytes) -> None:
        """Puts a file in place, whole or not at all; makes folders as needed."""

    def rename(self, old: str, new: str) -> None:
        """Moves a file to another name; makes folders as needed."""

    def remove(self, name: str) -> None:
        """Removes a file, or a folder with all in it; nothing happens when it is not there."""

    def lock(self, owner: str) -> AbstractContextManager[None]:
        """Holds the folder for one writer, and makes it if need be.

        The lock ends with the process that holds it, however that ends. Raises BadInput, naming
        the owner, when somebody else holds it.
        """


class LocalStorage:
    """A folder of this machine, or of a file system that is mounted here."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._drafts = f"{STAGING}/{uuid.uuid4().hex}"

    @property
    def label(self) -> str:
        """The path."""
        return str(self.root)

    def url(self, name: str) -> str:
        """See `Storage`."""
        return str(self.root.absolute() / name)

    def entries(self) -> list[str]:
        """See `Storage`."""
        try:
            return sorted(entry.name for entry in self.root.iterdir())
        except FileNotFoundError:
            return []

    def _at(self, name: str) -> Path:
        """The path of a name. Raises OSError when a link on the way leads out of the folder."""
        path = self.root / name
        return real_inside(self.root, path.parent) / path.name

    def names(self, under: str) -> list[str]:
        """See `Storage`; a link is a file here, whatever it leads to."""
        top = self.root / under
        if top.is_symlink():
            return [under]
        found = []
        for folder, folders, files in os.walk(top, onerror=_unless_missing):
            links = [name for name in folders if (Path(folder) / name).is_symlink()]
            found += [(Path(folder) / name) for name in (*files, *links)]
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def size(self, name: str) -> int:
        """See `Storage`."""
        return real_inside(self.root, self.root / name).stat().st_size

    def read(self, name: str) -> bytes:
        """See `Storage`; a pipe or a device in the place of a file is refused, not waited for."""
        path = real_inside(self.root, self.root / name)
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(0, "is no regular file", str(path))
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        """See `Storage`. It is on the disk before it is in place."""
        target = self._at(name)
        draft = self._at(self._drafts) / uuid.uuid4().hex
        draft.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            self._move(draft, target)
        except OSError as error:
            draft.unlink(missing_ok=True)
            if error.filename is None:  # a write knows its file by number only
                raise OSError(error.errno, error.strerror, str(self.root / name)) from None
            raise

    def rename(self, old: str, new: str) -> None:
        """See `Storage`."""
        self._move(self._at(old), self._at(new))

    def _move(self, old: Path, new: Path) -> None:
        new.parent.mkdir(parents=True, exist_ok=True)
        old.replace(new)

    def remove(self, name: str) -> None:
        """See `Storage`."""
        path = self._at(name)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def lock(self, owner: str) -> AbstractContextManager[None]:
        """See `Storage`."""
        return folder_lock(self.root, owner)


def _unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
