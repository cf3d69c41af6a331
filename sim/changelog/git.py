"""A changelog out of a git repository: one change per path that a commit touches.

The key is the path, the value the id of its new content; a deleted path is a tombstone. Author
dates are not monotone, so such a log has what KIP-280 is about: records that arrive late.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from sim.errors import BadInput

_CHUNK_BYTES = 1 << 20
_ROWS_PER_GROUP = 50_000
_HEADER = b"commit "
_NO_CONTENT = b"D"
"""Status letter of a deletion (git-diff, RAW OUTPUT FORMAT)."""
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE")
"""Variables that would make git look at another repository, as inside a hook."""


@dataclass(frozen=True, slots=True)
class GitChangelog:
    """What was written: numbers of commits with changes, of changes, of deletions among them."""

    path: Path
    commits: int
    changes: int
    deletions: int


class _Row(NamedTuple):
    key: str
    value: str | None
    timestamp_ms: int
    append_time_ms: int


def write_git_changelog(repo: Path, out: Path, *, limit: int | None = None) -> GitChangelog:
    """Write the history of `repo`'s current branch to the Parquet file `out`, oldest change first.

    Columns: `key` (path), `value` (blob id, null = deleted), `timestamp_ms` (author date),
    `append_time_ms` (committer date). The history is that of first parents: a merge counts as one
    commit with all it brought, so that replaying the log gives the tree of the last commit. A path
    that is not UTF-8 has its other bytes written in hexadecimal. Memory does not grow with the
    history.

    An existing `out` is replaced when the new one is complete, and only then.

    Args:
        repo: A folder in a git repository, bare ones included.
        out: A `.parquet` file.
        limit: Stop after so many changes; None = all.

    Raises:
        BadInput: No git, no repository, no commits, or `out` cannot be written.
    """
    _check(repo, out, limit)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise BadInput("writing a trace needs pyarrow: install replog[trace]") from None
    schema = pa.schema(
        [
            pa.field("key", pa.string(), nullable=False),
            pa.field("value", pa.string()),
            pa.field("timestamp_ms", pa.int64(), nullable=False),
            pa.field("append_time_ms", pa.int64(), nullable=False),
        ]
    )
    commits = changes = deletions = 0
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with (
            _git_log(repo) as stream,
            pq.ParquetWriter(part, schema, compression="zstd") as writer,
        ):
            history = _Rows(stream)
            rows = islice(history, limit)
            while chunk := list(islice(rows, _ROWS_PER_GROUP)):
                columns = [list(column) for column in zip(*chunk, strict=True)]
                writer.write_table(pa.table(columns, schema=schema))
                changes += len(chunk)
                deletions += sum([row.value is None for row in chunk])
            commits = history.commits
        if not changes:
            raise BadInput(f"{repo}: its history changes no file")
        part.replace(out)
    except OSError as error:
        raise BadInput(f"{out}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    return GitChangelog(out, commits, changes, deletions)


def _check(repo: Path, out: Path, limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise BadInput(f"limit {limit}: at least 1 change")
    if out.suffix != ".parquet":
        raise BadInput(f"{out}: the name of a trace ends with .parquet")
    if out.is_dir() or not out.parent.is_dir():
        what = "is a folder" if out.is_dir() else f"there is no folder {out.parent}"
        raise BadInput(f"{out}: {what}")
    if not repo.is_dir():
        raise BadInput(f"{repo}: there is no such folder")
    found = _git(repo, "rev-parse", "--git-dir")
    if found.returncode:
        raise BadInput(f"{repo}: is not a git repository: {_last_line(found.stderr)}")
    if _git(repo, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").returncode:
        raise BadInput(f"{repo}: has no commits")


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    return {**kept, "LC_ALL": "C"}


def _git(repo: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(repo), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False, env=_environment())
    except FileNotFoundError:
        raise BadInput("git is not on the PATH; a changelog needs it") from None


@contextmanager
def _git_log(repo: Path) -> Iterator[IO[bytes]]:
    """The output of `git log` over first parents; git is stopped when the block ends early.

    The options override what a user's configuration could change about the output.
    """
    command = ["git", "-C", str(repo), "-c", "log.showRoot=true", "log"]
    command += ["--first-parent", "-m", "--reverse", "--raw", "-z", "--no-abbrev", "--no-renames"]
    command += ["--no-relative", "--no-ext-diff", "--no-color", "--no-show-signature"]
    command += ["--no-notes", "--ignore-submodules=none", "-O/dev/null", "--format=commit %at %ct"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        ended = False
        try:
            yield process.stdout
            ended = not process.stdout.read(1)
        finally:
            if not ended:
                process.kill()
        errors = process.stderr.read()
        if ended and process.wait():
            raise BadInput(f"{repo}: git log failed: {_last_line(errors)}")


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "backslashreplace").strip().splitlines()
    return lines[-1] if lines else "no reason given"


class _Rows(Iterator[_Row]):
    """Changes out of `git log --raw -z`.

    That is `commit <author> <committer>`, then `:<modes> <ids> <status>` and the path for each path
    that changed, all ended by NUL.

    Attributes:
        commits: Commits with changes so far.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.commits = 0
        self._rows = self._parse(_fields(stream))

    def __next__(self) -> _Row:
        return next(self._rows)

    def _parse(self, fields: Iterator[bytes]) -> Iterator[_Row]:
        author_ms = committer_ms = 0
        counted = True
        for field in fields:
            word = field.lstrip(b"\n")
            if word.startswith(_HEADER):
                author, committer = word.removeprefix(_HEADER).split(b" ")
                author_ms, committer_ms = _milliseconds(author), _milliseconds(committer)
                counted = False
            elif word.startswith(b":"):
                _modes, _mode, _old, new, status = word.split(b" ")
                path = next(fields).decode("utf-8", "backslashreplace")
                self.commits += not counted
                counted = True
                value = None if status == _NO_CONTENT else new.decode("ascii")
                yield _Row(path, value, author_ms, committer_ms)


def _milliseconds(seconds: bytes) -> int:
    """A date of git; a commit with a damaged one counts as from 1970."""
    return int(seconds) * 1000 if seconds else 0


def _fields(stream: IO[bytes]) -> Iterator[bytes]:
    """What stands between the NULs of a stream, read piece by piece."""
    rest = b""
    while chunk := stream.read(_CHUNK_BYTES):
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
    if rest:
        yield rest
