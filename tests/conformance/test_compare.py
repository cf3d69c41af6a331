"""The comparison finds any difference, says where, and knows what only one side can tell."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.compare import Json, difference_between, first_difference, replog_answer
from tests.conformance.log_builder import Data, Entry, Marker
from tests.conformance.log_steps import Clean, Now, Plan, Retry, Segment, build

Change = Callable[[Json], None]


def document() -> Json:
    """Aborted and committed data, a tombstone, a record without a key, and a retry."""
    return build(
        Plan(
            segments=(
                Segment(
                    (
                        Data((Entry("a", "v"), Entry("b", None)), producer=1),
                        Data((Entry("a", "v"),), producer=3),
                        Marker(producer=3, commit=False),
                        Data((Entry(None, "v"),)),
                        Data((Entry("c", "v"),), producer=4),
                        Marker(producer=4, commit=True),
                    )
                ),
                Segment((Data((Entry("a", "v"),)),)),
            ),
            steps=(Clean(Now("later", 0)), Retry(which=1)),
        )
    )


def answered() -> Json:
    return replog_answer(document())


def test_the_same_answer_twice_is_no_difference() -> None:
    assert difference_between(document(), answered(), answered()) is None


def put(*path: str | int, value: Any) -> Change:
    def change(answer: Json) -> None:
        place: Any = answer["steps"]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


def without(*path: str | int) -> Change:
    def change(answer: Json) -> None:
        place: Any = answer["steps"]
        for name in path[:-1]:
            place = place[name]
        del place[path[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (put(0, "batches", 0, "base_offset", value=1), "steps[0].batches[0].base_offset"),
        (put(0, "batches", 0, "last_offset", value=9), "steps[0].batches[0].last_offset"),
        (put(0, "batches", 0, "record_offsets", value=[0]), "steps[0].batches[0].record_offsets"),
        (
            put(0, "batches", 0, "delete_horizon_ms", value=1),
            "steps[0].batches[0].delete_horizon_ms",
        ),
        (put(0, "batches", 2, "control", value="COMMIT"), "steps[0].batches[2].control"),
        (put(0, "batches", 0, "max_timestamp_ms", value=5), "steps[0].batches[0].max_timestamp_ms"),
        (put(0, "batches", 0, "segment", value=5), "steps[0].batches[0].segment"),
        (put(0, "surviving_offsets", value=[]), "steps[0].surviving_offsets"),
        (put(0, "tombstone_offsets", value=[]), "steps[0].tombstone_offsets"),
        (put(0, "log_end_offset", value=7), "steps[0].log_end_offset"),
        (put(0, "last_sequences", "1", value=0), "steps[0].last_sequences.1"),
        (
            put(0, "aborted_txns", 0, "last_stable_offset", value=0),
            "steps[0].aborted_txns[0].last_stable_offset",
        ),
        (put(0, "next_dirty_offset", value=1), "steps[0].next_dirty_offset"),
        (put(0, "effective_upper_bound", value=1), "steps[0].effective_upper_bound"),
        (put(0, "messages_read", value=1), "steps[0].messages_read"),
        (put(0, "messages_written", value=1), "steps[0].messages_written"),
        (put(0, "invalid_messages", value=0), "steps[0].invalid_messages"),
        (put(1, "duplicate", value=False), "steps[1].duplicate"),
        (put(1, "first_offset", value=0), "steps[1].first_offset"),
        (put(1, "batches", value=[]), "steps[1].batches[0]"),
        (without(0, "batches", 5), "steps[0].batches[5]"),
        (without(0, "last_sequences", "4"), "steps[0].last_sequences.4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_difference_is_told_with_its_place(change: Change, path: str) -> None:
    other = copy.deepcopy(answered())
    change(other)

    told = difference_between(document(), answered(), other)

    assert told is not None
    assert told.startswith(f"{path}: Replog says ")


def test_a_batch_that_only_one_side_keeps_differs() -> None:
    other = answered()
    del other["steps"][0]["batches"][0]

    told = difference_between(document(), answered(), other)

    assert told is not None
    assert told.startswith("steps[0].batches[0].base_offset: Replog says 0, Kafka says 2")


def test_a_difference_names_both_values_and_the_step() -> None:
    other = answered()
    other["steps"][0]["messages_read"] = 99
    told = difference_between(document(), answered(), other)

    assert told is not None
    assert told.endswith("Kafka says 99, after step 0 (clean [0, 7) at 1000 ms)")


def test_true_is_not_one() -> None:
    other = answered()
    other["steps"][0]["next_dirty_offset"] = True
    ours = answered()
    ours["steps"][0]["next_dirty_offset"] = 1

    assert difference_between(document(), ours, other) is not None


def test_what_an_emptied_marker_was_is_not_compared() -> None:
    ours, theirs = answered(), answered()
    for answer, kind in ((ours, "ABORT"), (theirs, "COMMIT")):
        marker = answer["steps"][0]["batches"][2]
        marker["record_offsets"], marker["control"] = [], kind

    assert difference_between(document(), ours, theirs) is None


def test_kafka_need_not_know_the_reasons_of_removals() -> None:
    other = answered()
    for step in other["steps"]:
        step.pop("removed", None)

    assert difference_between(document(), answered(), other) is None


def test_an_answer_with_fewer_steps_differs() -> None:
    other = answered()
    del other["steps"][1]

    told = difference_between(document(), answered(), other)

    assert told == "steps: Replog answers 2 of them, Kafka 1"


def test_a_side_without_an_answer_differs() -> None:
    def refuse(log: Json) -> Json:
        raise ValueError("no such thing")

    by_kafka = first_difference(document(), kafka=refuse)
    by_replog = first_difference(document(), replog=refuse, kafka=replog_answer)

    assert by_kafka == "Kafka gives no answer: ValueError: no such thing"
    assert by_replog == "Replog gives no answer: ValueError: no such thing"


def test_replog_agrees_with_itself() -> None:
    assert first_difference(document(), kafka=replog_answer) is None
