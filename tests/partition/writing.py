"""Segments as tests need them: written by kafka-python's builder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

Row = tuple[str | None, str | None]
"""Key and value."""


def write_batch(
    log: Path, base_offset: int, rows: Sequence[Row], *, epoch: int = 0, codec: int = 0
) -> None:
    """Appends a batch of magic 2; `codec` is Kafka's number."""
    from sim.simulate.partition.segments import kafka_python

    kafka_python()  # imports kafka-python without its warning
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for number, (key, value) in enumerate(rows):
        content = [None if one is None else one.encode() for one in (key, value)]
        builder.append(number, 1_795_932_000_000 + base_offset + number, *content, [])
    content = bytearray(builder.build())
    content[:8] = base_offset.to_bytes(8, "big")
    content[12:16] = epoch.to_bytes(4, "big")  # before what the CRC covers
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
