"""What Kafka's own unit tests claim of maps, bounds and segments, on logs of our own.

Source: LogCleanerTest.
"""

from tests.logfile.writer import (
    DAY_MS,
    Writer,
    emptied,
    gone,
    horizons,
    segments_of,
    surviving,
)

NOW = 1_000_000
LONG = 2**63 - 1


def test_keys_of_a_given_map_go_and_the_others_stay() -> None:
    """As testCleanSegments: a pretended map says that some keys have newer records far above."""
    log = Writer({"preset": "kafka-3.8"})
    log.singles("a=1", "b=2")
    log.roll()
    log.singles("c=3", "d=4", "e=5")
    log.roll()
    log.singles("b=6")
    log.clean(offset_map={"b": LONG, "d": LONG}, map_latest_offset=LONG)

    (told,) = log.cleaned()

    assert surviving(told) == [0, 2, 4, 5]
    assert gone(told) == {1: f"superseded by {LONG}", 3: f"superseded by {LONG}"}


def test_the_last_batch_stays_empty_when_every_key_of_a_given_map_goes() -> None:
    """As testCleanSegmentsRetainingLastEmptyBatch."""
    log = Writer()
    log.data("a=1", "b=2")
    log.roll()
    log.data("c=3", "d=4")
    log.roll()
    log.singles("e=5")
    log.clean(offset_map=dict.fromkeys("abcd", LONG), map_latest_offset=LONG, bound=4)

    (told,) = log.cleaned()

    assert [(batch["last_offset"], batch["segment"]) for batch in told["batches"]] == [
        (3, 0),
        (4, 4),
    ]
    assert emptied(told) == [3]


def test_a_full_map_counts_what_it_read_and_wrote() -> None:
    """As testLogCleanerStats: the dirty section starts at 2, three keys fit."""
    log = Writer()
    log.singles("a=0", "b=1", "a=2", "b=3", "a=4")
    log.roll()
    log.clean(2, map_capacity=3)

    (told,) = log.cleaned()

    assert (told["next_dirty_offset"], told["messages_read"], told["messages_written"]) == (5, 5, 2)
    assert told["invalid_messages"] == 0


def test_a_segment_is_cleaned_in_part_when_one_key_fits() -> None:
    """As testPartialSegmentClean: each pass gets one message further."""
    log = Writer()
    log.singles("a=0", "b=1", "a=2", "b=3", "a=4")
    log.roll()
    for dirty in (2, 3, 4):
        log.clean(dirty, map_capacity=1)

    passes = log.cleaned()

    assert [told["next_dirty_offset"] for told in passes] == [3, 4, 5]
    assert [surviving(told) for told in passes] == [[1, 2, 3, 4], [2, 3, 4], [3, 4]]


def test_segments_from_the_upper_bound_on_are_left_alone() -> None:
    """As testCleaningWithUncleanableSection: a bound inside a segment leaves that one out."""
    log = Writer()
    for _ in range(4):
        log.singles("a=1", "b=1", "a=2")
        log.roll()
    log.clean(bound=7)

    (told,) = log.cleaned()

    assert told["effective_upper_bound"] == 6
    assert surviving(told) == [4, 5, 6, 7, 8, 9, 10, 11]


def test_unkeyed_records_go_and_are_counted() -> None:
    """As testCleaningWithUnkeyedMessages."""
    log = Writer()
    log.singles("=1", "=2", "=3")
    log.roll()
    log.singles("a=1")
    log.roll()
    log.clean()

    (told,) = log.cleaned()

    assert (surviving(told), told["invalid_messages"]) == ([3], 3)
    assert gone(told) == dict.fromkeys(range(3), "no key")


