"""Git repositories made of bytes, without git: objects that it would not make itself."""

import hashlib
import zlib
from collections.abc import Mapping

from hypothesis import strategies as st

from tests.fuzz.case import Content, Special
from tests.fuzz.damage import damaged

PATHS = (b"a", b"b.txt", b"..", b".git", b".", b"", b"a/b", b"new\nline", b"\x1b[31m", b"\xff\xfe",
         b"tab\there", b'"quoted"', b"x" * 5_000, b"-o", b" ", b"\xf0\x9f\x92\xa5")  # fmt: skip
MODES = (b"100644", b"100755", b"120000", b"160000", b"40000", b"0", b"999999", b"")
TIMES = (b"0 +0000", b"1700000000 +0100", b"-1 +0000", b"9223372036854775807 +0000", b"1e9 +0000",
         b"99999999999999999999 +9999", b"", b"1700000000", b"253402300800 -2400")  # fmt: skip
CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = {bare}
"""
PWN = "touch PWNED"
HOSTILE = (
    f"[core]\n\tfsmonitor = {PWN}\n\tsshCommand = {PWN}\n\tpager = {PWN}\n\thooksPath = .\n",
    f"[diff]\n\texternal = {PWN}\n[diff \"x\"]\n\ttextconv = {PWN}\n\tcommand = {PWN}\n",
    f"[filter \"x\"]\n\tclean = {PWN}\n\tsmudge = {PWN}\n\tprocess = {PWN}\n\trequired = true\n",
    (f"[remote \"origin\"]\n\turl = ext::sh -c '{PWN}'\n\tpromisor = true\n"
     "\tpartialclonefilter = blob:none\n[extensions]\n\tpartialClone = origin\n"
     "[protocol]\n\tallow = always\n"),
    f"[alias]\n\tlog = !{PWN}\n\trev-list = !{PWN}\n\tcat-file = !{PWN}\n",
    "[include]\n\tpath = /dev/zero\n",
    "[include]\n\tpath = config\n",
    "[core]\n\trepositoryformatversion = 99\n",
    "[extensions]\n\tobjectFormat = sha512\n",
    "[core\n",
    "\0\x1b[2J",
    (f"[i18n]\n\tlogOutputEncoding = UTF-16\n[log]\n\tshowSignature = true\n"
     f"[gpg]\n\tprogram = {PWN}\n"),
    f"[uploadpack]\n\tpackObjectsHook = {PWN}\n[credential]\n\thelper = !{PWN}\n",
    "[core]\n\tbigFileThreshold = 0\n\tpackedGitLimit = 99999999999999999999\n",
    "[core]\n\tworktree = /\n",
)  # fmt: skip


class Objects:
    """Loose objects, by their path in the repository."""

    def __init__(self) -> None:
        self.files: dict[str, Content] = {}

    def add(self, kind: str, content: bytes) -> str:
        """Write an object; its name."""
        whole = f"{kind} {len(content)}\0".encode() + content
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        self.files[f"objects/{name[:2]}/{name[2:]}"] = zlib.compress(whole)
        return name


@st.composite
def repositories(draw: st.DrawFn) -> Mapping[str, Content]:
    """The files of a repository, below the folder `repo`."""
    objects = Objects()
    blobs = [objects.add("blob", one) for one in (b"", b"one\n", b"\0\xff", b"x" * 100)]
    heads: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        entries = b""
        for _ in range(draw(st.integers(0, 3))):
            mode = draw(st.sampled_from((*MODES[:1] * 4, *MODES)))
            path = draw(st.sampled_from((*PATHS[:2] * 3, *PATHS)))
            entries += mode + b" " + path + b"\0" + bytes.fromhex(draw(st.sampled_from(blobs)))
        tree = objects.add("tree", entries)
        parents = draw(st.sampled_from((heads[-1:], heads, heads[-1:] * 2, ["0" * 40])))
        lines = [b"tree " + tree.encode(), *(b"parent " + one.encode() for one in parents)]
        for who in (b"author", b"committer"):
            name = draw(st.sampled_from((b"A <a@b>", b"A <a@b>", b"\x1b[2J <>", b"\xff", b"")))
            time = draw(st.sampled_from((*TIMES[:2] * 4, *TIMES)))
            lines.append(who + b" " + name + b" " + time)
        heads.append(objects.add("commit", b"\n".join((*lines, b"", b"message\n"))))
    files: dict[str, Content] = dict(objects.files)
    files |= {
        "HEAD": b"ref: refs/heads/main\n",
        "refs/heads/main": heads[-1].encode() + b"\n",
        "config": CONFIG.format(bare="false").encode(),
    }
    if draw(st.booleans()):
        _spoil(draw, files)
    bare = draw(st.booleans())
    below = "repo" if bare else "repo/.git"
    return {f"{below}/{name}": content for name, content in files.items()}


def _spoil(draw: st.DrawFn, files: dict[str, Content]) -> None:
    how = draw(st.sampled_from(("config", "config", "damage", "gone", "extra", "kind")))
    name = draw(st.sampled_from(sorted(files)))
    old = files[name]
    assert isinstance(old, bytes)
    if how == "config":
        files["config"] = (CONFIG.format(bare="false") + draw(st.sampled_from(HOSTILE))).encode()
        files["hooks/post-checkout"] = f"#!/bin/sh\n{PWN}\n".encode()
    elif how == "damage":
        files[name] = draw(damaged(old))
    elif how == "gone":
        del files[name]
    elif how == "kind":
        files[name] = draw(
            st.sampled_from((Special("folder"), Special("fifo"), Special("link", "/dev/zero")))
        )
    else:
        extra, content = draw(st.sampled_from(EXTRA))
        files[extra] = content


EXTRA: tuple[tuple[str, bytes], ...] = (
    ("shallow", b"0" * 40 + b"\n"),
    ("packed-refs", b"\xff" * 100),
    ("objects/info/alternates", b"/nonexistent\n../objects\n"),
    ("info/attributes", b"* diff=x filter=x\n"),
    ("info/grafts", b"0" * 81 + b"\n"),
    ("commondir", b".\n"),
    ("commondir", b"/\n"),
    ("index", b"DIRC\0\0\0\x02\xff\xff\xff\xff"),
    ("refs/replace/" + "0" * 40, b"0" * 40 + b"\n"),
    ("objects/pack/pack-" + "0" * 40 + ".idx", b"\xfftOc\0\0\0\x02" + b"\xff" * 1_100),
    ("config.worktree", f"[core]\n\tfsmonitor = {PWN}\n".encode()),
)
