"""What Kafka's own cleaner answered once, Replog answers still; needs no Java.

Those of `kafka-*.jsonl` are made by `python -m tests.conformance --record N`, in a run in which all
agreed. The other files hold what such a run seldom meets, asked of Kafka in the same way: maps that
are read by the offset index, evicted ABORT markers, and the sizes of batches whose horizon, times,
offsets and headers need many bytes.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from tests.conformance.compare import difference_between, replog_answer
from tests.conformance.features import features_expected
from tests.conformance.log_builder import Data, Entry
from tests.conformance.log_steps import Clean, Now, Plan, Segment, build
from tests.conformance.random_runs import Agreed
from tests.conformance.recordings import Collection, read_recordings, write_recordings

Json = dict[str, Any]

FOLDER = Path(__file__).parent.parent / "data" / "kafka"
RECORDINGS = list(read_recordings(FOLDER))


def test_replog_keeps_what_kafka_kept() -> None:
    differing = {}
    for name, recording in RECORDINGS:
        log = recording["log"]
        differing[name] = difference_between(log, replog_answer(log), recording["answer"])

    assert {name: found for name, found in differing.items() if found is not None} == {}


@pytest.mark.parametrize("preset", ["kafka-4.0", "kafka-2.8"])
def test_everything_that_can_happen_is_in_the_recordings(preset: str) -> None:
    seen = Counter(
        feature
        for _, recording in RECORDINGS
        if recording["log"]["rules"]["preset"] == preset
        for feature in recording["features"]
    )

    assert [feature for feature in features_expected(preset) if not seen[feature]] == []


def agreed(*keys: str, features: tuple[str, ...] = ("segments are joined",)) -> Agreed:
    records = tuple(Entry(key, "v") for key in keys)
    plan = Plan(segments=(Segment((Data(records),)), Segment(())), steps=(Clean(Now("later", 0)),))
    document = build(plan)
    return Agreed(document, replog_answer(document), frozenset(features))


def test_the_smallest_logs_of_each_kind_are_kept() -> None:
    kept = Collection(of_each_kind=1)
    small, large = agreed("a"), agreed("a", "b", "c")
    other = agreed("a", "b", features=("marker removed",))
    for case in (large, small, other, agreed("a", features=())):
        kept.add(case)

    assert kept.chosen(10) == [other, small]


def test_one_log_of_each_kind_comes_before_a_second_of_any() -> None:
    kept = Collection()
    first, second = agreed("a"), agreed("a", "b")
    other = agreed("a", "b", "c", features=("marker removed",))
    for case in (first, second, other):
        kept.add(case)

    assert sorted(kept.chosen(2), key=str) == sorted([first, other], key=str)


def test_a_rare_feature_is_recorded_though_its_log_is_large() -> None:
    kept = Collection()
    rare = agreed("a", "b", "c", features=("marker removed", "segments are joined"))
    for case in (agreed("a"), agreed("b"), rare):
        kept.add(case)

    assert kept.chosen(1) == [rare]


def test_logs_that_noticed_a_planted_error_are_recorded_before_all_others() -> None:
    kept = Collection()
    noticing = agreed("a", "b", "c", features=("marker removed",))
    for case in (agreed("a"), noticing):
        kept.add(case)

    assert kept.chosen(1, [noticing]) == [noticing]
    assert kept.chosen(9, [noticing]) == [noticing, agreed("a")]


def test_a_recording_is_read_as_it_was_answered(tmp_path: Path) -> None:
    case = agreed("a", "b")

    path = write_recordings([case], version="4.3.1", folder=tmp_path)
    ((name, recording),) = read_recordings(tmp_path)

    assert (path.name, name) == ("kafka-4.3.1.jsonl", "kafka-4.3.1.jsonl:1")
    assert recording["kafka"] == "4.3.1"
    assert replog_answer(recording["log"]) == case.kafka
    assert difference_between(recording["log"], case.kafka, recording["answer"]) is None


def test_a_line_that_is_no_recording_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "kafka-4.3.1.jsonl").write_text(json.dumps({"log": {}}) + "\n")

    with pytest.raises(BadInput, match=r"kafka-4\.3\.1\.jsonl:1: not a recording"):
        list(read_recordings(tmp_path))
