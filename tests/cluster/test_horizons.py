"""KIP-534 in simulated time: when each round stamps and removes what, in the scenario files."""

from itertools import pairwise
from pathlib import Path

import pytest

from sim.scenario.file.load import load_scenario
from sim.trace import Cleaned
from tests.cluster.worlds import Story, tell

FOLDER = Path(__file__).parents[2] / "scenarios" / "kip534"
RETENTION_MS = 1000


def told(name: str) -> Story:
    """What happens in a scenario file."""
    return tell(load_scenario(FOLDER / f"{name}.yaml"))


def removals(story: Story, reason: str, *, replica: str = "r1") -> list[tuple[int, int]]:
    """(ms, offset) of what a replica removed for a reason."""
    return [
        (at, removal.offset)
        for at, e in story.of(Cleaned, lambda e: e.replica == replica)
        for removal in e.removals
        if removal.reason == reason
    ]


def stamps(story: Story, *, replica: str = "r1") -> list[tuple[int, int, int]]:
    """(ms, base offset, delete horizon in ms) of what a replica stamped."""
    return [
        (at, base, horizon_ms)
        for at, e in story.of(Cleaned, lambda e: e.replica == replica)
        for base, horizon_ms in e.horizons
    ]


def test_an_old_segment_lets_its_tombstone_go_200_ms_after_the_value() -> None:
    early, in_time = told("timed_tombstone_too_early"), told("timed_tombstone_in_time")

    assert (2100, 0) in removals(early, "superseded")
    assert removals(early, "tombstone") == [(2300, 1)]
    assert stamps(early) == []
    assert (2100, 0) in removals(in_time, "superseded")
    assert stamps(in_time) == [(2100, 1, 2100 + RETENTION_MS)]
    assert removals(in_time, "tombstone") == [(3600, 1)]


def test_eight_rounds_do_not_remove_a_tombstone_that_merges_with_what_is_young() -> None:
    never, after_all = told("timed_tombstone_never"), told("timed_tombstone_after_all")
    rounds = [at for at, e in never.of(Cleaned) if e.upper_bound > e.first_dirty_offset]

    assert len(rounds) == 8
    assert rounds[-1] - rounds[0] > 8 * RETENTION_MS
    assert removals(never, "tombstone") == []
    assert removals(after_all, "tombstone") == [(rounds[1], 1)]


def test_a_round_with_a_full_map_stamps_what_lies_beyond_it_or_does_not() -> None:
    on_sight, mapped = told("timed_partial_round_stamp"), told("timed_partial_round_mapped")

    assert [at for at, e in on_sight.of(Cleaned) if e.partial] == [1400]
    assert stamps(on_sight) == [(1400, 3, 2400)]
    assert (3100, 2) in removals(on_sight, "superseded")
    assert removals(on_sight, "tombstone") == [(3100, 3)]
    assert [at for at, e in mapped.of(Cleaned) if e.partial] == [1400]
    assert stamps(mapped) == [(3100, 3, 4100)]
    assert removals(mapped, "tombstone") == [(4600, 3)]


def test_rounds_more_often_than_the_retention_keep_a_tombstone_or_bring_its_end() -> None:
    pair = told("timed_checkpoint_under_frequent_rounds")
    horizon = told("timed_horizon_under_frequent_rounds")
    rounds = [at for at, e in pair.of(Cleaned) if e.upper_bound > e.first_dirty_offset]

    assert all(later - at < RETENTION_MS for at, later in pairwise(rounds))
    assert removals(pair, "tombstone") == []
    assert removals(horizon, "tombstone") == [(2800, 1)]


@pytest.mark.parametrize(
    ("name", "removed_ms"),
    [
        ("timed_checkpoint_on_a_new_disk", {"r1": [2733], "r2": [2766], "r3": []}),
        ("timed_horizon_on_a_new_disk", {"r1": [2733], "r2": [2766], "r3": [2200]}),
    ],
)
def test_a_new_disk_forgets_when_it_was_cleaned_but_not_the_horizon_in_the_batch(
    name: str, removed_ms: dict[str, list[int]]
) -> None:
    story = told(name)

    assert {
        replica: [at for at, _ in removals(story, "tombstone", replica=replica)]
        for replica in removed_ms
    } == removed_ms


@pytest.mark.parametrize(
    ("name", "reported"),
    [("timed_batch_growth", ((1, 263),)), ("timed_batch_growth_fits", ())],
)
def test_a_horizon_a_day_ahead_makes_eight_records_24_bytes_larger(
    name: str, reported: tuple[tuple[int, int], ...]
) -> None:
    stamped = next(e for _, e in told(name).of(Cleaned) if e.horizons)
    before, after = stamped.size_bytes

    assert after - before == 8 * 3
    assert stamped.oversized == reported


def test_a_marker_lives_through_two_rounds_and_goes_in_the_third() -> None:
    story = told("timed_marker_goes_in_three_rounds")
    without = told("timed_marker_without_maximum_lag")
    end_ms = load_scenario(FOLDER / "timed_marker_without_maximum_lag.yaml").duration_ms

    assert removals(story, "aborted") == [(1900, 0)]
    assert stamps(story) == [(3400, 1, 3400 + RETENTION_MS)]
    assert removals(story, "marker") == [(4900, 1)]
    assert all(at >= end_ms for at, _ in without.of(Cleaned))
