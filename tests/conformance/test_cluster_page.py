"""The report tells of the index seek and of the clusters, and what differs is a complaint."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance import cluster_all
from tests.conformance.broker_index_seek import SeekResult
from tests.conformance.cluster_all import RealResult, run_real
from tests.conformance.cluster_page import real_sections
from tests.conformance.cluster_recordings import read_cluster_recordings
from tests.conformance.cluster_run import CLUSTERS, ClusterResult
from tests.conformance.compare import Json
from tests.conformance.test_broker_recordings import run_of

RECORDED = dict(read_cluster_recordings())


def cluster(version: str) -> ClusterResult:
    seen: dict[str, dict[str, Json]] = {
        story: recording["moments"]
        for story, recording in RECORDED.items()
        if recording["kafka"] == version
    }
    return ClusterResult(version, seen, seconds=28.4)


SEEK = SeekResult("4.3.1", {"abort": run_of()}, None, 25.0)
REAL = RealResult(SEEK, (cluster("3.8.0"), cluster("4.3.1")))


def test_every_story_has_a_row_with_its_moments_and_its_reader() -> None:
    text = "\n".join(real_sections(REAL))

    assert "| abort | K is deleted | 1 | all agree |" in text
    assert (
        "| 3.8.0 | [kafka_03_lost_log_end](../scenarios/seen_on_kafka/kafka_03_lost_log_end.yaml)"
        " | written, tail, failed_over, truncated, cleaned, back, joined, elected | A@0 E@1 |"
    ) in text
    assert "| K=v@0 X@1 Y@3 Z@4 W@5 |" in text
    assert "3.8.0: 28 seconds" in text


def test_what_agrees_is_no_complaint_and_counted() -> None:
    assert REAL.complaints == []
    assert REAL.summary == [
        "index seek on a real broker, Kafka 4.3.1: abort: K is deleted; as predicted",
        "real cluster, Kafka 3.8.0: 8 moments of 1 stories as predicted",
        "real cluster, Kafka 4.3.1: 18 moments of 3 stories as predicted",
    ]


def test_what_differs_is_a_complaint_that_says_where() -> None:
    differs = RealResult(
        replace(SEEK, difference="topic abort: pass 2: x"),
        (replace(cluster("3.8.0"), difference="a_story: tail: y"),),
    )

    assert differs.complaints == [
        "index seek: topic abort: pass 2: x",
        "cluster of Kafka 3.8.0: a_story: tail: y",
    ]
    assert "| abort | K is deleted | 1 | they differ |" in "\n".join(real_sections(differs))


def test_all_are_run_and_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cluster_all, "compare_index_seek", lambda version, say: SEEK)
    monkeypatch.setattr(cluster_all, "run_on_cluster", lambda version, say: cluster(version))
    monkeypatch.chdir(tmp_path)

    real = run_real(say=lambda text: None)

    assert [result.version for result in real.clusters] == list(CLUSTERS)
    names = [path.name for path in real.record()]
    assert names[:2] == ["log_index_seek_abort.json", "log_index_seek_abort.json"]
    assert names[2:] == [f"{story}.json" for result in real.clusters for story in result.seen]
