"""Which log the cleaner chooses: cases of Kafka's LogCleanerManagerTest and LogCleanerTest."""

from typing import Any

import pytest

from tests.logfile.many_logs import HOUR, MAX_LAG, MIN_LAG, NOW, RATIO, Json, asked, log


def filthy(segments: int, **fields: Any) -> Json:
    """A log of segments of five offsets each and an empty active one, clean up to 20."""
    bases = [5 * number for number in range(segments + 1)]
    return log(*bases, end=5 * segments, **({"checkpoint": 20} | fields))


def increasingly_filthy(**of_third: Any) -> dict[str, Json]:
    return {"a": filthy(4), "b": filthy(5), "c": filthy(6, **of_third)}


def test_the_dirtiest_log_is_selected() -> None:
    """As testGrabFilthiestCompactedLogReturnsLogWithDirtiestRatio."""
    told = asked(**increasingly_filthy())

    assert told["selected"] == "c"
    assert [one["cleanable_ratio"] for one in told["logs"].values()] == [0.0, 1 / 5, 2 / 6]
    assert [one["eligible"] for one in told["logs"].values()] == [False, True, True]


@pytest.mark.parametrize(
    ("field", "why"), [("in_progress", "in progress"), ("uncleanable", "marked uncleanable")]
)
def test_a_log_that_cannot_be_taken_gets_its_numbers_but_is_not_selected(
    field: str, why: str
) -> None:
    """As testGrabFilthiestCompactedLogIgnores{InProgress,Uncleanable}Partitions."""
    told = asked(**increasingly_filthy(**{field: True}))

    assert told["selected"] == "b"
    found = told["logs"]["c"]
    assert (found["eligible"], found["cleanable_ratio"], found["cleanable_bytes"]) == (
        False,
        2 / 6,
        200,
    )
    assert found["why"].startswith(f"not eligible: it is {why}")


def test_with_one_in_progress_and_one_uncleanable_nothing_is_left() -> None:
    """As testGrabFilthiestCompactedLogIgnoresBothInProgressPartitionsAndUncleanablePartitions."""
    told = asked(
        a=filthy(4), b=filthy(5, uncleanable=True), c=filthy(6, in_progress=True, uncleanable=True)
    )

    assert told["selected"] is None
    assert "in progress" in told["logs"]["c"]["why"], "that is looked at first"


def test_a_checkpoint_above_the_log_end_is_reset_to_the_log_start() -> None:
    """As testDirtyOffsetResetIfLargerThanEndOffset."""
    told = asked(a=filthy(4, checkpoint=200))["logs"]["a"]

    assert (told["first_dirty_offset"], told["force_update_checkpoint"]) == (0, True)
    assert told["eligible"]


def test_a_checkpoint_below_the_log_start_is_reset_to_it() -> None:
    """As testDirtyOffsetResetIfSmallerThanStartOffset."""
    told = asked(a=filthy(4, checkpoint=0, log_start_offset=10))["logs"]["a"]

    assert (told["first_dirty_offset"], told["force_update_checkpoint"]) == (10, True)
    assert (told["clean_bytes"], told["cleanable_bytes"]) == (200, 200)


@pytest.mark.parametrize(
    ("start", "checkpoint", "forced"), [(10, 15, False), (20, 15, True), (20, 25, True)]
)
def test_only_an_invalid_checkpoint_is_rewritten(start: int, checkpoint: int, forced: bool) -> None:
    """As testCleanableOffsetsNeedsCheckpointReset; the log ends at 20."""
    told = asked(a=filthy(4, checkpoint=checkpoint, log_start_offset=start))["logs"]["a"]

    assert told["force_update_checkpoint"] is forced


def test_without_a_checkpoint_the_log_start_is_dirty() -> None:
    for checkpoint in ({}, {"checkpoint": None}):
        told = asked(a=log(5, 10, end=10, **checkpoint))["logs"]["a"]

        assert (told["first_dirty_offset"], told["force_update_checkpoint"]) == (5, False)


def test_an_invalid_checkpoint_is_rewritten_although_nothing_is_cleaned() -> None:
    """As testCheckpointUpdatedForInvalidOffsetNoCleaning."""
    told = asked(a=filthy(4, checkpoint=15, log_start_offset=20))

    assert (told["selected"], told["logs"]["a"]["force_update_checkpoint"]) == (None, True)


