"""Random logs are logs that Kafka could hold; actions become offsets, sequences, transactions."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.logfile.answer import answer
from tests.conformance.features import batches_of, written_batches
from tests.conformance.log_builder import Data, Entry, LogBuilder, Marker
from tests.conformance.log_steps import Append, Clean, Now, Plan, Retry, Segment, build
from tests.conformance.random_logs import LARGE_GAP, documents

Json = dict[str, Any]

PRESETS = ("kafka-4.0", "kafka-2.8")
NOW = Now("later", 0)
LAST_SEQUENCE = 2**31 - 1

few = settings(max_examples=40)  # each log is long, and the comparison itself runs thousands
any_document = st.sampled_from(PRESETS).flatmap(documents)


def value(key: str) -> Entry:
    return Entry(key, "v")


def batch(*keys: str, **fields: Any) -> Data:
    return Data(tuple(value(key) for key in keys), **fields)


def of_magic_2(document: Json) -> Iterator[Json]:
    """Batches that tell of producers and leader epochs."""
    return (batch for batch in written_batches(document) if batch.get("magic", 2) == 2)


def segment_bases(document: Json) -> Iterator[tuple[int, list[Json]]]:
    end = 0
    for segment in document["segments"]:
        batches = batches_of(segment)
        stated = segment["base_offset"] if isinstance(segment, dict) else None
        base = stated if stated is not None else batches[0]["base_offset"] if batches else end
        yield base, batches
        end = batches[-1]["last_offset"] + 1 if batches else base


def replog_answers_every_random_log(document: Json) -> None:
    assert len(answer(document)["steps"]) == len(document["steps"])


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


def segments_begin_where_nothing_of_the_one_before_is_left(document: Json) -> None:
    end = -1
    for base, batches in segment_bases(document):
        assert base > end
        assert all(written["base_offset"] >= base for written in batches)
        end = batches[-1]["last_offset"] if batches else base - 1


def a_transactional_producer_writes_in_transactions_alone(document: Json) -> None:
    for written in of_magic_2(document):
        assert written["transactional"] == (written["producer_id"] >= 3)
        assert written["control"] in {None, "LEADER_CHANGE"} or written["transactional"]
        if written["base_sequence"] >= 0:
            assert written["producer_id"] >= 0
            assert written["control"] is None


def epochs_never_go_back(document: Json) -> None:
    leader = 0
    producers: dict[int, int] = {}
    for written in of_magic_2(document):
        assert written["epoch"] >= leader
        leader = written["epoch"]
        known = producers.get(written["producer_id"], -1)
        assert written["producer_epoch"] >= known
        producers[written["producer_id"]] = written["producer_epoch"]


def an_emptied_batch_has_no_horizon_and_kafka_2_8_has_none_at_all(document: Json) -> None:
    for written in written_batches(document):
        if not written["records"] or document["rules"]["preset"] == "kafka-2.8":
            assert written.get("delete_horizon_ms") is None


def every_log_is_cleaned_at_least_once(document: Json) -> None:
    assert document["steps"][0]["op"] == "clean"


CHECKS = (
    replog_answers_every_random_log,
    offsets_only_grow_but_where_the_log_is_cut,
    segments_begin_where_nothing_of_the_one_before_is_left,
    a_transactional_producer_writes_in_transactions_alone,
    epochs_never_go_back,
    an_emptied_batch_has_no_horizon_and_kafka_2_8_has_none_at_all,
    every_log_is_cleaned_at_least_once,
)


@few
@given(any_document)
def test_a_random_log_is_one_that_kafka_could_hold(document: Json) -> None:
    for check in CHECKS:
        check(document)


def test_sequences_wrap_after_the_largest() -> None:
    builder = LogBuilder(0, (LAST_SEQUENCE - 1,))

    first = builder.write(batch("a", "b", producer=1))
    second = builder.write(batch("a", producer=1))

    assert first["base_sequence"] == LAST_SEQUENCE - 1
    assert second["base_sequence"] == 0


def test_a_higher_producer_epoch_starts_sequences_anew() -> None:
    builder = LogBuilder(0, (5,))
    builder.write(batch("a", producer=1))

    again = builder.write(batch("a", producer=1, bump=True))

    assert (again["producer_epoch"], again["base_sequence"]) == (1, 0)


def test_vanished_batches_took_sequences_with_them() -> None:
    builder = LogBuilder(0, (0,))

    written = builder.write(batch("a", producer=1, missing_before=3, missing_after=1))

    assert (written["base_offset"], written["last_offset"]) == (3, 4)
    assert written["base_sequence"] == 3


def test_an_open_transaction_holds_the_last_stable_offset() -> None:
    builder = LogBuilder(0, (0,))
    builder.write(batch("a"))
    builder.write(batch("a", producer=3))
    assert builder.last_stable_offset == 1

    builder.write(Marker(producer=3, commit=True))

    assert builder.last_stable_offset == builder.end == 3


def test_an_emptied_marker_ends_no_transaction() -> None:
    builder = LogBuilder(0, (0,))
    builder.write(batch("a", producer=3))

    marker = builder.write(Marker(producer=3, commit=False, emptied=True))

    assert marker["records"] == []
    assert builder.undecided == [3]


def test_a_pass_stays_below_an_open_transaction() -> None:
    plan = Plan(
        segments=(
            Segment((batch("a"),)),
            Segment((batch("a", producer=3),)),
            Segment(()),
        ),
        steps=(Clean(NOW),),
    )

    (step,) = build(plan)["steps"]

    assert step["upper_bound"] == 1


def test_a_log_without_a_closed_segment_is_cleaned_up_to_its_start() -> None:
    plan = Plan(segments=(Segment((batch("a"),)), Segment(())), steps=(Clean(NOW),), start=7)

    document = build(plan)

    assert document["segments"][0][0]["base_offset"] == 7
    assert document["steps"][0]["upper_bound"] == 8


def test_the_clock_can_be_at_a_horizon_of_an_earlier_pass() -> None:
    at_horizon = Clean(Now("horizon", -1))
    plan = Plan(
        segments=(Segment((batch("a"),)), Segment(())),
        steps=(Clean(NOW), at_horizon),
        delete_retention_ms=50,
    )

    first, second = build(plan)["steps"]

    assert second["now_ms"] == first["now_ms"] + 49


def test_what_is_appended_later_is_not_in_the_log_from_the_beginning() -> None:
    plan = Plan(
        segments=(Segment((batch("a"),)), Segment((), missing_before=2)),
        steps=(Clean(NOW), Append((batch("b"),), roll_after=True)),
    )

    document = build(plan)

    assert document["segments"][1] == {"base_offset": 3, "batches": []}
    assert document["steps"][1]["batches"][0]["base_offset"] == 3


def test_a_retry_has_the_numbers_of_a_batch_that_was_sent() -> None:
    plan = Plan(
        segments=(Segment((batch("a", "b", producer=1),)), Segment(())),
        steps=(Retry(which=0), Retry(which=0, shift=1)),
    )

    same, other = build(plan)["steps"]

    assert (same["base_sequence"], same["keys"]) == (0, ["a", "b"])
    assert other["base_sequence"] == 1


def test_a_large_gap_is_more_than_a_segment_may_span() -> None:
    plan = Plan(
        segments=(Segment((batch("a"),)), Segment((batch("a"),), LARGE_GAP), Segment(())),
        steps=(Clean(NOW),),
    )

    answered = answer(build(plan))["steps"][0]

    assert {left["segment"] for left in answered["batches"]} == {LARGE_GAP + 1}
    assert answered["next_dirty_offset"] == LARGE_GAP + 2


@pytest.mark.parametrize("preset", PRESETS)
def test_a_plan_says_what_it_is_cleaned_like(preset: str) -> None:
    plan = Plan(segments=(Segment(()), Segment(())), steps=(), preset=preset, modified_ms=3)

    rules = build(plan)["rules"]

    assert (rules["preset"], rules["segment_last_modified_ms"]) == (preset, 3)
