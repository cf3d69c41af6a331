"""Random logs are logs that Kafka could hold, and Replog answers each of them."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.simulate.logfile.answer import answer
from tests.conformance.features import batches_of, written_batches
from tests.conformance.log_builder import Data, Entry, LogBuilder
from tests.conformance.random_logs import documents

Json = dict[str, Any]

few = settings(max_examples=30)  # each log is long, and the comparison itself runs thousands
any_document = st.sampled_from(("kafka-4.0", "kafka-2.8")).flatmap(documents)


def of_magic_2(document: Json) -> Iterator[Json]:
    """Batches that tell of producers and leader epochs."""
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
        assert written["epoch"] >= leader
        leader = written["epoch"]
        known = producers.get(written["producer_id"], -1)
        assert written["producer_epoch"] >= known
        producers[written["producer_id"]] = written["producer_epoch"]


@few
@given(any_document)
def test_a_random_log_is_one_that_kafka_could_hold_and_is_answered(document: Json) -> None:
    offsets_only_grow_but_where_the_log_is_cut(document)
    epochs_never_go_back(document)
    assert document["steps"][0]["op"] == "clean"
    assert len(answer(document)["steps"]) == len(document["steps"])


def test_sequences_count_what_is_gone_wrap_and_begin_anew_with_a_producer_epoch() -> None:
    builder = LogBuilder(0, (2**31 - 2,))
    record = (Entry("a", "v"),)
    written = [
        builder.write(Data(record, producer=1, **more))
        for more in ({}, {"missing_before": 2, "missing_after": 1}, {}, {"bump": True})
    ]

    assert [batch["base_sequence"] for batch in written] == [2**31 - 2, 1, 3, 0]
    assert [batch["producer_epoch"] for batch in written] == [0, 0, 0, 1]