def test_an_invalid_checkpoint_is_rewritten_although_another_log_is_selected() -> None:
    """As testCheckpointUpdatedForInvalidOffsetNotSelected."""
    told = asked(a=filthy(4, checkpoint=10, log_start_offset=15), b=filthy(5, checkpoint=5))

    assert told["selected"] == "b"
    assert told["logs"]["a"]["force_update_checkpoint"] is True


def test_a_log_that_starts_inside_its_active_segment_is_not_cleaned() -> None:
    """As testLogStartOffsetLargerThanActiveSegmentBaseOffset."""
    told = asked(a=log(0, end=9, log_start_offset=2, checkpoint=0))

    assert told["selected"] is None
    found = told["logs"]["a"]
    assert (found["first_dirty_offset"], found["first_uncleanable_offset"]) == (2, 2)
    assert (found["effective_upper_bound"], found["cleanable_ratio"]) == (0, 0.0)


def test_a_checkpoint_inside_the_active_segment_is_valid() -> None:
    """As testDirtyOffsetLargerThanActiveSegmentBaseOffset, after an unclean election."""
    found = asked(a=log(0, end=6, checkpoint=3))["logs"]["a"]

    assert (found["first_dirty_offset"], found["force_update_checkpoint"]) == (3, False)
    assert (found["eligible"], found["cleanable_bytes"]) == (False, 0)
    assert "first dirty offset 3 is past all that may be cleaned" in found["why"]


EIGHT = (0, 14, 28, 42, 56, 70, 84, 98)


def test_cleaning_is_bounded_by_the_high_watermark() -> None:
    """As testCleanableOffsetsForNone (KAFKA-13194)."""
    found = asked(a=log(*EIGHT, end=99, high_watermark=50, checkpoint=0))["logs"]["a"]

    assert (found["first_uncleanable_offset"], found["effective_upper_bound"]) == (50, 42)
    assert found["why"].endswith(
        "; bound 42 (rounded down to a segment from 50): the high watermark is 50"
    )


def test_cleaning_is_bounded_by_the_active_segment() -> None:
    """As testCleanableOffsetsActiveSegment."""
    found = asked(a=log(*EIGHT, end=99, checkpoint=0))["logs"]["a"]

    assert (found["first_uncleanable_offset"], found["effective_upper_bound"]) == (98, 98)
    assert found["why"].endswith("; bound 98: the active segment, from 98, is never cleaned")


def test_cleaning_is_bounded_by_the_minimum_lag() -> None:
    """As testCleanableOffsetsForTime: from 42 on the records are an hour and 1 ms younger."""
    lagging = log(*EIGHT, end=99, checkpoint=0)
    for segment in lagging["segments"][3:]:
        segment["largest_timestamp_ms"] = NOW + HOUR + 1
    found = asked(now=NOW + HOUR + 1, topic={MIN_LAG: HOUR}, a=lagging)["logs"]["a"]

    assert (found["first_uncleanable_offset"], found["effective_upper_bound"]) == (42, 42)
    assert "min.compaction.lag.ms 3600000 keeps the segment at 42" in found["why"]


@pytest.mark.parametrize(("now", "bound"), [(NOW + HOUR - 1, 0), (NOW + HOUR, 98)])
def test_the_minimum_lag_is_over_after_exactly_its_time(now: int, bound: int) -> None:
    """As testCleanableOffsetsForShortTime, and one millisecond less."""
    found = asked(now=now, topic={MIN_LAG: HOUR}, a=log(*EIGHT, end=99))["logs"]["a"]

    assert found["first_uncleanable_offset"] == bound


@pytest.mark.parametrize(("modified", "bound"), [(NOW - HOUR, 10), (NOW - HOUR + 1, 0)])
def test_a_segment_without_timestamps_uses_its_last_modification(modified: int, bound: int) -> None:
    old = log(0, 10, end=10)
    old["segments"][0] |= {"largest_timestamp_ms": -1, "last_modified_ms": modified}

    found = asked(topic={MIN_LAG: HOUR}, a=old)["logs"]["a"]
    assert found["first_uncleanable_offset"] == bound