def test_a_group_of_segments_never_spans_more_than_31_bits() -> None:
    """As testSegmentGroupingWithSparseOffsetsAndEmptySegments: empty ones join in the next pass."""
    span = 2**31
    log = Writer({"preset": "kafka-3.8"})
    for _ in range(3):
        log.data("k=v")
        log.data("k=v", gap=span - 2)
        log.roll()
    log.data("k=v")
    log.clean(bound=3 * span)
    log.step("roll")
    log.clean(bound=3 * span)

    first, second = log.cleaned()

    assert first["next_dirty_offset"] == second["next_dirty_offset"] == 3 * span
    assert surviving(first) == [3 * span - 1, 3 * span]
    assert segments_of(first) == [2 * span, 3 * span]


def test_a_large_jump_of_offsets_is_mapped_to_its_end() -> None:
    """As testBuildOffsetMapFakeLarge."""
    log = Writer()
    log.data("a=1")
    log.data("b=1", gap=7_206_177)
    log.roll()
    log.clean()

    (told,) = log.cleaned()

    assert (surviving(told), told["next_dirty_offset"]) == ([0, 7_206_178], 7_206_179)


def test_the_map_ends_before_the_first_key_that_does_not_fit() -> None:
    """As testBuildPartialOffsetMap: two keys fit, the section starts at 2."""
    log = Writer()
    log.singles("a=1", "b=1", "c=1", "d=1", "e=1")
    log.roll()
    log.clean(2, map_capacity=2)

    assert log.cleaned()[0]["next_dirty_offset"] == 4


def test_a_tombstone_with_an_old_timestamp_waits_like_any_other() -> None:
    """As testCleanTombstone: timestamps of records do not count."""
    log = Writer()
    log.data("k=0", timestamp_ms=NOW + 2 * DAY_MS)
    log.roll()
    log.clean(now=NOW)
    log.data("k", timestamp_ms=0)
    log.roll()
    log.clean(1, now=NOW)
    log.data("l=1")
    log.roll()
    log.clean(2, now=NOW)

    _, second, third = log.cleaned()

    assert (surviving(second), horizons(second)) == ([1], {1: NOW + DAY_MS})
    assert (surviving(third), third["tombstone_offsets"]) == ([1, 2], [1])


def test_gaps_between_segments_do_not_stop_the_cleaner() -> None:
    """As testCleaningBeyondMissingOffsets (KAFKA-8764)."""
    log = Writer()
    log.singles(*[f"{key}=v" for key in "abcdefghij"])
    log.roll(missing=5)
    log.singles(*[f"{key}=v" for key in "klmnopqrst"])
    log.roll(missing=5)
    log.singles("z=1")
    log.clean(bound=30)

    (told,) = log.cleaned()

    assert told["next_dirty_offset"] == 30
    assert segments_of(told) == [0, 30]


def test_only_the_segments_the_map_reached_are_merged() -> None:
    """As testSizeTrimmedForPreallocatedAndCompactedTopic has one; here a second is left alone."""
    log = Writer()
    log.singles("a=0", "b=1", "a=2")
    log.roll()
    log.singles("c=3", "d=4")
    log.roll()
    log.clean(map_capacity=2)

    (told,) = log.cleaned()

    assert (told["next_dirty_offset"], segments_of(told)) == (2, [0, 3])


def conflicting(preset: str) -> Writer:
    """A user record whose key has the very bytes of the COMMIT marker's before it."""
    log = Writer({"preset": preset})
    log.data("a=1", producer=1)
    log.commit(1)
    log.data("\0\0\0\1=foo", producer=2)
    log.commit(2)
    log.roll()
    log.clean()
    return log


def test_a_user_key_with_a_markers_bytes_evicts_no_marker() -> None:
    """As testCleaningWithKeysConflictingWithTxnMarkerKeys (KAFKA-14055)."""
    (told,) = conflicting("kafka-4.0").cleaned()

    assert surviving(told) == [0, 1, 2, 3]


def test_before_3_3_a_user_key_with_a_markers_bytes_evicted_it() -> None:
    (told,) = conflicting("kafka-2.8").cleaned()

    assert gone(told) == {1: "superseded by 2"}
