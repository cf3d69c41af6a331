"""Files that no broker leaves: a line that names the file, status 2, no wrong answer, no write."""

import gzip
import io
import os
import random
import re
import resource
import shutil
import struct
import time
import zlib
from pathlib import Path

import crc32c
import lz4.frame
import pytest
import snappy
import zstandard

import sim
from sim.errors import BadInput
from sim.protocol.log import Batch
from sim.simulate.partition import partition_in
from sim.simulate.partition.dump import partition_of_dump
from sim.simulate.partition.segments import Detail
from tests.commands import replog
from tests.partition.writing import write_batch, write_partition

LENGTH, EPOCH = range(8, 12), range(12, 16)
"""Bytes of a batch that no CRC covers, beside the first eight, its offset."""
XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
Read = tuple[int, Batch]
ROWS = [("k", "x" * 40), ("l", None), ("k", "y")]


def content(folder: Path) -> list[Read]:
    """Everything that is read of a partition."""
    return [
        (stored.position, stored.batch) for _, stored in partition_in(folder).batches(Detail.WHOLE)
    ]


def written(batch: Batch) -> tuple[object, ...]:
    """What the CRC of a batch covers: offsets of its records are counted from its own."""
    records = [(one.offset - batch.base_offset, one.key, one.value) for one in batch.records]
    return batch.last_offset - batch.base_offset, batch.timestamp_ms, records


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
        assert sum(batch.size_bytes for _, batch in read) <= size


