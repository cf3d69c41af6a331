"""A changelog out of git says what happened to each path, and replays to the last tree."""

import os
import subprocess
from pathlib import Path

import pytest

from sim.changelog.git import write_git_changelog
from sim.changelog.reader import read_changes
from sim.errors import BadInput

IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "c",
    "GIT_COMMITTER_EMAIL": "c@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(repo: Path, *arguments: str, author: int = 0, committer: int = 0) -> str:
    dates = {"GIT_AUTHOR_DATE": f"@{author} +0000", "GIT_COMMITTER_DATE": f"@{committer} +0000"}
    done = subprocess.run(
        ["git", "-C", str(repo), *arguments],
        env={**os.environ, **IDENTITY, **dates},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def commit(repo: Path, *, author: int, committer: int, **files: str | None) -> None:
    for name, content in files.items():
        path = repo / name
        path.unlink() if content is None else path.write_text(content)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "x", author=author, committer=committer)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Three commits on the main line, and a merge of a branch with two."""
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commit(repo, author=100, committer=200, a="1", b="1")
    commit(repo, author=50, committer=300, a="2", b=None)
    git(repo, "checkout", "-q", "-b", "side")
    commit(repo, author=110, committer=310, c="1")
    commit(repo, author=120, committer=320, c="2")
    git(repo, "checkout", "-q", "main")
    commit(repo, author=130, committer=330, d="1")
    git(repo, "merge", "-q", "--no-ff", "-m", "m", "side", author=140, committer=340)
    return repo


def test_each_path_of_each_commit_is_a_change(repo: Path, tmp_path: Path) -> None:
    summary = write_git_changelog(repo, tmp_path / "t.parquet")
    changes = list(read_changes(tmp_path / "t.parquet"))

    found = [(c.key, c.value is None, c.timestamp_ms, c.append_time_ms) for c in changes]
    assert found == [
        ("a", False, 100_000, 200_000),
        ("b", False, 100_000, 200_000),
        ("a", False, 50_000, 300_000),
        ("b", True, 50_000, 300_000),
        ("d", False, 130_000, 330_000),
        ("c", False, 140_000, 340_000),
    ]
    assert (summary.commits, summary.changes, summary.deletions) == (4, 6, 1)


def test_replaying_the_changes_gives_the_tree_of_the_last_commit(
    repo: Path, tmp_path: Path
) -> None:
    write_git_changelog(repo, tmp_path / "t.parquet")

    state = {change.key: change.value for change in read_changes(tmp_path / "t.parquet")}
    tree = [line.split() for line in git(repo, "ls-tree", "-r", "HEAD").splitlines()]
    assert {key: value for key, value in state.items() if value is not None} == {
        path: blob for _mode, _type, blob, path in tree
    }


def test_configuration_and_surroundings_do_not_change_the_log(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_git_changelog(repo, tmp_path / "plain.parquet")
    for setting in ("log.showRoot=false", "diff.renames=true", "diff.relative=true"):
        git(repo, "config", *setting.split("="))
    git(repo, "config", "color.ui", "always")
    (repo / "sub").mkdir()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    write_git_changelog(repo / "sub", tmp_path / "other.parquet")

    assert (tmp_path / "other.parquet").read_bytes() == (tmp_path / "plain.parquet").read_bytes()


def test_names_that_are_no_plain_words_survive(repo: Path, tmp_path: Path) -> None:
    names = ["with space", 'quote"d', "new\nline", "ümlaut", ":colon", "commit 1 2"]
    commit(repo, author=1, committer=1, **dict.fromkeys(names, "x"))
    Path(os.fsdecode(os.fsencode(repo) + b"/b\xffd")).write_text("x")
    commit(repo, author=1, committer=1)

    write_git_changelog(repo, tmp_path / "t.parquet")

    keys = [change.key for change in read_changes(tmp_path / "t.parquet")][6:]
    assert sorted(keys) == sorted([*names, "b\\xffd"])


def test_a_limit_stops_after_so_many_changes(repo: Path, tmp_path: Path) -> None:
    assert write_git_changelog(repo, tmp_path / "t.parquet", limit=3).changes == 3
    assert len(list(read_changes(tmp_path / "t.parquet"))) == 3


def test_an_existing_file_is_replaced_by_a_complete_one_only(repo: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    out.write_text("old")
    with pytest.raises(BadInput):
        write_git_changelog(tmp_path, out)
    assert out.read_text() == "old"

    write_git_changelog(repo, out)

    assert len(list(read_changes(out))) == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["repo", "t.parquet"]


def test_a_history_that_breaks_off_leaves_nothing_behind(repo: Path, tmp_path: Path) -> None:
    first = git(repo, "rev-list", "--max-parents=0", "HEAD").strip()
    (repo / ".git" / "objects" / first[:2] / first[2:]).unlink()

    with pytest.raises(BadInput, match=r"repo: git log failed: fatal: "):
        write_git_changelog(repo, tmp_path / "t.parquet")

    assert [path.name for path in tmp_path.iterdir()] == ["repo"]


def test_what_is_no_repository_is_refused(repo: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    out = tmp_path / "t.parquet"

    with pytest.raises(BadInput, match="empty: is not a git repository"):
        write_git_changelog(empty, out)
    git(empty, "init", "-q")
    with pytest.raises(BadInput, match="empty: has no commits"):
        write_git_changelog(empty, out)
    git(empty, "commit", "-q", "--allow-empty", "-m", "x")
    with pytest.raises(BadInput, match="empty: its history changes no file"):
        write_git_changelog(empty, out)
    with pytest.raises(BadInput, match="nowhere: there is no such folder"):
        write_git_changelog(tmp_path / "nowhere", out)
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_refused(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.parquet").mkdir()

    with pytest.raises(BadInput, match=r"t.csv: the name of a trace ends with .parquet"):
        write_git_changelog(repo, tmp_path / "t.csv")
    with pytest.raises(BadInput, match=r"folder.parquet: is a folder"):
        write_git_changelog(repo, tmp_path / "folder.parquet")
    with pytest.raises(BadInput, match=r"t.parquet: there is no folder"):
        write_git_changelog(repo, tmp_path / "nowhere" / "t.parquet")
    with pytest.raises(BadInput, match=r"limit 0: at least 1 change"):
        write_git_changelog(repo, tmp_path / "t.parquet", limit=0)


def test_a_machine_without_git_is_told_so(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BadInput, match="git is not on the PATH"):
        write_git_changelog(repo, tmp_path / "t.parquet")
