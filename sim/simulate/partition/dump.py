"""Text of `kafka-dump-log --deep-iteration --print-data-log`, read as the segments it was made of.

A dump has no modification times and no indexes. Source: DumpLogSegments, releases 2.8 to 4.3.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final, NoReturn

from msgspec.structs import replace

from sim.errors import BadInput
from sim.files.reading import read_bytes
from sim.protocol.log import Batch, Control, Record
from sim.protocol.log.formats import old_batch
from sim.simulate.partition import Partition
from sim.simulate.partition.segments import MAGIC, Damaged, PartitionSegment, Stored, text_of

DUMP_BYTES_MAX: Final = 1 << 31
"""Most bytes of a dump."""
_FILE: Final = re.compile(rb"^Dumping (.*?)(\d{20})\.(\w+)$", re.MULTILINE)
_LINE_START: Final = re.compile(
    rb"\n(?:\| offset: |baseOffset: |offset: |Dumping |Found |Non-consecutive )|\n?\Z"
)
_VALUE: Final = re.compile(rb" payload: ")
_FIELD: Final = re.compile(r"(\w+): (OptionalLong\[\d+\]|[\w.-]+)")
_RECORD: Final = re.compile(
    rb"\| offset: (\d+) .*?(?:CreateTime|Log\w+|NoTimestampType): (-?\d+) .*?"
    rb"keySize: (-?\d+) valueSize: (-?\d+)(?: sequence: -?\d+ headerKeys: \[.*?\])?"
    rb".*?(?= key: | payload: | endTxnMarker: (COMMIT|ABORT)|$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A record's line up to its key: offset, time, sizes of key and value, and what a marker says."""
_ADVICE: Final = "dump it with --deep-iteration --print-data-log"
_NOTES: Final = (
    "a dump has no checkpoints: all of the log counts as committed, and as dirty",
    "a dump has no values of headers, and bytes that are no UTF-8 look alike in it",
)


def partition_of_dump(path: Path) -> Partition:
    """The partition in a text of `kafka-dump-log`.

    Raises:
        BadInput: There is none, there are several, or the file cannot be read.
        Damaged: The dump found damage, or has not all records.
    """
    found = sorted(Dump(path).segments(), key=lambda one: one[1].base_offset)
    folders = {folder for folder, _ in found}
    if not folders:
        raise BadInput(f"{path}: no folder of a partition, and no text of kafka-dump-log")
    if len(folders) > 1:
        text = ", ".join(sorted(folders))
        raise BadInput(f"{path}: a dump of one partition is read; here are {text}")
    segments = [one for _, one in found]
    for one, other in pairwise(segments):
        if one.base_offset == other.base_offset:
            text = f"the segment at {one.base_offset} is dumped twice; allowed: once"
            raise BadInput(f"{path}: {text}")
    return Partition(folders.pop(), path, segments, notes=_NOTES)


