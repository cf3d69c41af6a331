"""The folder of a sweep, as files by name: on this machine, or elsewhere (`engines.hadoop`)."""

from __future__ import annotations

import os
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from sim.sweeps.inside import MIB, read_bytes
from sim.sweeps.lock import folder_lock

DOCUMENT_BYTES_MAX = 1024 * MIB


class Folder(Protocol):
    """The files of one folder. A name is relative to it, with `/` between its parts.

    What goes wrong is an OSError (FileNotFoundError for a name that is not there) or BadInput.
    """

    @property
    def label(self) -> str:
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
        """Puts a file in place, whole or not at all; makes folders as needed."""

    def remove(self, name: str) -> None:
        """Removes a file, or a folder with all in it; nothing happens when it is not there."""

    def lock(self, owner: str) -> AbstractContextManager[None]:
        """Holds a folder of this machine for one writer, and makes it if need be.

        Raises BadInput, naming the owner, when somebody else holds it.
        """


class LocalFolder:
    """A folder of this machine, or of a file system that is mounted here."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def label(self) -> str:
        """The path."""
        return str(self.root)

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
        if not os.path.lexists(self.root / name):
            raise FileNotFoundError(2, "is not there", str(self.root / name))
        return read_bytes(self.root, self.root / name, at_most=DOCUMENT_BYTES_MAX)

    def write(self, name: str, content: bytes) -> None:
        """See `Folder`. It is on the disk before it is in place."""
        write_file(self.root / name, content)

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

    def lock(self, owner: str) -> AbstractContextManager[None]:
        """See `Folder`. The lock ends with the process that holds it, however that ends."""
        return folder_lock(self.root, owner)


def write_file(path: Path, content: bytes) -> None:
    """Writes a draft beside a file, and renames it into its place once it is on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        # A write knows its file by number only.
        raise OSError(error.errno, error.strerror, str(path)) from None
