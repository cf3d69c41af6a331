"""A repository that was prepared to run code does not: every trap here is live for git itself.

Each row prepares a repository and names a command of git that springs the trap. The changelog is
then the one of the repository without it, and nothing in the repository is touched.
"""

import os
import pty
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sim.changelog.git import write_git_changelog
from sim.errors import BadInput
from tests.changelog.test_git import IDENTITY, commit, git

TRAP = '#!/bin/sh\necho "$0" >> "{canary}"\nexit 1\n'


class Prepared(NamedTuple):
    repo: Path
    trap: Path
    """A program that leaves the canary."""

    @property
    def own(self) -> Path:
        return self.repo / ".git"

    def configure(self, text: str) -> None:
        with (self.own / "config").open("a") as file:
            file.write(text.replace("TRAP", str(self.trap)))

    def attributes(self, text: str) -> None:
        (self.own / "info").mkdir(exist_ok=True)
        (self.own / "info/attributes").write_text(text)


@pytest.fixture(scope="session")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository without any trap, of two commits. Only to be copied."""
    repo = tmp_path_factory.mktemp("ordinary") / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commit(repo, author=100, committer=200, a="1", b="1")
    commit(repo, author=50, committer=300, a="2", b=None)
    return repo


@pytest.fixture(scope="session")
def expected(ordinary: Path) -> bytes:
    out = ordinary.with_name("expected.parquet")
    write_git_changelog(ordinary, out)
    return out.read_bytes()


@pytest.fixture
def prepared(ordinary: Path, tmp_path: Path) -> Prepared:
    repo = tmp_path / "repo"
    shutil.copytree(ordinary, repo)
    trap = tmp_path / "trap"
    trap.write_text(TRAP.format(canary=tmp_path / "canary"))
    trap.chmod(0o755)
    return Prepared(repo, trap)


def spring(prepared: Prepared, command: list[str], **variables: str) -> bool:
    """Whether the trap is live: git runs it, at a terminal. The canary is gone again."""
    ours, terminal = pty.openpty()
    subprocess.run(
        ["git", *command],
        cwd=prepared.repo,
        env={**os.environ, **IDENTITY, "TERM": "xterm", **variables},
        input=b"protocol=https\nhost=example.invalid\n\n",
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=20,
    )
    os.close(terminal)
    os.close(ours)
    canary = prepared.trap.with_name("canary")
    sprung = canary.exists()
    canary.unlink(missing_ok=True)
    return sprung


def files_of(repo: Path) -> dict[str, tuple[int, int]]:
    there = [path for path in repo.rglob("*") if not path.is_dir()]
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in there}


def config(text: str) -> Callable[[Prepared], None]:
    return lambda prepared: prepared.configure(text)


def attributes(pattern: str, text: str) -> Callable[[Prepared], None]:
    def prepare(prepared: Prepared) -> None:
        prepared.attributes(pattern)
        prepared.configure(text)

    return prepare


def attributes_file(prepared: Prepared) -> None:
    (prepared.own / "elsewhere").write_text("* diff=x\n")
    prepared.configure(
        f'[core]\nattributesFile = {prepared.own}/elsewhere\n[diff "x"]\ntextconv = TRAP\n'
    )


def attributes_of_the_tree(prepared: Prepared) -> None:
    (prepared.repo / ".gitattributes").write_text("* diff=x\n")
    prepared.configure('[diff "x"]\ntextconv = TRAP\n')


def hook(prepared: Prepared) -> None:
    shutil.copy(prepared.trap, prepared.own / "hooks/reference-transaction")


def hooks_path(prepared: Prepared) -> None:
    (prepared.own / "others").mkdir()
    shutil.copy(prepared.trap, prepared.own / "others/reference-transaction")
    prepared.configure(f"[core]\nhooksPath = {prepared.own}/others\n")


def included(condition: str) -> Callable[[Prepared], None]:
    def prepare(prepared: Prepared) -> None:
        (prepared.own / "more").write_text(f"[core]\nfsmonitor = {prepared.trap}\n")
        prepared.configure(f"[{condition}]\npath = more\n")

    return prepare


def alternates(prepared: Prepared) -> None:
    other = prepared.repo.with_name("other")
    shutil.copytree(prepared.repo, other)
    (prepared.own / "objects/info").mkdir(exist_ok=True)
    (prepared.own / "objects/info/alternates").write_text(f"{other}/.git/objects\n")
    prepared.configure("[core]\nalternateRefsCommand = TRAP\n")


def gitdir_elsewhere(prepared: Prepared) -> None:
    prepared.configure("[core]\nfsmonitor = TRAP\n")
    prepared.own.rename(prepared.repo.with_name("elsewhere"))
    (prepared.repo / ".git").write_text("gitdir: ../elsewhere\n")


def commondir_elsewhere(prepared: Prepared) -> None:
    """A worktree whose repository was not asked whether it has one."""
    prepared.configure("[core]\nfsmonitor = TRAP\n")
    common = prepared.repo.with_name("elsewhere")
    prepared.own.rename(common)
    prepared.own.mkdir()
    shutil.copy(common / "HEAD", prepared.own)
    (prepared.own / "commondir").write_text("../../elsewhere\n")


def worktree_elsewhere(prepared: Prepared) -> None:
    other = prepared.repo.with_name("tree")
    other.mkdir()
    (other / ".gitattributes").write_text("* filter=x\n")
    (other / "a").write_text("changed")
    prepared.configure(f'[core]\nworktree = {other}\n[filter "x"]\nclean = TRAP\n')


def bare(prepared: Prepared) -> None:
    """A folder that looks like the files of a project, and is a repository itself."""
    prepared.configure("[core]\nfsmonitor = TRAP\nbare = false\nworktree = .\n")
    for path in list(prepared.repo.iterdir()):
        if path.name != ".git":
            path.unlink()
    for path in list(prepared.own.iterdir()):
        path.rename(prepared.repo / path.name)
    prepared.own.rmdir()


STATUS = ["status"]
PATCH = ["log", "-p"]
UPDATE = ["update-ref", "refs/heads/x", "HEAD"]
FETCH = ["fetch", "origin"]

TRAPS: dict[str, tuple[Callable[[Prepared], None], list[str]]] = {
    "core.fsmonitor": (config("[core]\nfsmonitor = TRAP\n"), STATUS),
    "a hook": (hook, UPDATE),
    "core.hooksPath": (hooks_path, UPDATE),
    "core.pager": (config("[core]\npager = TRAP\n"), ["log"]),
    "pager.log": (config("[pager]\nlog = TRAP\n"), ["log"]),
    "core.editor": (config("[core]\neditor = TRAP\n"), ["commit", "--amend"]),
    "core.sshCommand": (config("[core]\nsshCommand = TRAP\n"), ["ls-remote", "ssh://h.invalid/x"]),
    "core.gitProxy": (config("[core]\ngitProxy = TRAP\n"), ["ls-remote", "git://h.invalid/x"]),
    "core.alternateRefsCommand": (alternates, ["rev-list", "--alternate-refs"]),
    "diff.external": (config("[diff]\nexternal = TRAP\n"), ["diff", "HEAD~"]),
    "textconv": (attributes("* diff=x\n", '[diff "x"]\ntextconv = TRAP\n'), PATCH),
    "diff driver": (attributes("* diff=x\n", '[diff "x"]\ncommand = TRAP\n'), ["diff", "HEAD~"]),
    "core.attributesFile": (attributes_file, PATCH),
    ".gitattributes": (attributes_of_the_tree, PATCH),
    "filter, clean": (
        attributes("* filter=x\n", '[filter "x"]\nclean = TRAP\n'),
        ["hash-object", "a"],
    ),
    "filter, smudge": (
        attributes("* filter=x\n", '[filter "x"]\nsmudge = TRAP\n'),
        ["archive", "--output=/dev/null", "HEAD"],
    ),
    "filter, process": (
        attributes("* filter=x\n", '[filter "x"]\nprocess = TRAP\n'),
        ["archive", "--output=/dev/null", "HEAD"],
    ),
    "include.path": (included("include"), STATUS),
    "includeIf": (included('includeIf "gitdir:/"'), STATUS),
    "remote.uploadpack": (config('[remote "origin"]\nurl = .\nuploadpack = TRAP\n'), FETCH),
    "a transport that is a program": (
        config('[remote "origin"]\nurl = ext::TRAP\n[protocol "ext"]\nallow = always\n'),
        FETCH,
    ),
    "credential.helper": (config("[credential]\nhelper = TRAP\n"), ["credential", "fill"]),
    "an alias": (config("[alias]\nstory = !TRAP\n"), ["story"]),
    "core.worktree": (worktree_elsewhere, ["add", "a"]),
    ".git is a file": (gitdir_elsewhere, STATUS),
    "commondir": (commondir_elsewhere, ["--git-dir=.git", "--work-tree=.", "status"]),
    "a bare repository among files": (bare, STATUS),
}


@pytest.mark.parametrize(("prepare", "command"), TRAPS.values(), ids=TRAPS)
def test_a_prepared_repository_runs_nothing(
    prepared: Prepared,
    expected: bytes,
    prepare: Callable[[Prepared], None],
    command: list[str],
) -> None:
    prepare(prepared)
    assert spring(prepared, command), "the trap is not live, so this shows nothing"
    before, out = files_of(prepared.repo), prepared.trap.with_name("out.parquet")

    write_git_changelog(prepared.repo, out)

    assert not prepared.trap.with_name("canary").exists()
    assert out.read_bytes() == expected
    assert files_of(prepared.repo) == before


SIGNATURES = {
    "gpg.program": ("PGP SIGNATURE", "[log]\nshowSignature = true\n[gpg]\nprogram = TRAP\n"),
    "gpg.ssh.program": (
        "SSH SIGNATURE",
        '[log]\nshowSignature = true\n[gpg "ssh"]\nprogram = TRAP\nallowedSignersFile = x\n',
    ),
}


@pytest.mark.parametrize(("kind", "settings"), SIGNATURES.values(), ids=SIGNATURES)
def test_signatures_are_not_looked_at(prepared: Prepared, kind: str, settings: str) -> None:
    lines = git(prepared.repo, "cat-file", "commit", "HEAD").split("\n")
    lines.insert(4, f"gpgsig -----BEGIN {kind}-----\n \n x\n -----END {kind}-----")
    (prepared.repo / "commit").write_text("\n".join(lines))
    signed = git(prepared.repo, "hash-object", "-t", "commit", "-w", "commit").strip()
    git(prepared.repo, "update-ref", "HEAD", signed)
    prepared.configure(settings)
    assert spring(prepared, ["log"])

    made = write_git_changelog(prepared.repo, prepared.trap.with_name("out.parquet"))

    assert not prepared.trap.with_name("canary").exists()
    assert made.commits == 2


FETCHES = {
    "by a program": 'url = ext::TRAP\npromisor = true\n[protocol "ext"]\nallow = always\n',
    "from a path": "url = .\nuploadpack = TRAP\npromisor = true\n",
    "with a filter": "url = .\nuploadpack = TRAP\npartialclonefilter = tree:0\npromisor = true\n",
    "over ssh": "url = ssh://h.invalid/x\npromisor = true\n[core]\nsshCommand = TRAP\n",
}


@pytest.mark.parametrize("remote", FETCHES.values(), ids=FETCHES)
def test_what_a_partial_clone_left_out_is_not_fetched(prepared: Prepared, remote: str) -> None:
    tree = git(prepared.repo, "rev-parse", "HEAD^{tree}").strip()
    (prepared.own / "objects" / tree[:2] / tree[2:]).unlink()
    (prepared.own / "objects/pack/pack-x.promisor").touch()
    prepared.configure(
        "[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = origin\n"
        f'[remote "origin"]\n{remote}'
    )
    assert spring(prepared, ["log", "--raw"])
    out = prepared.trap.with_name("out.parquet")

    with pytest.raises(BadInput, match=r"repo: git log failed: .*partial clone, and nothing is fe"):
        write_git_changelog(prepared.repo, out)

    assert not prepared.trap.with_name("canary").exists()
    assert not out.exists()


def test_variables_of_git_do_not_count(
    prepared: Prepared, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = prepared.repo.parent
    programs = (
        "EXTERNAL_DIFF",
        "SSH_COMMAND",
        "SSH",
        "PAGER",
        "EDITOR",
        "ASKPASS",
        "PROXY_COMMAND",
    )
    traces = ("TRACE", "TRACE2", "TRACE2_EVENT", "TRACE_SETUP", "TRACE_PACKET")
    folders = ("DIR", "WORK_TREE", "INDEX_FILE", "COMMON_DIR", "OBJECT_DIRECTORY", "TEMPLATE_DIR")
    others = ("EXEC_PATH", "SHALLOW_FILE", "GRAFT_FILE", "CONFIG", "CONFIG_GLOBAL", "ATTR_SOURCE")
    for name in programs:
        monkeypatch.setenv(f"GIT_{name}", str(prepared.trap))
    for name in traces:
        monkeypatch.setenv(f"GIT_{name}", str(around / "canary"))
    for name in (*folders, *others):
        monkeypatch.setenv(f"GIT_{name}", str(around / "nowhere"))
    monkeypatch.setenv(
        "GIT_CONFIG_PARAMETERS", f"'log.showroot=false' 'core.pager={prepared.trap}'"
    )
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "log.showRoot")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "false")

    write_git_changelog(prepared.repo, around / "out.parquet")

    assert (around / "out.parquet").read_bytes() == expected
    assert not (around / "canary").exists()


def test_the_users_own_settings_do_not_count(
    prepared: Prepared, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = prepared.repo.parent
    (home / ".gitconfig").write_text(
        f"[log]\nshowRoot = false\n[trace2]\neventTarget = {home}/canary\n"
    )
    monkeypatch.setenv("HOME", str(home))
    assert spring(prepared, ["log"], GIT_CONFIG_GLOBAL=str(home / ".gitconfig"))

    write_git_changelog(prepared.repo, home / "out.parquet")

    assert (home / "out.parquet").read_bytes() == expected
    assert not (home / "canary").exists()


def test_a_submodule_is_its_commit_and_nothing_more(prepared: Prepared) -> None:
    inner = prepared.repo / "inner"
    shutil.copytree(prepared.own, inner / ".git")
    with (inner / ".git/config").open("a") as file:
        file.write(f"[core]\nfsmonitor = {prepared.trap}\n")
    head = git(prepared.repo, "rev-parse", "HEAD").strip()
    git(prepared.repo, "update-index", "--add", "--cacheinfo", f"160000,{head},inner")
    (prepared.repo / ".gitmodules").write_text(
        f'[submodule "inner"]\npath = inner\nurl = ext::{prepared.trap}\n'
    )
    git(prepared.repo, "commit", "-q", "-m", "x")
    assert spring(prepared, ["-C", "inner", *STATUS])

    made = write_git_changelog(prepared.repo, prepared.trap.with_name("out.parquet"))

    assert made.changes == 5
    assert not prepared.trap.with_name("canary").exists()


@pytest.mark.parametrize("name", ["-x", "--exec=TRAP", "--upload-pack=TRAP", "a b;TRAP", "$(TRAP)"])
def test_names_are_no_options_and_no_commands(
    prepared: Prepared, expected: bytes, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Of the folder, and of the branch."""
    name = name.replace("TRAP", "trap")
    (prepared.own / "HEAD").write_text(f"ref: refs/heads/{name}\n")
    (prepared.own / "refs/heads/main").rename(prepared.own / "refs/heads" / name)
    monkeypatch.chdir(prepared.repo.parent)
    prepared.repo.rename(name)

    write_git_changelog(Path(name), Path("out.parquet"))

    assert Path("out.parquet").read_bytes() == expected
    assert not Path("canary").exists()
