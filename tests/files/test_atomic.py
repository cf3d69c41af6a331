"""Files that are written whole or not at all."""

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


def test_what_goes_wrong_on_the_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def write() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
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


def test_a_folder_and_a_missing_folder_are_said_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--out X: is a folder"):
        check_writable(tmp_path, what="--out X")
    with pytest.raises(BadInput, match=r"nowhere/out: no such folder: .*nowhere"):
        check_writable(tmp_path / "nowhere/out")
