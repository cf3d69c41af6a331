"""Files that no broker leaves: a line that names the file, status 2, no wrong answer, no write."""

import gzip
import os
import random
import resource
import shutil
import struct
from pathlib import Path

import crc32c
import pytest

from sim.errors import BadInput
from sim.simulate.partition.folder import partition_in
from sim.simulate.partition.segments import Detail
from tests.commands import replog
from tests.partition.writing import write_batch, write_partition

ROWS = [("k", "x" * 40), ("l", None), ("k", "y")]


def content(folder: Path) -> list[tuple[object, ...]]:
    """Everything that is read of a partition."""
    return [
        (stored.position, stored.batch) for _, stored in partition_in(folder).batches(Detail.WHOLE)
    ]


def log_of(folder: Path) -> Path:
    return folder / "00000000000000000000.log"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Three batches, of which one is compressed."""
    folder = tmp_path / "data" / "t-0"
    for base, codec in ((0, 0), (3, 1), (6, 4)):
        write_batch(log_of(folder), base, ROWS, codec=codec)
    return folder


def test_a_truncated_segment_gives_its_whole_batches(small: Path) -> None:
    whole, data = content(small), log_of(small).read_bytes()

    for size in random.Random(7).sample(range(len(data)), min(200, len(data) - 1)):
        log_of(small).write_bytes(data[:size])
        read = content(small)
        assert read == whole[: len(read)]
        assert sum(batch.size_bytes for _, batch in read) <= size  # type: ignore[attr-defined]


def test_no_truncated_segment_ends_below_the_high_watermark(small: Path) -> None:
    (small.parent / "replication-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    data = log_of(small).read_bytes()
    log_of(small).write_bytes(data[:-1])

    answer = replog("log", small)

    assert answer.status == 2
    assert f"{log_of(small)}: position " in answer.complaint
    assert "whole batches end at offset 6, below the high watermark 9" in answer.complaint


def after_flip(folder: Path, data: bytes, at: int, bit: int) -> list[tuple[object, ...]] | str:
    """What is read after a bit was flipped, or the complaint."""
    flipped = bytearray(data)
    flipped[at] ^= 1 << bit
    log_of(folder).write_bytes(flipped)
    try:
        return content(folder)
    except BadInput as error:
        return str(error)


def test_a_flipped_bit_is_found_unless_no_crc_covers_it(small: Path) -> None:
    """The CRC covers all of a batch but its offset, its length, its epoch and the magic byte."""
    whole, data = content(small), log_of(small).read_bytes()
    bits = random.Random(11)
    for at in (bits.randrange(len(data)) for _ in range(500)):
        read = after_flip(small, data, at, bits.randrange(8))
        begin = max(position for position, _ in whole if position <= at)  # type: ignore[type-var]

        if isinstance(read, str):
            assert read.startswith(str(log_of(small)))
        else:
            assert at - begin < 16, at
            assert len(read) <= len(whole)


def test_a_bomb_needs_no_memory(small: Path) -> None:
    """64 MiB of zeroes in some kilobytes are refused, or read in bounded memory."""
    packed = gzip.compress(bytes(1 << 26))
    header = bytearray(log_of(small).read_bytes()[:61])
    body = bytes(header[21:]) + packed
    body = struct.pack(">h", 1) + body[2:]
    header[8:12] = (len(packed) + 49).to_bytes(4, "big")
    header[17:21] = crc32c.crc32c(body).to_bytes(4, "big")
    log_of(small).write_bytes(bytes(header[:21]) + body)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    answer = replog("log", small)

    assert answer.status == 2
    assert "position 0" in answer.complaint
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000


def test_a_fifo_is_no_segment(small: Path) -> None:
    log_of(small).unlink()
    os.mkfifo(log_of(small))

    answer = replog("log", small)

    assert answer.status == 2
    assert "is no regular file" in answer.complaint


def test_a_sparse_file_is_read_to_its_batches(small: Path) -> None:
    whole = content(small)
    with log_of(small).open("ab") as file:
        file.truncate(1 << 28)

    assert content(small) == whole


REFUSED = {
    "no segment": (lambda folder: log_of(folder).unlink(), "no partition: no segment such as"),
    "an index without its segment": (
        lambda folder: (folder / "00000000000000000009.index").touch(),
        "the segment 00000000000000000009.log of this index is missing",
    ),
    "an index that disagrees": (
        lambda folder: (folder / "00000000000000000000.index").write_bytes(
            struct.pack(">iiii", 2, 0, 5, 7)
        ),
        "offset 5 is at position 7; 00000000000000000000.log has offset",
    ),
    "a missing first segment": (
        lambda folder: (
            log_of(folder).rename(folder / "00000000000000000003.log"),
            (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\nt 0 0\n"),
        ),
        "a segment is missing: the log starts at 0, the first one at 3",
    ),
    "segments that overlap": (
        lambda folder: shutil.copy(log_of(folder), folder / "00000000000000000004.log"),
        "begins below",
    ),
    "a checkpoint that is none": (
        lambda folder: (folder.parent / "cleaner-offset-checkpoint").write_text("hello"),
        "no checkpoint of version 0",
    ),
    "a snapshot with a wrong CRC": (
        lambda folder: (folder / "00000000000000000009.snapshot").write_bytes(
            struct.pack(">hIi", 1, 7, 0)
        ),
        "a wrong CRC",
    ),
    "an index of aborted transactions cut short": (
        lambda folder: (folder / "00000000000000000000.txnindex").write_bytes(b"\0\0\0"),
        "no whole entries",
    ),
}


@pytest.mark.parametrize("damage", REFUSED)
def test_what_no_broker_leaves_is_refused_in_a_line(small: Path, damage: str) -> None:
    spoil, said = REFUSED[damage]
    spoil(small)
    before = {path: path.stat().st_mtime_ns for path in small.parent.rglob("*")}

    answer = replog("clean", small)

    assert answer.status == 2
    assert said in answer.complaint
    assert {path: path.stat().st_mtime_ns for path in small.parent.rglob("*")} == before


def test_magic_3_is_unknown(small: Path) -> None:
    data = bytearray(log_of(small).read_bytes())
    data[16] = 3
    log_of(small).write_bytes(data)

    answer = replog("log", small)

    assert answer.status == 2
    assert "position 0: a batch of magic 3; known: 0 to 2" in answer.complaint


def test_a_torn_last_batch_is_normal(small: Path) -> None:
    log_of(small).write_bytes(log_of(small).read_bytes()[:-5])

    assert replog("log", small).status == 0


def test_an_empty_partition_has_nothing(tmp_path: Path) -> None:
    folder = write_partition(tmp_path / "t-0", [])
    folder.mkdir()
    log_of(folder).touch()

    answer = replog("log", folder)

    assert answer.status == 0
    assert "keys 0, live 0" in answer.out
