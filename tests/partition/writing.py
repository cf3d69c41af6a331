"""Segments as tests need them: written by kafka-python's builder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

Row = tuple[str | None, str | None]
"""Key and value."""


BEGUN_MS = 1_795_932_000_000
"""Time from which records have a millisecond for each offset."""
COMMIT: Row = ("\0\0\0\1", "\0" * 6)
"""A COMMIT marker, as key and value of a control record."""


def write_batch(
    log: Path,
    base_offset: int,
    rows: Sequence[Row],
    *,
    epoch: int = 0,
    codec: int = 0,
    producer: int = -1,
    begun_ms: int | None = BEGUN_MS,
    attributes: int = 0,
) -> None:
    """Appends a batch of magic 2.

    Args:
        log: The file.
        base_offset: Offset of its first record.
        rows: Its records.
        epoch: The leader epoch.
        codec: Kafka's number of a compression.
        producer: Id of the producer of a transaction; -1 outside transactions.
        begun_ms: Timestamps are as many ms above this as offsets above 0; None for none.
        attributes: Bits that are set besides; 0x40 makes the base timestamp a delete horizon.
    """
    from sim.simulate.partition.segments import kafka_python

    kafka_python()  # imports kafka-python without its warning
    from crc32c import crc32c
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(2, codec, producer >= 0, producer, 0, 0, 1 << 20)
    for number, (key, value) in enumerate(rows):
        content = [None if one is None else one.encode() for one in (key, value)]
        at_ms = -1 if begun_ms is None else begun_ms + base_offset + number
        builder.append(number, at_ms, *content, [])
    content = bytearray(builder.build())
    content[:8] = base_offset.to_bytes(8, "big")
    content[12:16] = epoch.to_bytes(4, "big")  # before what the CRC covers
    attributes |= 0x20 if COMMIT in rows else 0
    if attributes:
        content[22] |= attributes
        content[17:21] = crc32c(bytes(content[21:])).to_bytes(4, "big")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        file.write(content)


def write_partition(
    folder: Path, batches: Sequence[tuple[int, Sequence[Row]]], *, epoch: int = 0
) -> Path:
    """Writes a partition of one segment: base offset and records of each batch."""
    log = folder / "00000000000000000000.log"
    for base_offset, rows in batches:
        write_batch(log, base_offset, rows, epoch=epoch)
    return folder