@pytest.mark.parametrize(
    ("watermark", "stable", "now", "bound"),
    [
        (3, 0, NOW + HOUR + 1, 0),
        (4, 4, NOW + HOUR + 1, 3),
        (4, 4, NOW + 2 * HOUR + 2, 4),
    ],
)
def test_undecided_transactional_data_is_not_cleaned(
    watermark: int, stable: int, now: int, bound: int
) -> None:
    """As testUndecidedTransactionalDataNotCleanable: an ABORT at 3, an hour later, decides it."""
    undecided = log(0, 3, 4, end=4, high_watermark=watermark, last_stable_offset=stable)
    undecided["segments"][1]["largest_timestamp_ms"] = NOW + HOUR + 1
    found = asked(now=now, topic={MIN_LAG: HOUR}, a=undecided)["logs"]["a"]

    assert found["first_uncleanable_offset"] == bound
    assert ("is not decided below the high watermark 3" in found["why"]) is (stable == 0)


def test_the_bytes_of_the_active_segment_do_not_count() -> None:
    """As testLogToClean."""
    found = asked(a=log(0, 1, 2, 3, 4, 5, end=6, checkpoint=5))["logs"]["a"]

    assert found["clean_bytes"] + found["cleanable_bytes"] == 500


def test_bytes_above_the_bound_do_not_count() -> None:
    """As testLogToCleanWithUncleanableSection."""
    found = asked(a=log(0, 1, 2, 3, 4, 5, end=6, checkpoint=2, high_watermark=4))["logs"]["a"]

    assert (found["clean_bytes"], found["cleanable_bytes"]) == (200, 200)
    assert found["cleanable_ratio"] == 0.5


def test_a_segment_that_straddles_the_first_dirty_offset_counts_on_both_sides() -> None:
    found = asked(a=log(0, 10, 20, end=20, checkpoint=5))["logs"]["a"]

    assert (found["clean_bytes"], found["cleanable_bytes"]) == (100, 200)


def test_a_log_of_0_bytes_has_no_ratio() -> None:
    found = asked(a=log(0, end=0))["logs"]["a"]

    assert (found["cleanable_ratio"], found["eligible"]) == (None, False)
    assert found["why"].startswith("not eligible: 0 bytes")


@pytest.mark.parametrize(
    ("ratio", "eligible"), [(0.5, False), (0.499, True), (0, True), (1, False)]
)
def test_the_ratio_has_to_be_above_the_minimum(ratio: float, eligible: bool) -> None:
    found = asked(topic={RATIO: ratio}, a=log(0, 10, 20, end=20, checkpoint=10))["logs"]["a"]

    assert found["eligible"] is eligible
    assert f"ratio 0.5 (100 of 200 bytes) is {'' if eligible else 'not '}above" in found["why"]


@pytest.mark.parametrize(("now", "delay"), [(NOW + 100, 0), (NOW + 101, 1)])
def test_an_overdue_log_is_eligible_whatever_its_ratio(now: int, delay: int) -> None:
    topic = {RATIO: 1, MAX_LAG: 100}
    found = asked(now=now, topic=topic, a=log(0, 10, 20, end=20, checkpoint=10))["logs"]["a"]

    assert (found["compaction_delay_ms"], found["eligible"]) == (delay, delay > 0)
    said = (
        f"eligible by delay: its oldest dirty segment, of {NOW} ms, is 1 ms over "
        "max.compaction.lag.ms 100, and 100 bytes are cleanable; "
        if delay
        else f"not eligible: no delay, its oldest dirty segment of {NOW} ms is 100 ms old, not "
        "more than max.compaction.lag.ms 100, and ratio 0.5 (100 of 200 bytes) is not above "
    )
    assert found["why"].startswith(said)


def test_an_overdue_log_with_nothing_cleanable_is_not_eligible() -> None:
    topic = {MAX_LAG: 100}
    stuck = log(0, 10, 20, end=20, checkpoint=10, high_watermark=15)
    found = asked(now=NOW + 500, topic=topic, a=stuck)["logs"]["a"]

    assert (found["compaction_delay_ms"], found["eligible"]) == (400, False)
    assert found["why"].startswith("not eligible by delay: ")
    assert "but 0 bytes are cleanable" in found["why"]


def test_only_first_batch_timestamps_above_0_count_for_the_delay() -> None:
    found = asked(now=NOW, topic={MAX_LAG: 1}, a=log(0, 10, end=10, at=0))["logs"]["a"]

    assert found["compaction_delay_ms"] == 0
    assert "has a first timestamp above 0" not in found["why"], "the ratio made it eligible"


def test_settings_pasted_in_beside_the_three_are_ignored() -> None:
    pasted = {"cleanup.policy": "compact,delete", "segment.ms": 9, "retention.ms": 1}

    assert asked(topic=pasted, a=filthy(6)) == asked(a=filthy(6))
