"""Running git on the objects of a repository without doing anything that the repository asks for.

Git runs programs that a repository names: hooks, pagers, file system monitors, filters, drivers of
diffs, helpers that fetch a missing object. It learns of all of them from three places: the
configuration, the folder of the repository, and its own variables in the environment. Here each of
these is ours: an empty repository in a temporary folder, which has only the objects in common with
the one to be read. So there is no list of dangerous settings that would have to be complete.

What is left is what git does with objects. Its memory and the time without an answer are bounded.
"""

from __future__ import annotations

import os
import resource
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sim.changelog.repository import Repository
from sim.errors import BadInput

SILENCE_SECONDS = 120.0
"""How long git may take to say something: it walks all first parents before its first word, which
takes seconds for a hundred thousand commits."""
MEMORY_BYTES = 2 << 30
"""What git may allocate; its largest known need is a tree with a million paths, some 0.3 GB."""
_CHUNK_BYTES = 1 << 20
_COMPLAINT_BYTES = 4_096
"""So much of what git complains of is kept, from its end."""


@contextmanager
def git_output(
    repository: Repository, label: str, arguments: Sequence[str]
) -> Iterator[Iterator[bytes]]:
    """The output of `git ARGUMENTS`, piece by piece; git is stopped when the block ends early.

    Args:
        repository: Whose objects git sees. It sees no refs: arguments name commits by their ids.
        label: What messages call the repository.
        arguments: The command and its arguments.

    Raises:
        BadInput: There is no git; it fails, when all was read; it says nothing for too long.
    """
    with tempfile.TemporaryDirectory(prefix="replog-git-") as name:
        folder = Path(name)
        _write_empty_repository(folder, repository)
        command = ["git", "--no-pager", "--no-replace-objects", *arguments]
        try:
            process = subprocess.Popen(
                command,
                bufsize=0,
                cwd=folder,
                env=_environment(folder, repository),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except FileNotFoundError:
            raise BadInput("git is not on the PATH; a changelog needs it") from None
        with process:
            _bound_memory(process.pid)
            try:
                yield _pieces(process, label, repository)
            finally:
                process.kill()  # nothing, where it has ended


def _write_empty_repository(folder: Path, repository: Repository) -> None:
    """One without refs, hooks, attributes or worktree, whose settings are these."""
    settings = (
        "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
        # A commit graph says what commits say, and faster; what counts is the commits.
        "\tcommitGraph = false\n"
        f"[extensions]\n\tobjectFormat = {repository.object_format}\n"
    )
    for part in ("objects", "refs"):
        (folder / part).mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    (folder / "config").write_text(settings, encoding="ascii")
    if repository.shallow:
        lines = "".join(f"{commit}\n" for commit in repository.shallow)
        (folder / "shallow").write_text(lines, encoding="ascii")


def _environment(folder: Path, repository: Repository) -> dict[str, str]:
    """The user's, but for what git reads in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_DIR": str(folder),
        "GIT_OBJECT_DIRECTORY": str(repository.objects),
        # Neither the machine's settings nor the user's: what the log holds depends on none. Git
        # before 2.32 knows GIT_CONFIG_GLOBAL not, but looks in these two folders.
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        # No remote is known, so nothing can be fetched; these say it once more.
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ALLOC_LIMIT": str(MEMORY_BYTES),
    }


def _bound_memory(process: int) -> None:
    """What git allocates; packs that it maps do not count."""
    with suppress(AttributeError, ProcessLookupError):  # there is no prlimit but on Linux
        resource.prlimit(process, resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))


def _pieces(
    process: subprocess.Popen[bytes], label: str, repository: Repository
) -> Iterator[bytes]:
    """What it prints; raises when it ends badly. What it complains of never makes it wait."""
    assert process.stdout is not None
    assert process.stderr is not None
    output, complaints = process.stdout.fileno(), process.stderr.fileno()
    complaint = b""
    open_ones = [output, complaints]
    last_word = time.monotonic()
    while open_ones:
        patience = last_word + SILENCE_SECONDS - time.monotonic()
        ready = select.select(open_ones, [], [], max(0.0, patience))[0]
        if not ready:
            raise BadInput(f"{label}: git says nothing for {SILENCE_SECONDS:g} s; it was stopped")
        for one in ready:
            piece = os.read(one, _CHUNK_BYTES)
            if not piece:
                open_ones.remove(one)
            elif one == complaints:
                complaint = (complaint + piece)[-_COMPLAINT_BYTES:]
            else:
                yield piece
                last_word = time.monotonic()
    if process.wait():
        partial = "; it is a partial clone, and nothing is fetched" if repository.is_partial else ""
        raise BadInput(f"{label}: git log failed: {_reason(process, complaint)}{partial}")


def _reason(process: subprocess.Popen[bytes], complaint: bytes) -> str:
    lines = complaint.decode("utf-8", "backslashreplace").strip().splitlines()
    if lines:
        return lines[-1]
    return f"ended by signal {-process.returncode}" if process.returncode < 0 else "no reason given"
