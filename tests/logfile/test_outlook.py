"""A log that is not due: what stands in the way, when it is due, and which setting cures it."""

from typing import Any

import pytest

from sim.simulate.logfile.explain import explain_key
from sim.simulate.logfile.file import log_file_from
from tests.logfile.many_logs import MAX_LAG, MIN_LAG, NOW, RATIO, asked, log
from tests.logfile.test_settings import answered, batch

Json = dict[str, Any]

LONG_VALUE = "a value of some length, as state stores have them"


def changelog(**beside: Any) -> Json:
    """Three long values that were cleaned, then a tombstone: a sixth of the bytes is dirty."""
    values = [batch(at, f"k{at + 1}", LONG_VALUE, 1000) for at in range(3)]
    steps: list[Json] = [
        {"op": "clean", "now_ms": 10_000},
        {"op": "append", "batches": [batch(3, "k1", None, 20_000)], "roll_after": True},
        {"op": "clean", "now_ms": 30_000},
    ]
    return {"format": "replog-log/1", "segments": [values, []], "steps": steps, **beside}


def test_a_log_that_is_not_dirty_enough_says_ratio_and_threshold() -> None:
    answer, _ = answered(changelog())
    last = answer["steps"][2]

    assert (last["selected"], last["tombstone_offsets"]) == (False, [3])
    assert "is not above min.cleanable.dirty.ratio 0.5" in last["why"]
    assert f"ratio {last['cleanable_ratio']:g} (" in last["why"]
    assert last["outlook"].startswith("if nothing more is written it is never due; ")


def test_the_cure_that_is_told_cures_it() -> None:
    told = answered(changelog())[0]["steps"][2]["outlook"]
    words = told.partition(NOW_BY)[2].split()
    ratio, lag = words[1], words[words.index("max.compaction.lag.ms") + 1]

    for cured in ({"min.cleanable.dirty.ratio": ratio}, {"max.compaction.lag.ms": lag}):
        assert answered(changelog(topic=cured))[0]["steps"][2]["selected"]
    for short in (
        {"min.cleanable.dirty.ratio": float(ratio) + 0.001},
        {"max.compaction.lag.ms": int(lag) + 1},
    ):
        assert not answered(changelog(topic=short))[0]["steps"][2]["selected"]


def test_an_explanation_does_not_take_not_due_for_not_dirty() -> None:
    value, tombstone = explain_key(log_file_from(changelog()), "k1").records

    for one in (value, tombstone):
        assert "no pass was run in step 3: the log was not eligible: no delay" in one.sentence
        assert "nothing was dirty" not in one.sentence


NOW_BY = "; what would make it due now: "
CLOSED = "the active segment closed, as an append does by segment.ms or segment.bytes"
CLEAN = log(0, 5, 10, end=15)


@pytest.mark.parametrize(
    ("topic", "fields", "told"),
    [
        (
            {MIN_LAG: 1000},
            {},
            f"it is due at {NOW + 1000} ms at the earliest{NOW_BY}min.compaction.lag.ms 0",
        ),
        (
            {RATIO: 1, MAX_LAG: 1000},
            {},
            f"it is due at {NOW + 1001} ms at the earliest{NOW_BY}{RATIO} 0.999 or lower",
        ),
        ({}, {"high_watermark": 0}, f"it is never due{NOW_BY}a high watermark of 15"),
        (
            {RATIO: 1, MIN_LAG: 1000},
            {},
            f"it is never due{NOW_BY}{MIN_LAG} 0, with {RATIO} 0.999 or lower",
        ),
        (
            {},
            {"high_watermark": 15, "last_stable_offset": 0},
            f"it is never due{NOW_BY}the end of that transaction",
        ),
        (
            {},
            {"checkpoint": 10},
            f"it is never due{NOW_BY}{CLOSED}",
        ),
        ({}, {"checkpoint": 15}, "it is never due"),
    ],
)
def test_what_stands_in_the_way_is_told_with_its_cure(topic: Json, fields: Json, told: str) -> None:
    one = asked(topic=topic, a=CLEAN | fields)["logs"]["a"]

    assert not one["eligible"]
    assert one["outlook"] == f"if nothing more is written {told}"


def test_when_it_is_due_it_is_eligible_and_not_a_moment_before() -> None:
    topic = {RATIO: 0.6, MIN_LAG: 700, MAX_LAG: 5000}
    aging = log(0, 5, 10, 15, end=20, checkpoint=5)
    for number, one in enumerate(aging["segments"]):
        one["largest_timestamp_ms"] = one["first_batch_timestamp_ms"] = NOW + 100 * number
    told = asked(topic=topic, a=aging)["logs"]["a"]["outlook"]
    due_ms = int(told.split(" ms")[0].split()[-1])

    assert asked(topic=topic, a=aging, now=due_ms)["logs"]["a"]["eligible"]
    assert not asked(topic=topic, a=aging, now=due_ms - 1)["logs"]["a"]["eligible"]


