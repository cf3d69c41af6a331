"""The fine print of log files, sentence by sentence: maps, bounds and segments."""

from typing import Any

import pytest

from sim.limits import LONG
from sim.logfile.answer import answer
from tests.logfile.writer import (
    Json,
    Writer,
    segments_of,
    surviving,
)


def test_a_full_map_range_adds_the_winners_of_the_clean_section() -> None:
    """Capacity counts keys of the dirty section only."""
    for map_range, kept in (("full", [0, 1, 3]), ("dirty", [0, 1, 2, 3])):
        log = Writer({"map_range": map_range, "strategy": "timestamp"})
        for offset, (key, timestamp) in enumerate((("a", 9), ("b", 9), ("a", 1), ("c", 1))):
            log.data(f"{key}=v")
            log.segments[-1]["batches"][offset]["records"][0]["timestamp_ms"] = timestamp
        log.roll()
        log.clean(2, map_capacity=2)

        (told,) = log.cleaned()
        assert (surviving(told), told["next_dirty_offset"]) == (kept, 4)


def test_a_marker_is_no_tombstone() -> None:
    log = Writer()
    log.data("a=1", "b", producer=1)
    log.commit(1)
    log.roll()
    log.clean()

    (told,) = log.cleaned()

    assert (surviving(told), told["tombstone_offsets"]) == ([0, 1, 2], [1])


@pytest.mark.parametrize(
    ("dirty", "fields"), [(2, {}), (9, {}), (0, {"map_capacity": 0}), (0, {"bound": 0})]
)
def test_a_pass_into_whose_map_nothing_can_enter_changes_nothing(dirty: int, fields: Json) -> None:
    """Not even a tombstone long past its horizon goes."""
    log = Writer()
    log.singles("k=1")
    log.data("k", delete_horizon_ms=1)
    log.roll()
    log.clean(dirty, now=99, **fields)

    (told,) = log.cleaned()

    assert (surviving(told), told["next_dirty_offset"], told["removed"]) == ([0, 1], dirty, {})
    assert (told["messages_read"], told["messages_written"]) == (0, 0)


def test_a_log_that_starts_above_0_has_nothing_below_its_first_segment() -> None:
    log = Writer()
    log.end = log.segments[0]["base_offset"] = 7
    log.singles("k=1", "k=2")
    log.roll()
    log.clean(0, bound=7)
    log.clean(0, bound=3)
    log.clean(0)

    below, lower, whole = log.cleaned()

    assert [t["next_dirty_offset"] for t in (below, lower, whole)] == [0, 0, 9]
    assert (surviving(lower), surviving(whole)) == ([7, 8], [8])


def test_the_first_dirty_offset_need_not_continue_the_last_pass() -> None:
    log = Writer()
    log.singles("a=1", "b=1", "a=2", "b=2")
    log.roll()
    log.clean(3)
    log.clean(1)

    first, second = log.cleaned()

    assert (surviving(first), first["next_dirty_offset"]) == ([0, 2, 3], 4)
    assert (surviving(second), second["next_dirty_offset"]) == ([2, 3], 4)


@pytest.mark.parametrize(("bound", "effective"), [(1, 0), (2, 2), (3, 2), (4, 4), (99, 4)])
def test_an_upper_bound_that_is_no_segment_base_is_rounded_down_to_one(
    bound: int, effective: int
) -> None:
    log = Writer()
    for _ in range(2):
        log.singles("a=1", "a=2")
        log.roll()
    log.singles("a=3")
    log.clean(bound=bound)

    (told,) = log.cleaned()

    assert told["effective_upper_bound"] == effective
    assert told["next_dirty_offset"] == effective


def test_the_bases_of_the_moment_count() -> None:
    """The first pass merges the segments: 2 is no base any more."""
    log = Writer()
    for _ in range(2):
        log.singles("a=1", "b=2")
        log.roll()
    log.clean()
    log.clean(bound=2)

    assert [told["effective_upper_bound"] for told in log.cleaned()] == [4, 0]


