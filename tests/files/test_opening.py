"""Only regular files are read, and pipes once; nothing is waited for, or read, without an end."""

import os
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.files.foreign import one_line
from sim.files.limits import DOCUMENT_BYTES
from sim.files.reading import head_of, read_bytes, read_text
from tests.commands import ROOT


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    return path


@pytest.fixture
def piped() -> Iterator[tuple[Path, int]]:
    """A pipe as `<(...)` makes it, and the end that is written to."""
    there, here = os.pipe()
    yield Path(f"/dev/fd/{there}"), here
    os.close(there)


def complaint(path: Path, limit: int = 100) -> str:
    with pytest.raises(BadInput) as refused:
        read_bytes(path, limit=limit)
    text = str(refused.value)
    named = f"{one_line(str(path))}: "
    assert text.startswith(named)
    return text.removeprefix(named)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        said = {
            name: complaint(Path(tmp_path, name))
            for name in ("nowhere", "lost", "loop", ".", "socket", "a\0b", "x" * 300)
        }

    assert said == {
        "nowhere": "cannot be read: No such file or directory",
        "lost": "cannot be read: No such file or directory",
        "loop": "cannot be read: Too many levels of symbolic links",
        ".": "cannot be read: Is a directory",
        "socket": "is a socket; allowed: a regular file, or a pipe",
        "a\0b": "cannot be read: embedded null byte",
        "x" * 300: "cannot be read: File name too long",
    }


@pytest.mark.parametrize("name", ["zero", "random", "null", "tty"])
def test_no_device_is_read(name: str) -> None:
    assert complaint(Path("/dev", name)) == "is a device; allowed: a regular file, or a pipe"


def test_a_name_of_the_standard_input_is_told() -> None:
    assert complaint(Path("-")).endswith("directory; what comes through a pipe is /dev/stdin")


def test_a_file_may_be_as_large_as_the_limit_and_no_larger(tmp_path: Path) -> None:
    (tmp_path / "full").write_bytes(bytes(100))
    (tmp_path / "over").write_bytes(bytes(101))

    assert read_bytes(tmp_path / "full", limit=100) == bytes(100)
    assert complaint(tmp_path / "over") == "has more than 100 bytes, the most that is read"
    over = tmp_path / "over"
    os.truncate(over, DOCUMENT_BYTES.most + 1)  # a hole: it takes no room
    assert complaint(over, DOCUMENT_BYTES.most).startswith("has more than 128 MiB")


def test_a_file_that_has_more_than_it_says_is_read_no_further() -> None:
    """As one that grows while it is read; those of /proc say that they are empty."""
    assert Path("/proc/self/status").stat().st_size == 0
    assert read_bytes(Path("/proc/self/status"), limit=100_000).startswith(b"Name:")
    assert complaint(Path("/proc/self/status")).startswith("has more than 100 bytes")


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(fifo: Path) -> None:
    assert complaint(fifo) == "is a pipe without a writer"


def test_what_comes_through_a_pipe_is_read_to_its_end(piped: tuple[Path, int]) -> None:
    path, end = piped
    writer = threading.Thread(target=_write_slowly, args=(end, [b"a" * 70_000, b"b" * 70_000]))
    writer.start()

    assert read_text(path, limit=140_000) == "a" * 70_000 + "b" * 70_000
    writer.join()


def _write_slowly(end: int, parts: list[bytes]) -> None:
    with os.fdopen(end, "wb") as file:
        for part in parts:
            file.write(part)


def test_a_pipe_without_an_end_is_read_up_to_the_limit(piped: tuple[Path, int]) -> None:
    path, end = piped
    os.write(end, bytes(1_000))
    os.close(end)

    assert complaint(path, 999) == "has more than 999 bytes, the most that is read"


def test_what_is_read_piece_by_piece_is_no_pipe(fifo: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is a pipe, and is read more than once here; save what"):
        head_of(fifo, 4)
    (tmp_path / "x").write_text("a: 1")

    assert head_of(tmp_path / "x", 2) == b"a:"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: 1\nb: \xff\n", ":2: is not UTF-8 text (byte 8)"),
        ("a: 1".encode("utf-16"), ": is UTF-16 text; allowed: UTF-8"),
        (b"\xed\xa0\x80", ":1: is not UTF-8 text (byte 0)"),
    ],
)
def test_text_is_utf_8(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)

    with pytest.raises(BadInput) as refused:
        read_text(path)

    assert str(refused.value) == f"{path}{said}"


SIM = ROOT / "sim"
OTHERS = ("study/sweep/",)
"""What users do not call, and what has rules of its own: folders of sweeps."""
OPENED_ELSEWHERE = {
    "cli/new.py": "a template of our own",
    "diagnose/draw/page.py": "a style and a script of our own",
    "files/shipped.py": "what pip wrote about this installation",
    "plugins.py": "what installed packages say of themselves",
    "pytest_plugin.py": "the beginning of a file, of which nearly all are other people's",
    "study/report/output.py": "a page and a style of our own",
    "study/explore/levels.py": "a level that the search itself wrote; a damaged one is told",
}
WRITTEN = {
    "files/atomic.py": "what users ask for, whole or not at all",
    "cli/output.py": "the summary of a job, to which a page is added",
    "diagnose/failures.py": "a file in a draft of a folder",
    "study/explore/levels.py": "a draft of a level",
}


@pytest.mark.parametrize(
    ("opening", "known"),
    [
        (r"\.read_(?:text|bytes)\(|\.open\(\"r", OPENED_ELSEWHERE),
        (r"\.write_(?:text|bytes)\(|open\(\"[wax]", WRITTEN),
    ],
    ids=["read", "written"],
)
def test_what_users_hand_over_and_ask_for_is_opened_in_one_place(
    opening: str, known: dict[str, str]
) -> None:
    found = {
        path.relative_to(SIM).as_posix()
        for path in SIM.rglob("*.py")
        if re.search(opening, path.read_text(encoding="utf-8"))
    }

    assert {name for name in found if not name.startswith(OTHERS)} == {*known}
