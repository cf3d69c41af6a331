"""Replog answers as Kafka did when its answers were recorded; needs no Java.

The logs of `kafka-VERSION.jsonl` and the choices are recorded by `python -m tests.conformance
--record N`, in a run in which all agreed. The other files have logs that are rare in such a run:
maps that are read by the offset index, evicted ABORT markers, and the sizes of batches whose
horizon, times, offsets and headers need many bytes.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sim.simulate.story import load_story
from tests.conformance import recordings
from tests.conformance.cluster import moments_of, predicted
from tests.conformance.compare import difference_between, normal_step, replog_answer
from tests.conformance.features import features_expected, features_of
from tests.conformance.pools import POOL_FEATURES, PoolAnswer, choice_difference, pool_features
from tests.conformance.recordings import STORIES, read_files, read_recordings, seen_files

Json = dict[str, Any]

LOGS = list(read_recordings())
CHOICES = list(read_recordings(recordings.CHOICES))
BROKERS = read_files(recordings.BROKERS)
CLUSTERS = read_files(recordings.CLUSTERS)
ANSWERS = read_files(recordings.SEEN)
SEEN = seen_files()
ABORT, COMMIT = "log_index_seek_abort", "log_index_seek_commit_seen_on_kafka"


def read(path: Path) -> Json:
    document: Json = json.loads(path.read_text(encoding="utf-8"))
    return document


def test_replog_keeps_what_kafka_kept_and_the_same_happens_in_it() -> None:
    differing: dict[str, object] = {}
    for name, recording in LOGS:
        log = recording["log"]
        answer = replog_answer(log)
        differing[name] = difference_between(log, answer, recording["answer"])
        if name.startswith(("kafka-4.3.1.jsonl", "kafka-2.8.2.jsonl")):
            features = sorted(features_of(log, answer))
            differing[f"what happens in {name}"] = features != recording["features"]

    assert {name: found for name, found in differing.items() if found} == {}


@pytest.mark.parametrize("preset", ["kafka-4.0", "kafka-2.8"])
def test_everything_that_can_happen_is_in_the_recordings(preset: str) -> None:
    seen = Counter(
        feature
        for _, recording in LOGS
        if recording["log"]["rules"]["preset"] == preset
        for feature in recording["features"]
    )

    assert [feature for feature in features_expected(preset) if not seen[feature]] == []


def test_replog_chooses_what_kafka_chose_and_the_same_happens_in_it() -> None:
    for name, recording in CHOICES:
        answer = PoolAnswer(recording["log"], recording["answer"])
        assert choice_difference(answer) is None, name
        assert sorted(pool_features(answer)) == recording["features"], name

    seen = {feature for _, recording in CHOICES for feature in recording["features"]}
    assert [name for name in POOL_FEATURES if name not in seen] == []


@pytest.mark.parametrize("path", SEEN, ids=lambda path: path.stem)
def test_a_file_that_was_seen_on_kafka_is_answered_as_kafka_did(path: Path) -> None:
    recorded = ANSWERS[path.stem]
    document = read(path)

    assert recorded["kafka"] == SEEN[path]
    assert difference_between(document, replog_answer(document), recorded) is None


@pytest.mark.parametrize("name", BROKERS)
def test_replog_answers_what_a_broker_held_after_each_pass(name: str) -> None:
    document = read(STORIES / f"{name}.json")
    recording = BROKERS[name]

    steps = replog_answer(document)["steps"]

    assert document["source"].startswith(f"Seen on Kafka {recording['kafka']}: ")
    for step, answered, held in zip(document["steps"], steps, recording["held"], strict=True):
        normal = normal_step(answered, step)
        assert {part: normal[part] for part in held} == held
    data = [batch for batch in recording["held"][-1]["batches"] if not batch["control"]]
    assert recording["reads"] == [at for batch in data for at in batch["record_offsets"]]


def test_a_consumer_of_the_broker_got_the_deleted_value_behind_abort_alone() -> None:
    assert sorted(BROKERS) == [ABORT, f"{ABORT}_without_index", COMMIT]
    assert {name: recording["reads"][0] for name, recording in BROKERS.items()} == {
        ABORT: 0,
        f"{ABORT}_without_index": 4,
        COMMIT: 4,
    }


def test_a_map_that_is_read_from_the_start_of_the_segment_loses_no_delete() -> None:
    document = read(STORIES / f"{ABORT}.json")
    document["rules"]["map_reads_from"] = "segment_start"

    assert 0 not in replog_answer(document)["steps"][-1]["surviving_offsets"]


def test_every_story_seen_on_a_cluster_has_a_recording() -> None:
    assert sorted(CLUSTERS) == sorted(path.stem for path in STORIES.glob("*.yaml"))


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_story_predicts_what_the_brokers_of_a_cluster_held(name: str) -> None:
    recorded = CLUSTERS[name]["moments"]
    reading = {
        moment: {part: held["consumer"][part] for part in ("leader", "isolation")}
        for moment, held in recorded.items()
        if "consumer" in held
    }

    views = moments_of(name)

    assert recorded == {
        moment: predicted(views[moment], **reading.get(moment, {})) for moment in views
    }
    assert reading, "nobody read from the leader"
    source = load_story(STORIES / f"{name}.yaml").source
    assert source.startswith(f"Seen on Kafka {CLUSTERS[name]['kafka']}: ")


def test_the_bugs_and_their_near_misses_differ_in_what_the_brokers_held() -> None:
    ends = {
        name: recording["moments"]["elected"]["consumer"]["reads"]
        for name, recording in CLUSTERS.items()
    }

    assert ends["kafka_01_lost_tombstone"][0] == "K=v@0"
    assert "K=v@0" not in ends["kafka_02_tombstone_kept"]
    assert ends["kafka_03_lost_log_end"] == ["A@0", "E@1"]
    assert ends["kafka_04_log_end_kept"] == ["A@0", "E@4"]
    assert ends["kafka_05_aborted_record_is_read"][0] == "K=aborted@0"
    assert ends["kafka_06_aborted_record_is_kept_back"][0] == "L=good@2"
    assert ends["kafka_07_transaction_hangs"] == []
    assert "K=aborted@1" in ends["kafka_08_cut_marker_nobody_known"]
    assert "K=aborted@1" not in ends["kafka_09_cut_marker_producer_known"]
