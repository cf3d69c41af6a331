"""A partition's folder, a data directory or a dump may stand where a log file may."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import sim
from sim.api.partitions import OpenedPartition
from sim.simulate.logfile.batches import bytes_of
from sim.simulate.logfile.explain import explain_key
from sim.simulate.logfile.file import log_file_in, read_log_document
from sim.simulate.partition.ahead import _two_passes
from tests.commands import replog
from tests.partition.writing import BEGUN_MS, COMMIT, Row, write_batch, write_partition

NOW = ("--now-ms", 1_795_950_000_000)


def test_what_it_holds_counts_records_keys_tombstones_and_markers(partition: Path) -> None:
    found = replog("log", partition, *NOW, "--json").document
    records = sim.open_partition(partition).records
    data = records[records.marker.isna()]

    assert found["records"] == len(data)
    assert sum(found["tombstones"].values()) + found["aborted_records"] >= data.value.isna().sum()
    assert sum(found["markers"].values()) == records.marker.notna().sum()
    assert {row["strategy"] for row in found["next_pass"]} == {"offset", "timestamp", "header"}


def test_a_data_directory_lists_its_partitions(partition: Path) -> None:
    """A replica that is to be deleted, or is being moved here, is none that a cleaner works on."""
    for suffix in ("delete", "stray", "future"):
        shutil.copytree(partition, partition.with_name(f"{partition.name}.{'0af' * 10}00-{suffix}"))
    rows = replog("log", partition.parent, "--json").document

    assert [row["partition"] for row in rows] == ["t11-0", "t18-0", "t21-0"]
    assert replog("eligible", partition.parent, *NOW).out.count("defaults of") == 3


def test_a_log_file_of_it_has_the_same_pass(partition: Path, tmp_path: Path) -> None:
    target = tmp_path / "log.yaml"
    written = replog("log", partition, *NOW, "-o", target)

    own = replog("clean", partition, *NOW, "--json").document["steps"][-1]
    of_file = replog("clean", target, "--json").document["steps"][-1]

    assert written.status == 0
    assert of_file == own
    assert log_file_in(read_log_document(target)).start.high_watermark is not None


def test_an_anonymous_log_file_keeps_sizes_and_what_is_equal(
    partition: Path, tmp_path: Path
) -> None:
    plain, hidden, other = (tmp_path / f"{name}.yaml" for name in ("plain", "hidden", "other"))
    replog("log", partition, *NOW, "-o", plain)
    for target, place in ((hidden, partition), (other, partition.parent / "t18-0")):
        replog("log", place, *NOW, "-o", target, "--anonymous")

    def keys(path: Path) -> list[bytes]:
        batches = [b for s in log_file_in(read_log_document(path)).segments for b in s.batches]
        return [bytes_of(one.key or "") for b in batches if not b.control for one in b.records]

    pairs = [*zip(keys(plain), keys(hidden), strict=True)]
    assert all(one != other and len(one) == len(other) for one, other in pairs)
    assert len({*pairs}) == len({one for one, _ in pairs}) == len({other for _, other in pairs})
    assert {*keys(other)} & {*keys(hidden)}, "a key has one hash in every command"


def test_why_it_is_not_compacted_and_when_it_will_be(tmp_path: Path) -> None:
    folder = write_partition(tmp_path / "t-0", [(0, [("k", "x")] * 3)])

    (line, *_) = replog("eligible", folder, *NOW).out.splitlines()[1:]

    assert "not eligible" in line
    assert "the active segment, from 0, is never cleaned" in line


Segments = dict[int, list[tuple[int, list[Row]]]]
"""Base offset and records of each batch, by the base offset of the segment."""
ONE_KEY: Segments = {at: [(at, [("k", "v")])] for at in range(4)}
LAG = "min.compaction.lag.ms"
ENDLESS = 2**63 - 1


def written(folder: Path, segments: Segments, settings: str = "", **how: Any) -> OpenedPartition:
    """A partition opened an hour after its first record, with a checkpoint of its cleaner at 1."""
    for base_offset, batches in segments.items():
        for at, rows in batches:
            write_batch(folder / "t-0" / f"{base_offset:020d}.log", at, rows, **how)
        os.utime(folder / "t-0" / f"{base_offset:020d}.log", (BEGUN_MS / 1000,) * 2)
    (folder / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 1\n")
    (folder / "settings").write_text(settings)
    return sim.open_partition(
        folder / "t-0", settings=folder / "settings", now_ms=BEGUN_MS + 3_600_000
    )


@pytest.mark.parametrize(
    "settings", [f"max.compaction.lag.ms={ENDLESS}", f"delete.retention.ms={ENDLESS}"]
)
def test_a_time_beyond_64_bits_never_comes(tmp_path: Path, settings: str) -> None:
    opened = written(tmp_path, ONE_KEY, f"{settings}\nmin.cleanable.dirty.ratio=0.9")

    assert opened.due().decision.due_ms is None
    assert "offset 1 is a value of 'k'. Gone: step 1" in " ".join(opened.fate("k"))


def test_a_pass_to_come_has_the_bound_of_its_time(tmp_path: Path) -> None:
    opened = written(tmp_path, ONE_KEY, f"{LAG}=86400000")

    assert opened.due().decision.found.bound.effective == 1
    assert "it covers offsets below 3" in next(opened.fate("k"))


def test_a_segment_without_timestamps_is_as_old_as_its_file(tmp_path: Path) -> None:
    opened = written(tmp_path, ONE_KEY, f"{LAG}=86400000", begun_ms=None)

    assert opened.due().decision.due_ms == BEGUN_MS + 86_400_000


def test_the_rate_of_growth_waits_for_the_minimum_lag_and_for_transactions(tmp_path: Path) -> None:
    ratio = "min.cleanable.dirty.ratio=0.9"
    plain, lagging = (
        written(tmp_path / name, ONE_KEY, f"{ratio}\n{LAG}={lag_ms}").due()
        for name, lag_ms in (("plain", 0), ("lagging", 7_200_000))
    )
    waiting = written(tmp_path / "open", ONE_KEY, ratio, producer=7).due()

    assert lagging.at_rate_ms == plain.at_rate_ms + 7_200_000
    assert waiting.at_rate_ms is None


def test_a_key_is_dirty_by_the_offset_of_its_record(tmp_path: Path) -> None:
    opened = written(tmp_path, {0: [(0, [("k", "v"), ("l", "v")])], 2: [(2, [("m", "v")])]})

    assert opened.contents().numbers["dirty_keys"] == 1


@pytest.mark.parametrize("words", [("--explain", "k1"), ("--offset", "0")])
def test_when_a_record_goes_is_said_for_the_next_two_passes(
    partition: Path, words: tuple[str, str]
) -> None:
    out = replog("clean", partition, *NOW, *words).out

    assert "step 1, now" in out
    assert "step 2, the first pass at" in out
    assert "UTC" in out
    assert "offset 0 is" in out or "of 'k1'" in out


@pytest.mark.parametrize("map_bytes", [1 << 27, 72])
def test_the_fate_of_an_offset_is_that_of_the_whole_log(partition: Path, map_bytes: int) -> None:
    """Also where a map of two keys is full before its end."""
    settings = partition.parent / "settings"
    settings.write_text(f"log.cleaner.dedupe.buffer.size={map_bytes}\n")
    opened = sim.open_partition(partition, settings=settings, now_ms=NOW[1])
    whole, passes = _two_passes(opened, {*opened.records.key})

    assert len(passes) == (1 if map_bytes == 72 else 2)
    assert {one.map_capacity for one in whole.steps[:1]} == {opened.given.map_keys}
    for one in opened.records.itertuples():
        found = list(opened.fate(offset=one.offset))
        if one.marker is None:
            explained = explain_key(whole, one.key, about={one.offset})
            assert found == [*passes, *explained.lines()]
        else:
            assert found[0] == passes[0]


def test_a_marker_may_go_and_leave_the_header_of_its_batch(tmp_path: Path) -> None:
    log = tmp_path / "t-0" / f"{0:020d}.log"
    write_batch(log, 0, [("k", "v")])
    write_batch(log, 2, [COMMIT], producer=7, attributes=0x40)
    log.with_name(f"{3:020d}.log").touch()

    fate = list(sim.open_partition(log.parent, now_ms=BEGUN_MS + 100_000).fate(offset=2))

    assert fate[-1] == "it goes in step 1; the header of its batch stays"


def test_a_dump_stands_for_its_folder(recorded: Path) -> None:
    dump = recorded / "4.3.1" / "t0-0.dump"

    of_dump = replog("log", dump, *NOW, "--json").document
    of_folder = replog("log", recorded / "4.3.1/before/t0-0", *NOW, "--json").document

    same = ("records", "aborted_records", "keys", "live_keys", "tombstones", "markers", "batches")
    assert {name: of_dump[name] for name in same} == {name: of_folder[name] for name in same}
    assert any("a dump has no checkpoints" in note for note in of_dump["notes"])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_a_dump_may_come_from_windows_and_below_lines_of_a_log(
    recorded: Path, tmp_path: Path, encoding: str
) -> None:
    dump, path = recorded / "3.8.0" / "t11-0.dump", tmp_path / "dump"
    text = dump.read_bytes().decode(errors="replace").replace("\n", "\r\n")
    path.write_bytes(f"[2026-11-29 06:00:00,000] WARN no log4j\r\n{text}".encode(encoding))

    assert replog("clean", path, *NOW).out == replog("clean", dump, *NOW).out


REFUSED = {
    ("log", "--story"): "--story and --anonymous: -o FILE is missing",
    ("log", "--anonymous"): "--story and --anonymous: -o FILE is missing",
    ("clean", "--offset", "999"): "offset 999: no batch covers it",
    ("clean", "--explain", "nobody"): "t11-0: no record has the key nobody",
    ("clean", "--explain", "k1", "--offset", "5"): "--explain and --offset: give one of them",
    ("clean", "--preset", "kafka-0.1"): "kafka-0.1",
    ("replicas",): "at least two places are needed",
}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_cannot_be_asked_is_refused(partition: Path, words: tuple[str, ...]) -> None:
    answer = replog(words[0], partition, *words[1:])

    assert answer.status == 2
    assert REFUSED[words] in answer.complaint


def test_what_is_no_one_partition_is_refused(partition: Path, tmp_path: Path) -> None:
    text, wide, twice = tmp_path / "text", tmp_path / "wide", tmp_path / "twice"
    twice.write_text("Dumping /t-0/00000000000000000000.log\n" * 2)
    text.write_text("Dumping nothing\n")
    wide.write_text("Dumping /t-0/00000000000000000000.log\n", encoding="utf-16")
    log_file, other = tmp_path / "log.yaml", partition.parent / "t18-0"
    replog("new", "log", "-o", log_file)

    said = {
        ("log", partition.parent, "-o", log_file): "has several partitions",
        ("clean", partition.parent): "has several partitions; give the folder of one",
        ("replicas", partition, partition): "a place is given twice",
        ("replicas", partition, other): "of one partition, not of t11-0, t18-0",
        ("replicas", partition.parent, other): "has several partitions; give the folder of one",
        ("log",): "Missing argument 'PLACE...'",
        ("clean", log_file, *NOW): f"--now-ms: only for a partition; {log_file} is a log file",
        ("clean", log_file, "--offset", 3): "--offset: only for a partition",
        ("log", partition, other): "give --story, or use replog replicas",
        ("log", tmp_path / "absent"): "cannot be read: No such file or directory",
        ("clean", twice): "the segment at 0 is dumped twice; allowed: once",
        ("clean", wide): "is UTF-16 text; allowed: UTF-8",
        ("log", text): "no folder of a partition, and no text of kafka-dump-log",
    }
    for words, expected in said.items():
        answer = replog(*words)
        assert answer.status == 2
        assert expected in answer.complaint
