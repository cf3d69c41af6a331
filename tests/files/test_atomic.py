"""Files that are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.files.atomic import check_writable, replacing


def test_a_file_takes_its_place_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    with replacing(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"

    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("wrong", "raised", "said"),
    [
        (ZeroDivisionError("by zero"), ZeroDivisionError, "^by zero$"),
        (
            OSError(errno.ENOSPC, "No space left"),
            BadInput,
            "out: cannot be written: No space left$",
        ),
    ],
)
def test_what_goes_wrong_on_the_way_leaves_the_old_file(
    tmp_path: Path, wrong: Exception, raised: type[Exception], said: str
) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def write() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise wrong

    with pytest.raises(raised, match=said):
        write()

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDWR)

    with replacing(path) as file:
        file.write(b"new")

    assert os.read(reader, 3) == b"new"
    assert path.is_fifo()
    os.close(reader)


def test_where_nobody_can_write_is_said_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match=r"--out X: is a folder"):
        check_writable(tmp_path, what="--out X")
    with pytest.raises(BadInput, match=r"nowhere/out: no such folder: .*nowhere"):
        check_writable(tmp_path / "nowhere/out")
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    with pytest.raises(BadInput, match=r"--out X: may not be written by this user"):
        check_writable(tmp_path / "out", what="--out X")
