"""Repositories of every shape are read, and damaged or hostile ones are one line."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.changelog import git as changelog
from sim.changelog import git_process
from sim.changelog.git import write_git_changelog
from sim.changelog.reader import read_changes
from sim.errors import BadInput
from tests.changelog.test_git import commit, git
from tests.changelog.test_git_traps import expected, ordinary

__all__ = ["expected", "ordinary"]


@pytest.fixture
def repo(ordinary: Path, tmp_path: Path) -> Path:
    """A copy of an ordinary repository of two commits."""
    shutil.copytree(ordinary, tmp_path / "repo")
    return tmp_path / "repo"


def head_of(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD").strip()


def packed_refs(repo: Path) -> Path:
    git(repo, "pack-refs", "--all")
    assert not (repo / ".git/refs/heads/main").exists()
    return repo


def packed_objects(repo: Path) -> Path:
    git(repo, "gc", "-q")
    return repo


def detached(repo: Path) -> Path:
    git(repo, "checkout", "-q", "--detach")
    return repo


def below(repo: Path) -> Path:
    (repo / "sub/below").mkdir(parents=True)
    return repo / "sub/below"


def bare(repo: Path) -> Path:
    git(repo.parent, "clone", "-q", "--bare", "repo", "bare.git")
    return repo.with_name("bare.git")


def worktree(repo: Path) -> Path:
    git(repo, "worktree", "add", "-q", "-b", "other", "../tree")
    git(repo, "checkout", "-q", "--orphan", "another")  # what the repository itself is at
    return repo.with_name("tree")


def shared(repo: Path) -> Path:
    git(repo.parent, "clone", "-q", "--shared", "repo", "shared")
    return repo.with_name("shared")


def chained(repo: Path) -> Path:
    git(repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/alias")
    return repo


def replaced(repo: Path) -> Path:
    """Git itself would tell a history of one commit."""
    git(repo, "replace", "--graft", "HEAD")
    assert git(repo, "rev-list", "--count", "HEAD") == "1\n"
    return repo


def grafted(repo: Path) -> Path:
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/grafts").write_text(f"{head_of(repo)}\n")
    assert git(repo, "rev-list", "--count", "HEAD") == "1\n"
    return repo


def with_mailmap(repo: Path) -> Path:
    (repo / ".mailmap").write_text("x <x@example.org> <a@example.org>\n")
    return repo


def of_somebody_else(repo: Path) -> Path:
    """Git refuses it without safe.directory; nothing of it is trusted here, so nothing needs it."""
    if os.geteuid() == 0:
        for path in (repo, repo / ".git"):
            os.chown(path, 12345, 12345)
    return repo


SHAPES = (
    *(packed_refs, packed_objects, detached, below, bare, worktree, shared, chained),
    *(replaced, grafted, with_mailmap, of_somebody_else),
)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_repository_of_any_shape_has_the_same_changelog(
    repo: Path, tmp_path: Path, expected: bytes, shape: Callable[[Path], Path]
) -> None:
    write_git_changelog(shape(repo), tmp_path / "out.parquet")

    assert (tmp_path / "out.parquet").read_bytes() == expected


def test_ids_may_be_made_with_sha256(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256", "repo")
    commit(repo, author=1, committer=2, a="1")

    write_git_changelog(repo, tmp_path / "out.parquet")

    (change,) = read_changes(tmp_path / "out.parquet")
    assert (change.key, len(change.value or "")) == ("a", 64)


def test_a_shallow_clone_begins_where_it_was_cut(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "clone")

    write_git_changelog(tmp_path / "clone", tmp_path / "out.parquet")

    (change,) = read_changes(tmp_path / "out.parquet")
    assert (change.key, change.timestamp_ms) == ("a", 50_000)


def test_a_clone_without_contents_needs_none(repo: Path, tmp_path: Path, expected: bytes) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    clone = ("clone", "-q", "--bare", "--filter=blob:none", f"file://{repo}", "clone")
    git(tmp_path, *clone)

    write_git_changelog(tmp_path / "clone", tmp_path / "out.parquet")

    assert (tmp_path / "out.parquet").read_bytes() == expected


def write(name: str, content: bytes | str) -> Callable[[Path], None]:
    raw = content.encode() if isinstance(content, str) else content

    def damage(repo: Path) -> None:
        path = repo / name
        if path.is_dir():
            shutil.rmtree(path)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)

    return damage


def pipe(name: str) -> Callable[[Path], None]:
    def damage(repo: Path) -> None:
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).unlink(missing_ok=True)
        os.mkfifo(repo / name)

    return damage


def refs_in_a_pipe(repo: Path) -> None:
    packed_refs(repo)
    pipe(".git/packed-refs")(repo)


def reftable(repo: Path) -> None:
    (repo / ".git/reftable").mkdir()
    (repo / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")


def corrupt_pack(repo: Path) -> None:
    git(repo, "gc", "-q")
    (pack,) = (repo / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:12] + bytes(200))


def corrupt_commit(repo: Path) -> None:
    head = head_of(repo)
    path = repo / ".git/objects" / head[:2] / head[2:]
    path.chmod(0o600)
    path.write_bytes(b"x\x9cnothing")


def without_parent(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD~").strip()
    (repo / ".git/objects" / first[:2] / first[2:]).unlink()


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a reftable": (reftable, "its refs are a reftable, which is not read; git refs migrate"),
    "HEAD is nothing": (write(".git/HEAD", "nothing\n"), "HEAD stands for no commit"),
    "HEAD is empty": (write(".git/HEAD", ""), "HEAD stands for no commit"),
    "HEAD is endless": (write(".git/HEAD", b"a" * 2_000_000), "larger than any such file"),
    "HEAD leaves the refs": (
        write(".git/HEAD", "ref: refs/../../../secret\n"),
        "refs/../../../secret stands for no commit",
    ),
    "HEAD leaves the repository": (
        write(".git/HEAD", "ref: /etc/passwd\n"),
        "/etc/passwd stands for no commit",
    ),
    "HEAD stands for itself": (
        write(".git/refs/heads/main", "ref: refs/heads/main\n"),
        "refs/heads/main stands for no commit",
    ),
    "a ref holds control characters": (
        write(".git/HEAD", b"ref: refs/he\x00ads\n"),
        "stands for no commit",
    ),
    "HEAD is a pipe": (pipe(".git/HEAD"), "HEAD: is not a regular file"),
    "the refs are a pipe": (refs_in_a_pipe, "packed-refs: is not a regular file"),
    "a pack is a pipe": (pipe(".git/objects/pack/pack-1.idx"), "1.idx: is not a regular file"),
    "alternates are a pipe": (pipe(".git/objects/info/alternates"), "is not a regular file"),
    "the branch is not there": (write(".git/HEAD", "ref: refs/heads/x\n"), "repo: has no commits"),
    "no such commit": (write(".git/HEAD", "1" * 40), "git log failed: fatal: bad object 1111"),
    "no such commit, sha256": (write(".git/HEAD", "1" * 64), "git log failed: fatal: "),
    "shallow is nothing": (write(".git/shallow", "x\n"), "shallow: a line is no id of a commit"),
    ".git leads nowhere": (write(".git", "gitdir: nowhere\n"), ".git leads to none"),
    ".git says nothing": (
        write(".git", "nothing\n"),
        ".git: does not say where its git repository",
    ),
    ".git is binary": (write(".git", b"gitdir: \0\n"), "does not say where its git repository"),
    "commondir leads nowhere": (write(".git/commondir", "nowhere\n"), "repo: has no commits"),
    "a pack is damaged": (corrupt_pack, "git log failed: fatal: "),
    "a commit is damaged": (corrupt_commit, "git log failed: fatal: "),
    "a parent is missing": (without_parent, "git log failed: fatal: "),
}


@pytest.mark.parametrize(("damage", "complaint"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_repository_is_one_line(
    repo: Path, tmp_path: Path, damage: Callable[[Path], None], complaint: str
) -> None:
    damage(repo)

    with pytest.raises(BadInput) as raised:
        write_git_changelog(repo, tmp_path / "out.parquet")

    (line,) = str(raised.value).splitlines()
    assert complaint in line
    assert line.isprintable()
    assert [path.name for path in tmp_path.iterdir()] == ["repo"]


def written(repo: Path, kind: str, content: bytes) -> str:
    """The id of an object with such a content, however wrong."""
    done = subprocess.run(
        ["git", "hash-object", "-t", kind, "-w", "--stdin", "--literally"],
        cwd=repo,
        input=content,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def tree_of(repo: Path, *entries: tuple[bytes, bytes, str]) -> str:
    return written(
        repo, "tree", b"".join(m + b" " + name + b"\0" + bytes.fromhex(i) for m, name, i in entries)
    )


def commit_of(repo: Path, tree: str, dates: tuple[str, str] = ("1 +0000", "1 +0000")) -> None:
    author, committer = dates
    text = f"tree {tree}\nauthor a <a> {author}\ncommitter c <c> {committer}\n\nx\n"
    head = written(repo, "commit", text.encode())
    (repo / ".git/HEAD").write_text(head + "\n")


DATES = {
    "ordinary": ("7 +0000", 7_000),
    "before 1970": ("-7 +0000", 0),
    "none": ("", 0),
    "no number": ("yesterday", 0),
    "beyond 64 bits": (f"{2**70} +0000", 0),
    "beyond 64 bits in ms": (f"{2**62} +0000", 0),
    "four thousand digits": (f"{'9' * 4_000} +0000", 0),
}


@pytest.mark.parametrize(("date", "timestamp_ms"), DATES.values(), ids=DATES)
def test_an_absurd_date_is_1970(repo: Path, tmp_path: Path, date: str, timestamp_ms: int) -> None:
    commit_of(repo, git(repo, "rev-parse", "HEAD^{tree}").strip(), (date, "3 +0000"))

    write_git_changelog(repo, tmp_path / "out.parquet")

    (change,) = read_changes(tmp_path / "out.parquet")
    assert (change.timestamp_ms, change.append_time_ms) == (timestamp_ms, 3_000)


def test_a_path_longer_than_any_file_has_is_refused(repo: Path, tmp_path: Path) -> None:
    blob = written(repo, "blob", b"x")
    commit_of(repo, tree_of(repo, (b"100644", b"x" * 5_000, blob)))

    with pytest.raises(
        BadInput, match="repo: a path or date in its history is longer than 4,096 b"
    ):
        write_git_changelog(repo, tmp_path / "out.parquet")


def test_a_history_of_more_changes_than_anybody_has_is_refused(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten trees of ten entries, each ten times the next: 10 ** 5 paths out of 50 lines."""
    entry, mode = written(repo, "blob", b"x"), b"100644"
    for _ in range(5):
        entry = tree_of(repo, *((mode, b"%d" % i, entry) for i in range(10)))
        mode = b"40000"
    commit_of(repo, entry)
    monkeypatch.setattr(changelog, "CHANGES_MAX", 10_000)

    with pytest.raises(BadInput, match=r"more than 10,000 changes; --limit takes the first ones"):
        write_git_changelog(repo, tmp_path / "out.parquet")
    assert write_git_changelog(repo, tmp_path / "o.parquet", limit=10_000).changes == 10_000


def test_git_that_never_answers_is_stopped(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object that is a pipe: git waits for somebody to write into it."""
    head = head_of(repo)
    pipe(f".git/objects/{head[:2]}/{head[2:]}")(repo)
    monkeypatch.setattr(git_process, "SILENCE_SECONDS", 0.2)

    with pytest.raises(BadInput, match=r"repo: git says nothing for 0\.2 s; it was stopped"):
        write_git_changelog(repo, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_memory_of_git_is_bounded(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_process, "MEMORY_BYTES", 10_000)

    with pytest.raises(BadInput, match=r"repo: git log failed: .*(memory|allocate|signal)"):
        write_git_changelog(repo, tmp_path / "out.parquet")


def test_any_number_of_complaints_makes_nobody_wait(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git that complains more than a pipe holds, then fails."""
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "git").write_text("#!/bin/sh\nyes complaint | head -c 1000000 >&2\nexit 5\n")
    (fake / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")

    with pytest.raises(BadInput, match=r"repo: git log failed: complaint"):
        write_git_changelog(repo, tmp_path / "out.parquet")
