"""Random logs are logs that Kafka could hold, and Replog answers each of them."""

from collections.abc import Iterator
from typing import Any

import pytest

from sim.simulate.logfile.answer import answer
from tests.conformance.features import batches_of, written_batches
from tests.conformance.log_books import LogBooks
from tests.conformance.random_batches import Choices, numbered, smallest
from tests.conformance.random_logs import random_log

Json = dict[str, Any]


def of_magic_2(document: Json) -> Iterator[Json]:
    """Batches that have producers and leader epochs."""
    return (batch for batch in written_batches(document) if batch.get("magic", 2) == 2)


def offsets_only_grow_but_where_the_log_is_cut(document: Json) -> None:
    written = [batch for segment in document["segments"] for batch in batches_of(segment)]
    end = 0
    for step in [{"op": "append", "batches": written}, *document["steps"]]:
        if step["op"] == "truncate":
            end = min(end, step["offset"])
        elif step["op"] == "truncate_fully":
            end = step["offset"]
        for batch in step.get("batches", ()):
            offsets = [record["offset"] for record in batch["records"]]
            assert end <= batch["base_offset"] <= batch["last_offset"]
            assert offsets == sorted(set(offsets))
            assert not offsets or batch["base_offset"] <= offsets[0]
            assert not offsets or offsets[-1] <= batch["last_offset"]
            end = batch["last_offset"] + 1


def epochs_never_go_back(document: Json) -> None:
    leader = 0
    producers: dict[int, int] = {}
    for written in of_magic_2(document):
        assert written.get("epoch", 0) >= leader
        leader = written.get("epoch", 0)
        producer, epoch = written.get("producer_id", -1), written.get("producer_epoch", -1)
        assert epoch >= producers.get(producer, -1)
        producers[producer] = epoch


@pytest.mark.parametrize("preset", ["kafka-4.0", "kafka-2.8"])
def test_a_random_log_is_one_that_kafka_could_hold_and_is_answered(preset: str) -> None:
    for number in range(40):
        document = random_log(numbered(7, number), preset)
        offsets_only_grow_but_where_the_log_is_cut(document)
        epochs_never_go_back(document)
        assert document["steps"][0]["op"] == "clean"
        assert len(answer(document)["steps"]) == len(document["steps"])


def test_a_log_is_made_again_by_its_choices_and_smaller_by_fewer() -> None:
    made = numbered(7, 0)
    document = random_log(made)

    def has_a_marker(choices: Any) -> bool:
        return any("control" in batch for batch in written_batches(random_log(Choices(choices))))

    assert random_log(Choices(made.made)) == document
    assert has_a_marker(made.made)
    least = random_log(Choices(smallest(made.made, has_a_marker)))
    assert len(list(written_batches(least))) == len(least["steps"]) == 1


def test_sequences_count_what_is_gone_wrap_and_begin_anew_with_a_producer_epoch() -> None:
    books = LogBooks(0, (2**31 - 2,))
    records = [{"key": "a", "value": "v", "timestamp_ms": 0}]
    written = [
        books.data(records, 1),
        books.data(records, 1, skip=2, skip_after=1),
        books.data(records, 1),
        books.data(records, 1, bump=True),
    ]

    assert [batch["base_sequence"] for batch in written] == [2**31 - 2, 1, 3, 0]
    assert [batch["producer_epoch"] for batch in written] == [0, 0, 0, 1]
