"""The random comparison counts what it compared and shrinks what differs; no Java is needed."""

import json
from typing import Any

import pytest

from tests.conformance.compare import replog_answer
from tests.conformance.features import batches_of
from tests.conformance.random_runs import COMPARING, SHRINKING, Agreed, compare_random

Json = dict[str, Any]


def forgets_tombstones(document: Json) -> Json:
    """Somebody who drops every tombstone at once."""
    answer = replog_answer(document)
    for step in answer["steps"]:
        step["tombstone_offsets"] = []
    return answer


def test_as_many_different_logs_are_compared_as_were_asked_for() -> None:
    seen: list[str] = []

    result = compare_random(
        60, kafka=replog_answer, agreed=lambda case: seen.append(json.dumps(case.document))
    )

    assert (result.logs, result.difference, result.document) == (60, None, None)
    assert len(set(seen)) == len(seen) == 60
    assert result.passes >= 60
    assert result.steps >= result.passes
    assert result.records > 60


def test_the_same_seed_gives_the_same_logs() -> None:
    def logs(seed: int) -> list[Json]:
        found: list[Json] = []
        compare_random(
            15, seed, kafka=replog_answer, agreed=lambda case: found.append(case.document)
        )
        return found

    assert logs(3) == logs(3)
    assert logs(3) != logs(4)


def test_features_are_counted_once_for_each_log() -> None:
    cases: list[Agreed] = []

    result = compare_random(40, kafka=replog_answer, agreed=cases.append)

    for name, count in result.features.items():
        assert count == sum(name in case.features for case in cases)
    assert set(result.never).isdisjoint(result.features)


def test_a_difference_is_shrunk_to_a_log_that_has_nothing_else() -> None:
    doing: list[str] = []

    result = compare_random(
        500, kafka=forgets_tombstones, progress=lambda done, what: doing.append(what)
    )

    assert result.difference is not None
    assert "tombstone_offsets: Replog says" in result.difference
    assert result.document is not None
    batches = [b for segment in result.document["segments"] for b in batches_of(segment)]
    assert sum(len(batch["records"]) for batch in batches) <= 2
    assert len(result.document["steps"]) <= 2
    assert doing[-1] == SHRINKING
    assert set(doing) <= {COMPARING, SHRINKING}


def test_a_log_that_a_side_refuses_is_a_difference() -> None:
    def refuse(document: Json) -> Json:
        raise ValueError("not this one")

    result = compare_random(10, kafka=refuse)

    assert result.difference == "Kafka gives no answer: ValueError: not this one"
    assert result.logs == 0


@pytest.mark.parametrize("preset", ["kafka-4.0", "kafka-2.8"])
def test_logs_are_of_the_preset_that_kafka_answers_for(preset: str) -> None:
    presets: set[str] = set()

    compare_random(
        5,
        kafka=replog_answer,
        preset=preset,
        agreed=lambda case: presets.add(case.document["rules"]["preset"]),
    )

    assert presets == {preset}
