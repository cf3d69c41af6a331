"""The log files of the index seek run: what Replog answers is what the broker held; no Java."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from tests.conformance.broker_clients import Read
from tests.conformance.broker_index_seek import outcome, rules_of
from tests.conformance.broker_recordings import (
    FOLDER,
    SCENARIOS,
    read_broker_recordings,
    write_index_seek,
)
from tests.conformance.broker_run import BrokerPass, BrokerRun
from tests.conformance.compare import normal_step, replog_answer
from tests.conformance.raw_log import RawLog, RawSegment

Json = dict[str, Any]
RECORDINGS = dict(read_broker_recordings())
NAMES = [
    "log_index_seek_abort",
    "log_index_seek_abort_without_index",
    "log_index_seek_commit",
]


def log_file(name: str) -> Json:
    document: Json = json.loads((SCENARIOS / f"{name}.json").read_text())
    return document


def test_every_recording_has_its_log_file() -> None:
    assert sorted(RECORDINGS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_replog_answers_what_the_broker_held_after_each_pass(name: str) -> None:
    document = log_file(name)
    recording = RECORDINGS[name]

    steps = replog_answer(document)["steps"]

    assert len(steps) == len(recording["held"])
    for step, answered, held in zip(document["steps"], steps, recording["held"], strict=True):
        normal = normal_step(answered, step)
        assert {part: normal[part] for part in held} == held


@pytest.mark.parametrize("name", NAMES)
def test_a_log_file_names_the_release_it_was_seen_on(name: str) -> None:
    assert log_file(name)["source"].startswith(f"Seen on Kafka {RECORDINGS[name]['kafka']}: ")


def test_the_consumer_got_the_deleted_value_behind_abort_alone() -> None:
    first = {name: RECORDINGS[name]["reads"][0] for name in NAMES}

    assert first == dict(zip(NAMES, (0, 4, 4), strict=True))
    for name in NAMES:
        data = [batch for batch in RECORDINGS[name]["held"][-1]["batches"] if not batch["control"]]
        assert RECORDINGS[name]["reads"] == [at for b in data for at in b["record_offsets"]]


def test_the_map_that_is_read_from_the_start_of_the_segment_loses_no_delete() -> None:
    document = log_file(NAMES[0])
    document["rules"]["map_reads_from"] = "segment_start"

    assert 0 not in replog_answer(document)["steps"][-1]["surviving_offsets"]


def run_of(*reads: Read) -> tuple[BrokerRun, Json]:
    record = {"offset": 0, "key": "K", "value": "v", "timestamp_ms": 5}
    batch = {
        "base_offset": 0,
        "last_offset": 0,
        "control": None,
        "timestamp_ms": 5,
        "delete_horizon_ms": None,
        "records": [record],
    }
    raw = RawLog((RawSegment(0, (batch,), (70,)), RawSegment(1, (), ())), ())
    step = {"op": "clean", "now_ms": 9, "first_dirty_offset": 0, "upper_bound": 1}
    document: Json = {
        "format": "replog-log/1",
        "rules": {"preset": "kafka-4.0"},
        "segments": [{"base_offset": 0, "batches": [batch]}, {"base_offset": 1, "batches": []}],
        "steps": [step],
    }
    passed = BrokerPass(0, 1, 9, raw, raw, {7: 3}, 1)
    return BrokerRun(document, (passed,), ([], 1), (list(reads), 1), held_up=True), document


def test_what_is_written_is_a_log_file_that_expects_the_broker_s_outcome(tmp_path: Path) -> None:
    seen = run_of(Read(0, "K", "v", 5))

    paths = list(
        write_index_seek("9.9.9", {"abort": seen}, scenarios=tmp_path / "s", folder=tmp_path / "r")
    )

    scenario, recording = (json.loads(path.read_text()) for path in paths)
    assert scenario["source"].startswith("Seen on Kafka 9.9.9: ")
    assert {part: scenario[part] for part in seen[1]} == seen[1]
    assert scenario["expect"] == [
        {"next_dirty_offset": 1, "surviving_offsets": [0], "log_end_offset": 1, "aborted_txns": []}
    ]
    assert recording == dict(read_broker_recordings(tmp_path / "r"))["log_index_seek_abort"]
    assert recording["reads"] == [0]
    assert recording["held"][0]["last_sequences"] == {"7": 3}


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        ([Read(0, "K", "old", 0)], "K=old is back"),
        ([Read(0, "K", "old", 0), Read(6, "K", None, 0)], "K is deleted"),
        ([Read(2, "bulk-1", "x", 0)], "K is deleted"),
    ],
)
def test_the_last_record_of_the_key_decides(reads: list[Read], said: str) -> None:
    assert outcome(run_of(*reads)[0]) == said


@pytest.mark.parametrize(
    ("version", "preset", "entries"),
    [
        ("3.8.0", "kafka-3.8", "per_append"),
        ("3.9.0", "kafka-3.8", "per_append"),
        ("3.9.1", "kafka-3.8", "per_batch"),
        ("4.0.0", "kafka-4.0", "per_append"),
        ("4.0.1", "kafka-4.0", "per_batch"),
        ("4.3.1", "kafka-4.0", "per_batch"),
    ],
)
def test_a_release_indexes_each_batch_since_kafka_806(
    version: str, preset: str, entries: str
) -> None:
    assert rules_of(version) == {"preset": preset, "index_entries": entries}


def test_the_recordings_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 30_000


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")

    with pytest.raises(BadInput, match=r"x\.json: not a recording of a broker"):
        list(read_broker_recordings(tmp_path))
