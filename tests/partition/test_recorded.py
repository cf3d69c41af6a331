"""Recorded partitions are read as Kafka's DumpLogSegments reads them, and passes come as said."""

from pathlib import Path
from zipfile import ZipFile

import pytest
from msgspec.structs import replace

import sim
from sim.protocol.log.formats import OldBatch
from sim.simulate.logfile.file import log_file_in, read_log_document
from sim.simulate.logfile.run import run_steps
from sim.simulate.partition import Partition, partition_in
from sim.simulate.partition.dump import partition_of_dump
from sim.simulate.partition.segments import Detail
from tests.partition.conftest import ZIP

PARTITIONS = sorted(
    (Path(name).parts[0], Path(name).stem)
    for name in ZipFile(ZIP).namelist()
    if name.endswith(".dump")
)
"""Version and name of each partition; `others` are internal topics, and old message formats."""
CLEANED = [one for one in PARTITIONS if one[0] != "others"]


def printed(text: str | None) -> str | None:
    """A key or a value as a dump has it, where bytes that are no UTF-8 are replaced."""
    return None if text is None else text.encode(errors="surrogateescape").decode(errors="replace")


def batches_of(partition: Partition) -> list[tuple[object, ...]]:
    """All that a dump says of each batch and of its records."""
    return [
        (
            segment.base_offset,
            stored.position,
            stored.codec,
            replace(stored.batch, records=()),
            stored.batch.size_bytes,
            [
                (one.offset, printed(one.key), printed(one.value), one.timestamp_ms)
                for one in stored.batch.records
            ],
        )
        for segment, stored in partition.batches(Detail.WHOLE)
    ]


@pytest.mark.parametrize(("version", "name"), PARTITIONS)
def test_every_batch_is_read_as_kafka_dumps_it(recorded: Path, version: str, name: str) -> None:
    read = batches_of(partition_in(recorded / version / "before" / name))

    assert read == batches_of(partition_of_dump(recorded / version / f"{name}.dump"))


@pytest.mark.parametrize(("version", "name"), PARTITIONS)
def test_a_log_file_of_it_holds_the_same(
    recorded: Path, tmp_path: Path, version: str, name: str
) -> None:
    opened = sim.open_partition(recorded / version / "before" / name)
    opened.save(tmp_path / "log.json")

    file = log_file_in(read_log_document(tmp_path / "log.json"))

    assert [(one.base_offset, one.batches) for one in file.segments] == [
        (one.base_offset, one.batches) for one in opened.log_file().segments
    ]


def test_the_recordings_have_every_codec_both_markers_and_headers(recorded: Path) -> None:
    found = [
        stored
        for version, name in PARTITIONS
        for _, stored in partition_in(recorded / version / "before" / name).batches(Detail.WHOLE)
    ]

    magics = {one.batch.magic if isinstance(one.batch, OldBatch) else 2 for one in found}
    assert magics == {0, 1, 2}
    assert {one.codec for one in found} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert {str(one.batch.control) for one in found} == {"None", "COMMIT", "ABORT"}
    assert any(record.headers for one in found for record in one.batch.records)


@pytest.mark.parametrize(("version", "name"), CLEANED)
def test_the_brokers_next_pass_did_what_was_said(
    recorded: Path, tmp_path: Path, version: str, name: str
) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(
        '{"min.cleanable.dirty.ratio": 0.0, "delete.retention.ms": 600000, "segment.ms": 3600000}'
    )
    before = recorded / version / "before" / name
    newest = max(r for r in sim.open_partition(before).records.timestamp_ms)
    opened = sim.open_partition(
        before,
        settings=settings,
        preset="kafka-3.8" if version == "3.8.0" else None,
        now_ms=int(newest) + 1,
    )
    (said,) = run_steps(opened.log_file())
    after = partition_in(recorded / version / "after" / name)

    def kept(batches: object) -> list[tuple[object, ...]]:
        return [
            (
                b.base_offset,
                b.last_offset,
                tuple(r.offset for r in b.records),
                b.control,
                b.timestamp_ms,
            )
            for b in batches  # type: ignore[attr-defined]
        ]

    assert opened.due().decision.eligible
    assert kept(said.log.batches()) == kept(s.batch for _, s in after.batches(Detail.WHOLE))
    assert said.cleaned.cleaning.next_dirty_offset == after.checkpoint
