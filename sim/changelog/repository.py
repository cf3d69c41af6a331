"""Where a git repository keeps its objects, and the commit its HEAD stands for.

Read from the few files that say so, without git: git would read the repository's configuration
first, and do what that asks for. See gitrepository-layout.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from sim.errors import BadInput

_ID = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
"""SHA-1 or SHA-256, in hexadecimal."""
_SMALL_FILE_BYTES = 1 << 20
_LINE_BYTES = 1 << 16
_LINES_MAX = 10_000_000
_SYMBOLIC_DEPTH_MAX = 5
"""As in git (`SYMREF_MAXDEPTH`)."""
_OF_A_WORKTREE = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""Refs that every worktree has for itself."""


class Repository(NamedTuple):
    """What is taken from a repository, and nothing else is.

    Attributes:
        objects: Its folder of objects, as an absolute path.
        head: The id of the commit that its HEAD stands for, 40 or 64 hexadecimal digits.
        shallow: Ids of commits whose parents were not cloned.
    """

    objects: Path
    head: str
    shallow: tuple[str, ...]

    @property
    def object_format(self) -> str:
        """The hash that ids are made with, as git calls it."""
        return "sha1" if len(self.head) == 40 else "sha256"

    @property
    def is_partial(self) -> bool:
        """Whether a clone left objects out that git would fetch when they are asked for."""
        return any((self.objects / "pack").glob("*.promisor"))


def read_repository(folder: Path) -> Repository:
    """The repository that a folder is, has as `.git`, or lies in; bare ones and worktrees, too.

    Raises:
        BadInput: There is none, it has no commits, or its refs are kept as a reftable.
    """
    try:
        own = _git_folder(folder)
        common = _common_folder(own)
        head = _commit(folder, own, common)
        objects = (common / "objects").resolve()
        _refuse_pipes(objects)
        return Repository(objects, head, tuple(_shallow(common)))
    except OSError as error:
        raise BadInput(
            f"{folder}: its git repository cannot be read: {error.strerror or error}"
        ) from None


def _refuse_pipes(objects: Path) -> None:
    """Git would wait at one for somebody to write; a loose object is not looked at beforehand."""
    for part in ("pack", "info"):
        for path in (objects / part).glob("*"):
            if not path.is_file() and not path.is_dir():
                raise BadInput(f"{path}: is not a regular file")


def _git_folder(folder: Path) -> Path:
    """HEAD lies in it. The search goes up from `folder`, as that of git does."""
    there = Path(os.path.realpath(folder))
    for place in (there, *there.parents):
        entry = place / ".git"
        if entry.is_file():
            found = place / _after(b"gitdir:", entry)
            if not _is_git_folder(found):
                raise BadInput(f"{folder}: is not a git repository: {entry} leads to none")
            return found
        for found in (entry, place):
            if _is_git_folder(found):
                return found
    raise BadInput(f"{folder}: is not a git repository, and lies in none")


def _is_git_folder(folder: Path) -> bool:
    common = folder / "commondir"
    parts = (folder / "objects", folder / "refs")
    return os.path.lexists(folder / "HEAD") and (
        common.is_file() or all(part.is_dir() for part in parts)
    )


def _common_folder(own: Path) -> Path:
    """What the worktrees of a repository have in common: its objects and refs."""
    file = own / "commondir"
    return own / _after(b"", file) if file.exists() else own


def _after(word: bytes, file: Path) -> Path:
    """The path that a file of one line holds, behind a word."""
    line = _small(file).rstrip(b"\r\n")
    path = line.removeprefix(word).strip(b" ")
    if not line.startswith(word) or not path or b"\0" in path or b"\n" in path:
        raise BadInput(f"{file}: does not say where its git repository is")
    return Path(os.fsdecode(path))


def _commit(folder: Path, own: Path, common: Path) -> str:
    """What HEAD stands for, through as many symbolic refs as there are."""
    content, name = _small(own / "HEAD").strip(), b"HEAD"
    for _ in range(_SYMBOLIC_DEPTH_MAX):
        if _ID.fullmatch(content):
            return content.decode("ascii")
        if not content.startswith(b"ref:"):
            break
        name = content.removeprefix(b"ref:").strip()
        if (common / "reftable").is_dir():
            raise BadInput(
                f"{folder}: its refs are a reftable, which is not read; "
                "git refs migrate --ref-format=files turns them into files"
            )
        if not _is_ref(name):
            break
        of_worktree = name.startswith(tuple(map(str.encode, _OF_A_WORKTREE)))
        file = (own if of_worktree else common) / os.fsdecode(name)
        if file.is_file():
            content = _small(file).strip()
        else:
            packed = _packed(common, name)
            if packed is None:
                raise BadInput(f"{folder}: has no commits")
            content = packed
    shown = name.decode("latin-1").encode("unicode_escape").decode("ascii")
    raise BadInput(f"{folder}: {shown} stands for no commit")


def _is_ref(name: bytes) -> bool:
    """Whether it stays below `refs/`: the name of a ref is the path of its file."""
    parts = name.split(b"/")
    return parts[0] == b"refs" and b"\0" not in name and not {b"", b".", b".."} & {*parts}


def _packed(common: Path, name: bytes) -> bytes | None:
    for line in _lines(common / "packed-refs"):
        value, _, ref = line.partition(b" ")
        if ref == name:
            return value
    return None


def _shallow(common: Path) -> Iterator[str]:
    for line in _lines(common / "shallow"):
        if not _ID.fullmatch(line):
            raise BadInput(f"{common / 'shallow'}: a line is no id of a commit")
        yield line.decode("ascii")


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that need not be there."""
    if not path.exists():
        return
    with _regular(path) as file:
        for _ in range(_LINES_MAX):
            line = file.readline(_LINE_BYTES)
            if not line:
                return
            yield line.rstrip(b"\n")
    raise BadInput(f"{path}: more than {_LINES_MAX:,} lines")


def _small(path: Path) -> bytes:
    with _regular(path) as file:
        content = file.read(_SMALL_FILE_BYTES + 1)
    if len(content) > _SMALL_FILE_BYTES:
        raise BadInput(f"{path}: larger than any such file of git")
    return content


def _regular(path: Path) -> BinaryIO:
    """Opens a file, and neither waits at a pipe nor reads a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadInput(f"{path}: is not a regular file")
    return os.fdopen(descriptor, "rb")
