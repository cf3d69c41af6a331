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
