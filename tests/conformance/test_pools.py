"""Which log Kafka's manager chose, Replog chooses still; needs no Java."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from tests.conformance.pool_kafka import PoolAnswer
from tests.conformance.pool_logs import within
from tests.conformance.pool_recordings import Choices, read_choices, write_choices
from tests.conformance.pool_runs import (
    POOL_FEATURES,
    choice_difference,
    compare_pools,
    pool_features,
    replog_choice,
)

Json = dict[str, Any]

FOLDER = Path(__file__).parent.parent / "data" / "kafka-choices"
RECORDED = list(read_choices(FOLDER))


@pytest.mark.parametrize(
    "answer", [answer for _, _, answer in RECORDED], ids=[name for name, _, _ in RECORDED]
)
def test_replog_chooses_what_kafka_chose(answer: PoolAnswer) -> None:
    assert choice_difference(answer) is None


def test_everything_that_can_happen_in_a_choice_is_recorded() -> None:
    seen = Counter(feature for _, features, _ in RECORDED for feature in features)

    assert [name for name in POOL_FEATURES if not seen[name]] == []


def test_the_features_of_a_recording_are_those_that_it_has() -> None:
    for _, features, answer in RECORDED:
        assert sorted(pool_features(answer)) == features


def described(pool: Json) -> PoolAnswer:
    """Stands in for Kafka: every log has one closed segment, and Replog's own answer."""
    logs = {
        f"tp{number}": {
            "segments": [
                {"base_offset": 0, "size_bytes": 100 + number},
                {"base_offset": 10, "size_bytes": 0},
            ],
            "log_start_offset": 0,
            "log_end_offset": 10,
            "high_watermark": 10,
            "last_stable_offset": 10,
            "checkpoint": None,
            "in_progress": given["in_progress"],
            "uncleanable": given["uncleanable"],
            "topic": {"min.cleanable.dirty.ratio": 0, "min.compaction.lag.ms": 0},
        }
        for number, given in enumerate(pool["logs"])
    }
    document = {"format": "replog-log/1", "now_ms": pool["now_ms"], "logs": logs}
    return PoolAnswer(document, replog_choice(document))


def wrong(pool: Json) -> PoolAnswer:
    """Takes a log that is in progress."""
    answer = described(pool)
    busy = [name for name, log in answer.document["logs"].items() if log["in_progress"]]
    chosen = busy[0] if busy else answer.answer["selected"]
    return answer._replace(answer={**answer.answer, "selected": chosen})


def test_as_many_sets_are_compared_as_were_asked_for_and_the_same_again() -> None:
    first, again = (compare_pools(25, 3, kafka=described) for _ in range(2))

    assert (first.pools, first.difference, first.document) == (25, None, None)
    assert first.logs >= 25
    assert (first.features, first.logs) == (again.features, again.logs)


def test_a_difference_is_told_with_the_smallest_set_that_shows_it() -> None:
    found = compare_pools(200, 3, kafka=wrong)

    assert found.difference is not None
    assert found.difference.startswith("selected: Replog says null, Kafka says ")
    assert found.document is not None
    assert len(found.document["logs"]) == 1


@pytest.mark.parametrize(("share", "offset"), [(0, 10), (5, 15), (10, 20), (12, 23), (-2, 6)])
def test_a_share_is_an_offset_of_the_log_or_beside_it(share: int, offset: int) -> None:
    assert within(share, 10, 20) == offset


def test_choices_are_read_as_they_were_written(tmp_path: Path) -> None:
    kept = Choices()
    for _, features, answer in RECORDED[:3]:
        kept.add(answer, frozenset(features))
    chosen = kept.chosen(2)

    path = write_choices(chosen, version="4.3.1", folder=tmp_path)

    read = list(read_choices(tmp_path))
    assert [(frozenset(features), answer) for _, features, answer in read] == chosen
    path.write_text("{}\n")
    with pytest.raises(BadInput, match=r"kafka-4\.3\.1\.jsonl:1: not a recorded choice"):
        list(read_choices(tmp_path))
