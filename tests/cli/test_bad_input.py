"""Bad input is one clear line on stderr and exit status 2, and nothing is half-written."""

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from tests.commands import replog

TIMED = "format: replog-scenario/1\nduration_ms: 500\n"
WRITING = pytest.mark.parametrize(
    ("option", "arguments"),
    [("--trace", ["run", "x.yaml"]), ("--junit", ["suite", "x.yaml"])],
)


@WRITING
def test_a_folder_that_may_not_be_written(
    here: Path, monkeypatch: pytest.MonkeyPatch, option: str, arguments: list[str]
) -> None:
    (here / "x.yaml").write_text(TIMED)
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)

    answer = replog(*arguments, option, "o.out")

    assert answer.status == 2
    assert answer.complaint == f"{option} o.out: may not be written by this user"


@WRITING
def test_a_full_disk_leaves_what_was_there(
    here: Path, monkeypatch: pytest.MonkeyPatch, option: str, arguments: list[str]
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (here / "x.yaml").write_text(TIMED)
    (here / "o.out").write_text("of yesterday")
    monkeypatch.setattr(Path, "replace", full)

    answer = replog(*arguments, option, "o.out")

    assert answer.status == 2
    assert answer.err == "replog: o.out: cannot be written: No space left on device\n"
    assert sorted(path.name for path in here.iterdir()) == ["o.out", "x.yaml"]
    assert (here / "o.out").read_text() == "of yesterday"