class Dump:
    """The text of a dump, read from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        """Reads the file at `path`; on Windows its lines end with CR LF. Raises BadInput."""
        content = read_bytes(path, limit=DUMP_BYTES_MAX).removeprefix(BOM_UTF8)
        if re.match(rb".*\r\n", content):
            content = content.replace(b"\r\n", b"\n")
        self._path, self._content, self._at = path, content, 0

    def segments(self) -> Iterator[tuple[str, PartitionSegment]]:
        """Every segment in order, with the name of its folder; without one that of the dump.

        Raises:
            Damaged: The dump found damage, or is no dump of all records.
        """
        files = list(_FILE.finditer(self._content))
        ends = [one.start() for one in files[1:]] + [len(self._content)]
        for found, end in zip(files, ends, strict=bool(files)):
            self._at = found.end() + 1
            if found[3] != b"log":
                continue  # an index, a snapshot
            folder = Path(found[1].decode(errors="replace")).name or self._path.stem
            batches = tuple(self._batches(end))
            size = sum(one.batch.size_bytes for one in batches)
            yield folder, PartitionSegment(self._path, int(found[2]), size, size, dumped=batches)

    def _batches(self, end: int) -> Iterator[Stored]:
        while self._at < end:
            line = self._line()
            if line.startswith((b"baseOffset: ", b"offset: ")):
                self._at += len(line) + 1
                try:
                    yield self._batch(dict(_FIELD.findall(line.decode(errors="replace"))))
                except (KeyError, ValueError) as error:
                    self._fail(f"a batch that lacks fields, or has none of Kafka's: {error}")
            elif line.startswith(b"| offset: "):
                self._fail("a record without the line of its batch")
            elif line.startswith(b"Found "):
                self._fail(line.decode(errors="replace"))
            else:
                self._at += len(line) + 1

    def _batch(self, fields: Mapping[str, str]) -> Stored:
        """The batch whose line was read, with the records that follow."""
        if fields.get("isvalid") != "true":
            self._fail("the dump calls a batch not valid")
        if fields["magic"] == "2" and "baseOffset" not in fields:
            self._fail("a record without its batch, as of old releases; dump it with a newer one")
        magic, is_control = int(fields["magic"]), fields.get("isControl") == "true"
        records: list[Record] = []
        control = Control.COMMIT if is_control else None
        while self._content.startswith(b"| ", self._at):
            found = _RECORD.match(self._content, self._at)
            if found is None:
                self._fail("no record of a dump")
            if is_control:
                control = Control(found[5].decode()) if found[5] else Control.LEADER_CHANGE
                self._at += len(self._line()) + 1
                offset = int(found[1])
                records.append(Record(offset, None, None, int(found[2]), uid=offset + 1))
            else:
                records.append(self._record(found, magic))
        if len(records) != int(fields.get("count", len(records) or -1)):
            self._fail(f"not all records of a batch; {_ADVICE}")
        size, codec = int(fields["size"]), fields["compresscodec"].lower()
        if magic < MAGIC:
            batch: Batch = replace(old_batch(magic, tuple(records)), size_bytes=size)
        else:
            batch = _new_batch(fields, tuple(records), control)
        return Stored(int(fields["position"]), batch, codec, len(records))

    def _record(self, found: re.Match[bytes], magic: int) -> Record:
        """The record whose line matched as far as its key; keys and values may span lines."""
        offset, time_ms, key_size, value_size = map(int, found.groups()[:4])
        self._at = found.end()
        key = self._text(b" key: ", key_size, _LINE_START if value_size < 0 else _VALUE)
        value = self._text(b" payload: ", value_size, _LINE_START)
        self._at += 1
        flagged = None if magic < MAGIC else value is None
        return Record(offset, key, value, time_ms, (), flagged, uid=offset + 1)

    def _text(self, label: bytes, size: int, follows: re.Pattern[bytes]) -> str | None:
        """A key or a value of `size` bytes behind its label; -1 = it is null, and has none."""
        if size < 0:
            return None
        content = self._content
        if not content.startswith(label, self._at):
            self._fail(f"no {label.decode().strip(' :')} of a record; {_ADVICE}")
        start = self._at + len(label)
        end = start + size
        if follows.match(content, end) is None and end < len(content):
            ends = follows.search(content, start)
            end = len(content) if ends is None else ends.start()
        self._at = end
        return text_of(content[start:end])

    def _line(self) -> bytes:
        end = self._content.find(b"\n", self._at)
        return self._content[self._at : len(self._content) if end < 0 else end]

    def _fail(self, what: str) -> NoReturn:
        number = self._content.count(b"\n", 0, self._at) + 1
        raise Damaged(self._path, f"line {number}: {what}")


def _new_batch(
    fields: Mapping[str, str], records: tuple[Record, ...], control: Control | None
) -> Batch:
    """A batch of magic 2 by the fields of its line."""
    times = [fields[name] for name in ("CreateTime", "LogAppendTime") if name in fields]
    horizon = fields.get("deleteHorizonMs", "").removeprefix("OptionalLong[").rstrip("]")
    return Batch(
        base_offset=int(fields["baseOffset"]),
        last_offset=int(fields["lastOffset"]),
        epoch=int(fields["partitionLeaderEpoch"]),
        records=records,
        timestamp_ms=int(times[0]) if times else -1,
        size_bytes=int(fields["size"]),
        producer_id=int(fields["producerId"]),
        producer_epoch=int(fields["producerEpoch"]),
        base_sequence=int(fields["baseSequence"]),
        transactional=fields["isTransactional"] == "true",
        control=control,
        delete_horizon_ms=int(horizon) if horizon.isdecimal() else None,
    )