def test_a_pass_that_is_held_back_says_by_what() -> None:
    held = changelog(topic={"min.compaction.lag.ms": 15_000, "min.cleanable.dirty.ratio": 0})
    held["steps"][0]["now_ms"] = 30_000
    *_, tombstone = explain_key(log_file_from(held), "k1").records

    assert "min.compaction.lag.ms 15000 keeps the segment at 3" in tombstone.sentence


def of_transactions(*steps: Json, **beside: Any) -> Json:
    """Values at 0 to 4; that at 1 is in a transaction of producer 7, and `steps` come last."""
    values = [batch(at, "a", "1", 0) for at in range(5)]
    values[1] |= {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    segments = [values[:3], [values[3]], [values[4]]]
    return {"format": "replog-log/1", "segments": segments, "steps": [*steps], **beside}


def ends(producer: int, offset: int) -> Json:
    """A step that appends a COMMIT marker."""
    marker = {"base_offset": offset, "last_offset": offset, "control": "COMMIT"}
    marker |= {"producer_id": producer, "producer_epoch": 0, "transactional": True}
    marker |= {"records": [{"offset": offset, "marker": "COMMIT", "timestamp_ms": 0}]}
    return {"op": "append", "batches": [marker]}


PASS: Json = {"op": "clean", "now_ms": 1000}
ENDED, OPEN = "what would make it due now: a high watermark of 6", "the end of that transaction"


@pytest.mark.parametrize("preset", ["kafka-2.8", "kafka-4.0"])
def test_a_transaction_whose_marker_is_above_the_high_watermark_needs_that_to_rise(
    preset: str,
) -> None:
    rules = {"preset": preset}
    to = [{"op": "high_watermark", "offset": offset} for offset in (2, 6)]
    file = of_transactions(ends(7, 5), to[0], PASS, to[1], PASS, rules=rules, high_watermark=1)
    answer, _ = answered(file)
    early, late = answer["steps"][2], answer["steps"][4]

    assert ENDED in early["outlook"]
    assert "is not decided below the high watermark 2" in early["why"]
    assert (early["selected"], late["selected"]) == (False, True)


def test_the_high_watermark_of_a_file_decides_which_transactions_are_decided() -> None:
    file = of_transactions(PASS, {"op": "high_watermark", "offset": 6}, PASS, high_watermark=2)
    file["segments"][2] += ends(7, 5)["batches"]
    first, _, last = answered(file)[0]["steps"]

    assert (first["selected"], first["last_stable_offset"]) == (False, 1)
    assert last["selected"]


def test_the_end_of_one_of_two_open_transactions_is_no_cure() -> None:
    file = of_transactions(PASS, ends(7, 5), PASS)
    second = file["segments"][0][2]
    second |= {"producer_id": 8, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    first, _, last = answered(file)[0]["steps"]

    assert OPEN not in first["outlook"]
    assert not last["selected"]
    assert OPEN in last["outlook"]


def test_a_cleaned_segment_is_as_old_as_what_the_first_buffer_has() -> None:
    """A buffer is 256 KiB, and each goes by a call of its own (LogSegment.append)."""
    large = [batch(at, key, "v" * 200_000, ms) for at, key, ms in ((0, "a", 10), (1, "b", 19_500))]
    file = {
        "format": "replog-log/1",
        "rules": {"preset": "kafka-2.8"},
        "topic": {RATIO: 1, MAX_LAG: 1000},
        "segments": [large, [batch(2, "c", "v", 19_600)], []],
        "steps": [
            {"op": "clean", "now_ms": 19_900}
            | {"first_dirty_offset": 0, "upper_bound": 2, "map_capacity": 1},
            {"op": "clean", "now_ms": 20_000},
        ],
    }
    last = answered(file)[0]["steps"][1]

    assert (last["selected"], last["compaction_delay_ms"]) == (True, 18_990)


def test_no_maximum_lag_is_told_that_lowers_the_estimate_as_well() -> None:
    log_ = {
        "segments": [
            {"base_offset": 0, "size_bytes": 100, "largest_timestamp_ms": 2},
            {"base_offset": 10, "size_bytes": 100, "largest_timestamp_ms": NOW},
            {"base_offset": 20, "size_bytes": 50},
        ],
        "log_end_offset": 30,
        "checkpoint": 10,
    }
    topic = {RATIO: 0.9, MAX_LAG: 1000}
    one = asked(topic=topic, rules={"lag_estimate": "largest_less_roll"}, a=log_)["logs"]["a"]

    assert not one["eligible"]
    assert MAX_LAG not in one["outlook"]
