"""A changelog out of a git repository: one change per path that a commit touches.

The key is the path, the value the id of its new content; a deleted path is a tombstone. Author
dates are not monotone, so such a log has what KIP-280 is about: records that arrive late.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sim.changelog.git_process import git_output
from sim.changelog.repository import Repository, read_repository
from sim.errors import BadInput

CHANGES_MAX = 100_000_000
"""Most changes of one changelog: some commits of a few bytes can stand for any number of them."""
PATH_BYTES_MAX = 4_096
"""Longest path in a tree, in bytes: no file system takes a longer one (PATH_MAX of Linux)."""
_ROWS_PER_GROUP = 50_000
_HEADER = b"commit "
_MS_MAX = 2**63 - 1
_NO_CONTENT = b"D"
"""Status letter of a deletion (git-diff, RAW OUTPUT FORMAT)."""


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

    Nothing that the repository's configuration names is run, and nothing is fetched
    (`sim.changelog.git_process`). Replaced objects and grafts do not count: the log is that of the
    commits themselves.

    An existing `out` is replaced when the new one is complete, and only then.

    Args:
        repo: A folder in a git repository, bare ones included.
        out: A `.parquet` file.
        limit: Stop after so many changes; None = all.

    Raises:
        BadInput: No git, no repository, no commits, objects that are missing or damaged, more
            changes than `CHANGES_MAX` without a limit, or `out` cannot be written.
    """
    repository = _check(repo, out, limit)
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
            git_output(repository, str(repo), _log_of(repository.head)) as output,
            pq.ParquetWriter(part, schema, compression="zstd") as writer,
        ):
            history = _Rows(repo, output)
            rows = islice(history, limit)
            while chunk := list(islice(rows, _ROWS_PER_GROUP)):
                columns = [list(column) for column in zip(*chunk, strict=True)]
                writer.write_table(pa.table(columns, schema=schema))
                changes += len(chunk)
                deletions += sum([row.value is None for row in chunk])
                if limit is None and changes > CHANGES_MAX:
                    raise BadInput(
                        f"{repo}: more than {CHANGES_MAX:,} changes; --limit takes the first ones"
                    )
            commits = history.commits
        if not changes:
            raise BadInput(f"{repo}: its history changes no file")
        part.replace(out)
    except OSError as error:
        raise BadInput(f"{out}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    return GitChangelog(out, commits, changes, deletions)


def _check(repo: Path, out: Path, limit: int | None) -> Repository:
    if limit is not None and not 1 <= limit <= CHANGES_MAX:
        raise BadInput(f"limit {limit}: at least 1 change, at most {CHANGES_MAX:,}")
    if out.suffix != ".parquet":
        raise BadInput(f"{out}: the name of a trace ends with .parquet")
    if out.is_dir() or not out.parent.is_dir():
        what = "is a folder" if out.is_dir() else f"there is no folder {out.parent}"
        raise BadInput(f"{out}: {what}")
    if not repo.is_dir():
        raise BadInput(f"{repo}: there is no such folder")
    return read_repository(repo)


def _log_of(commit: str) -> list[str]:
    """Arguments of git for the history of a commit over first parents, oldest first."""
    return [
        *("log", "--first-parent", "-m", "--reverse", "--raw", "-z", "--no-abbrev"),
        *("--no-renames", "--no-ext-diff", "--no-textconv", "--no-notes"),
        *("--ignore-submodules=none", "--format=commit %at %ct", commit, "--"),
    ]


class _Rows(Iterator[_Row]):
    """Changes out of `git log --raw -z`.

    That is `commit <author> <committer>`, then `:<modes> <ids> <status>` and the path for each path
    that changed, all ended by NUL.

    Attributes:
        commits: Commits with changes so far.
    """

    def __init__(self, repo: Path, output: Iterable[bytes]) -> None:
        self.commits = 0
        self._rows = self._parse(_fields(repo, output))

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
    """A date of git; one that is damaged, or beyond 64 bits in ms, counts as from 1970."""
    if not seconds or len(seconds) > len(str(_MS_MAX)):
        return 0
    milliseconds = int(seconds) * 1000
    return milliseconds if milliseconds <= _MS_MAX else 0


def _fields(repo: Path, output: Iterable[bytes]) -> Iterator[bytes]:
    """What stands between the NULs of an output that comes piece by piece."""
    rest = b""
    for piece in output:
        *whole, rest = (rest + piece).split(b"\0")
        if max(map(len, (*whole, rest))) > PATH_BYTES_MAX:
            raise BadInput(
                f"{repo}: a path or date in its history is longer than {PATH_BYTES_MAX:,} bytes"
            )
        yield from whole
    if rest:
        yield rest