def test_all_covered_segments_become_one() -> None:
    log = Writer()
    for key in "abc":
        log.singles(f"{key}=1")
        log.roll()
    log.singles("d=1")
    log.clean()

    assert [batch["segment"] for batch in log.cleaned()[0]["batches"]] == [0, 0, 0, 3]


def test_a_fully_cleaned_group_stays_as_an_empty_segment() -> None:
    """Its base is still there to round down to."""
    log = Writer({"fix": "none", "tombstone_removal": "immediate"})
    log.singles("a=1", "a")
    log.roll()
    log.singles("b=1")
    log.clean(bound=2)
    log.clean(bound=1)

    first, second = log.cleaned()

    assert segments_of(first) == [2]
    assert second["effective_upper_bound"] == 0


def test_an_empty_segment_starts_where_the_previous_one_ends() -> None:
    log = Writer()
    log.singles("a=1", "b=1")
    document = log.document()
    document["segments"] = [log.segments[0]["batches"], []]
    document["steps"] = [
        {"op": "append", "batches": [{"base_offset": 5, "last_offset": 5, "records": []}]}
    ]

    assert [b["segment"] for b in answer(document)["steps"][0]["batches"]] == [0, 0, 2]


def test_rolling_an_empty_active_segment_does_nothing() -> None:
    log = Writer()
    log.singles("a=1")
    for _ in range(3):
        log.step("roll")
    log.step("append", batches=[], roll_after=True)
    log.data("a=2")
    log.step("roll")
    log.clean()

    assert log.answers()[-1]["effective_upper_bound"] == 2
    assert segments_of(log.answers()[-3]) == [0, 1]


def test_a_given_map_and_a_capacity_do_not_meet() -> None:
    """Kafka's unit tests set the capacity once for all passes; a map that is given has its own."""
    log = Writer()
    log.singles("a=1", "b=1")
    log.roll()
    log.clean(offset_map={"a": 9}, map_latest_offset=1, map_capacity=0)
    log.clean(2, forced_rescan=True, map_latest_offset=1, map_capacity=0)

    assert [surviving(told) for told in log.cleaned()] == [[1], [1]]


def test_what_a_given_map_does_not_reach_stays() -> None:
    log = Writer()
    log.singles("a=1", "=x")
    log.roll()
    log.singles("a=2")
    log.roll()
    log.clean(offset_map={"a": 9}, map_latest_offset=0)

    (told,) = log.cleaned()

    assert (surviving(told), told["next_dirty_offset"], segments_of(told)) == ([1, 2], 1, [0, 2])


@pytest.mark.parametrize("note", ["text", ["a", "list"], 7, None])
def test_note_and_expect_are_ignored(note: Any) -> None:
    log = Writer()
    log.singles("a=1")
    log.roll()
    log.clean()
    about = {"note": note, "expect": note, "id": "x", "title": "y", "source": "z"}

    assert answer(log.document(**about)) == answer(log.document())


def test_integers_are_exact() -> None:
    log = Writer()
    log.end = log.segments[0]["base_offset"] = LONG - 1
    log.data("a", timestamp_ms=LONG)
    log.roll()
    log.clean(LONG - 1, now=LONG)

    (told,) = log.cleaned()

    assert (surviving(told), told["next_dirty_offset"]) == ([LONG - 1], LONG)


@pytest.mark.parametrize(("by", "joined"), [(-1, [0, 1]), (0, [0])])
def test_neighbours_become_one_up_to_the_size_that_the_file_gives(
    by: int, joined: list[int]
) -> None:
    log = Writer()
    log.data("a=1")
    log.roll()
    log.data("b=2")
    log.roll()
    log.clean()
    sizes = [batch["size_bytes"] for batch in log.cleaned()[0]["batches"]]
    log.rules["segment_bytes"] = sum(sizes) + by

    assert segments_of(log.cleaned()[0]) == joined