def test_no_truncated_segment_ends_below_the_high_watermark(small: Path) -> None:
    (small.parent / "replication-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    data = log_of(small).read_bytes()
    log_of(small).write_bytes(data[:-1])

    answer = replog("log", small)

    assert answer.status == 2
    assert f"{log_of(small)}: position " in answer.complaint
    assert "whole batches end at offset 6, below the high watermark 9" in answer.complaint


def after_flip(folder: Path, data: bytes, at: int, bit: int) -> list[Read] | str:
    """What is read after a bit was flipped, or the complaint."""
    flipped = bytearray(data)
    flipped[at] ^= 1 << bit
    log_of(folder).write_bytes(flipped)
    try:
        return content(folder)
    except BadInput as error:
        return str(error)


def test_a_flipped_bit_is_found_unless_no_crc_covers_it(small: Path) -> None:
    """The CRC covers all of a batch but its offset, its length, its epoch and the magic byte.

    Where an offset or an epoch changed, batches and records are those that were written.
    """
    whole, data = content(small), log_of(small).read_bytes()
    bits = random.Random(11)
    for at in (bits.randrange(len(data)) for _ in range(500)):
        read = after_flip(small, data, at, bits.randrange(8))
        number, begin = max((n, p) for n, (p, _) in enumerate(whole) if p <= at)

        if isinstance(read, str):
            assert read.startswith(f"{log_of(small)}: position ")
        elif len(read) < len(whole):  # a longer one at the end looks cut off
            assert number == len(whole) - 1
            assert at - begin in LENGTH
            assert read == whole[:-1]
        else:
            assert at - begin in (*range(8), *EPOCH)
            assert [(p, written(batch)) for p, batch in read] == [
                (p, written(batch)) for p, batch in whole
            ]


def zeroes(codec: int) -> bytes:
    """256 MiB of zeroes in some kilobytes, by Kafka's number of a codec."""
    count, block = 1 << 28, bytes(1 << 22)
    if codec == 1:
        return gzip.compress(bytes(count), 1)
    if codec == 2:
        one = snappy.compress(block)
        return XERIAL + (len(one).to_bytes(4, "big") + one) * (count // len(block))
    if codec == 3:
        with lz4.frame.LZ4FrameFile(packed := io.BytesIO(), "wb") as file:
            for _ in range(count // len(block)):
                file.write(block)
        return packed.getvalue()
    return zstandard.ZstdCompressor().compress(bytes(count))


@pytest.mark.parametrize(("codec", "magic"), [(1, 2), (2, 2), (3, 2), (4, 2), (1, 1)])
def test_a_bomb_needs_the_memory_of_a_batch(small: Path, codec: int, magic: int) -> None:
    packed = zeroes(codec)
    if magic == 2:
        body = struct.pack(">h", codec) + log_of(small).read_bytes()[23:61] + packed
        crc, head = crc32c.crc32c(body), struct.pack(">qiib", 0, len(body) + 9, 0, magic)
    else:
        body = struct.pack(">bbqii", magic, codec, 0, -1, len(packed)) + packed
        crc, head = zlib.crc32(body), struct.pack(">qi", 0, len(body) + 4)
    log_of(small).write_bytes(head + struct.pack(">I", crc) + body)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    complaint = replog("log", small).complaint

    assert f"position 0: a batch that cannot be read: {len(packed)} bytes of " in complaint
    assert "unpack to more than 134217728" in complaint
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # 128 MiB


def test_a_fifo_is_no_segment(small: Path) -> None:
    log_of(small).unlink()
    os.mkfifo(log_of(small))

    answer = replog("log", small)

    assert answer.status == 2
    assert "is a pipe, and is read more than once here" in answer.complaint


def test_a_sparse_file_is_read_to_its_batches(small: Path) -> None:
    whole, size = content(small), log_of(small).stat().st_size
    with log_of(small).open("ab") as file:
        file.truncate(1 << 31)
    begun = time.process_time()

    assert content(small) == whole
    assert f"bytes, from position {size}, are no batch" in replog("log", small).out
    assert time.process_time() - begun < 1


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
        "offset 5 is at position 7; in 00000000000000000000.log no batch with it begins there",
    ),
    "a missing first segment": (
        lambda folder: (
            log_of(folder).rename(folder / "00000000000000000003.log"),
            (folder.parent / "log-start-offset-checkpoint").write_text("0\n1\nt 0 0\n"),
        ),
        "a segment is missing, or in remote storage: the log starts at 0, the first one at 3",
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


def test_stale_entries_of_an_index_that_was_not_closed_are_no_damage(small: Path) -> None:
    whole = content(small)
    index = small / "00000000000000000000.index"
    index.write_bytes(struct.pack(">iiii", 2, 0, 5, 7) + bytes(80))

    assert content(small) == whole


def test_a_codec_that_is_not_installed_is_no_damage(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim.files.shipped.find_spec", lambda name: None if name == "lz4" else name)

    answer = replog("log", small)

    assert answer.status == 2
    assert "partitions of brokers need lz4: pip install" in answer.complaint


def test_magic_3_is_unknown(small: Path) -> None:
    data = bytearray(log_of(small).read_bytes())
    data[16] = 3
    log_of(small).write_bytes(data)

    answer = replog("log", small)

    assert answer.status == 2
    assert "position 0: a batch that cannot be read: magic 3; known: 0 to 2" in answer.complaint


def test_a_record_outside_its_batch_is_damage(small: Path) -> None:
    data = bytearray(log_of(small).read_bytes())
    size = 12 + int.from_bytes(data[8:12], "big")
    data[23:27] = bytes(4)  # the last offset is the first one
    data[17:21] = crc32c.crc32c(bytes(data[21:size])).to_bytes(4, "big")
    log_of(small).write_bytes(data)

    complaint = replog("clean", small).complaint

    assert "position 0: offset 1 lies outside its batch, 0 to 0" in complaint


def test_a_torn_last_batch_is_normal(small: Path) -> None:
    log_of(small).write_bytes(log_of(small).read_bytes()[:-5])

    answer = replog("log", small)

    assert answer.status == 0
    assert "00000000000000000000.log: the last " in answer.out


def test_an_empty_partition_has_nothing(tmp_path: Path) -> None:
    folder = write_partition(tmp_path / "t-0", [])
    folder.mkdir()
    log_of(folder).touch()

    answer = replog("log", folder)

    assert answer.status == 0
    assert re.search("^keys +0$", answer.out, re.MULTILINE)


def test_segments_that_a_cleaner_merges_meanwhile_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    first, second = log_of(folder), folder / "00000000000000000003.log"
    write_batch(first, 0, ROWS)
    write_batch(second, 3, ROWS)
    opened = sim.open_partition(folder, now_ms=0)
    merged = folder / "00000000000000000000.log.swap"
    merged.write_bytes(first.read_bytes() + second.read_bytes())
    merged.replace(first)
    second.unlink()

    with pytest.raises(BadInput, match="were replaced while they were read"):
        list(opened.partition.batches(Detail.WHOLE))
    assert sim.open_partition(folder, now_ms=0).contents().counts["records"] == 6


def test_a_line_within_a_value_of_a_dump_is_no_end_of_it(tmp_path: Path) -> None:
    """The first byte is no UTF-8, and has three in the text: a size counts up to the line end."""
    fields = "isTransactional: false isControl: false position: 0 CreateTime: 1 size: 80 magic: 2"
    ids = "baseSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 0"
    path = tmp_path / "dump"
    path.write_text(
        "Dumping /t-0/00000000000000000000.log\n"
        f"baseOffset: 0 lastOffset: 0 count: 1 {ids} {fields} compresscodec: none isvalid: true\n"
        "| offset: 0 CreateTime: 1 keySize: 1 valueSize: 5 sequence: -1 headerKeys: [] key: k "
        "payload: \ufffdab\nc\n"
    )

    ((_, stored),) = partition_of_dump(path).batches(Detail.WHOLE)

    assert stored.batch.records[0].value == "\ufffdab\nc"


def test_a_damaged_dump_is_refused_in_a_line(recorded: Path, tmp_path: Path) -> None:
    """Lines are lost, doubled and cut, digits and names changed."""
    draws, path = random.Random(5), tmp_path / "dump"
    whole = (recorded / "3.8.0" / "t11-0.dump").read_bytes()
    said = []
    for _ in range(200):
        lines = whole.split(b"\n")
        at = draws.randrange(len(lines))
        changed = draws.choice((b"", lines[at] * 2, lines[at][: draws.randrange(80)], b"\0"))
        path.write_bytes(b"\n".join([*lines[:at], changed, *lines[at + 1 :]]))
        try:
            list(partition_of_dump(path).batches(Detail.WHOLE))
        except BadInput as error:
            said.append(str(error))

    assert len(said) > 100
    assert all(one.startswith(f"{path}: ") for one in said)
