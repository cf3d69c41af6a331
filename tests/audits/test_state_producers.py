"""Producers and snapshots that are not as the events say are reported; all others are not."""

from __future__ import annotations

import pytest

from sim.protocol.events import (
    Appended,
    Cleaned,
    GapLearned,
    ProducersForgotten,
    ReplicaCrashed,
    ReplicaRestarted,
)
from sim.protocol.log import Batch, ProducerStates
from sim.protocol.replication.replica import truncate
from tests.audits.state_producers import ProducersFollowed
from tests.audits.worlds import AT_REST, World, spoil
from tests.log.producing import marker, sent


class Followed(World):
    """A replica whose producers are followed."""

    def __init__(self) -> None:
        super().__init__(ProducersFollowed)

    def append(self, *batches: Batch) -> None:
        for batch in batches:
            self.log.append(batch, now_ms=0)
            self.happened(Appended("r1", batch))


def two_segments() -> Followed:
    """Transactions of two producers, one of them aborted and one open, in two segments."""
    world = Followed()
    world.append(sent(0, 0, pid=7, transactional=True), sent(1, 0, pid=8, transactional=True))
    world.log.roll(now_ms=0)
    world.append(marker(2, pid=7), sent(3, 1, pid=7))
    return world


@pytest.mark.parametrize(
    ("place", "value", "differs"),
    [
        ("producers.producers.7.last_timestamp_ms", -1, ["producers after Quiesced"]),
        ("producers.producers.8.open_since", None, ["producers after Quiesced"]),
        ("producers.producers.7.batches", [], ["producers after Quiesced"]),
        (
            "snapshots._taken",
            {},
            ["offsets of snapshots after Quiesced", "snapshots after Quiesced"],
        ),
        ("snapshots._taken", {2: ProducerStates()}, ["snapshots after Quiesced"]),
        ("snapshots.newest", 3, ["newest snapshot after Quiesced"]),
        ("aborted_ever", [], ["aborted transactions after Quiesced"]),
        ("producers.ended", [], ["decisions that are not replicated after Quiesced"]),
        ("active.aborted", [], ["indexes of aborted transactions after Quiesced"]),
    ],
)
def test_what_differs_is_reported(place: str, value: object, differs: list[str]) -> None:
    world = two_segments()
    spoil(world.log, place, value)

    assert world.happened(AT_REST) == differs


def test_an_append_that_a_producer_does_not_show_is_reported() -> None:
    world = two_segments()
    world.log.producers.producers[7].epoch = 3
    world.happened(Appended("r1", sent(4, 2, pid=-1)))
    assert world.reports == []
    world.happened(Appended("r1", sent(5, 2, pid=7)))
    assert world.reports == ["producer 7 after an append"]


def test_a_snapshot_goes_with_its_segment_and_with_nothing_else() -> None:
    world = two_segments()
    pass_ = Cleaned("r1", 0, 2, (), (), (), (), None, 4, 4, (0, 0))
    assert world.happened(pass_) == []
    merged, active = world.log.segments
    merged.batches += active.batches
    world.log.segments[:] = [merged]
    assert world.happened(pass_) == [
        "offsets of snapshots after Cleaned",
        "snapshots after Cleaned",
    ]


@pytest.mark.parametrize(("forgotten", "told"), [((7,), []), ((), ["forgotten producers"])])
def test_who_was_silent_for_too_long_is_forgotten(
    forgotten: tuple[int, ...], told: list[str]
) -> None:
    world = two_segments()
    for pid in forgotten:
        del world.log.producers.producers[pid]
    world.happened(ProducersForgotten("r1", forgotten))
    assert world.reports == told


def test_a_cut_that_reads_on_from_an_older_snapshot_is_reported() -> None:
    world = two_segments()
    (cut,) = truncate(world.replica, 3)
    world.log.producers.producers[8].last_timestamp_ms = 1
    assert world.happened(cut) == ["producers after Truncated"]


def test_a_crash_that_loses_the_tail_is_a_cut_and_one_that_loses_nothing_is_none() -> None:
    world = two_segments()
    assert world.happened(ReplicaCrashed("r1", 4, 0)) == []
    world.log.truncate_to(3)
    assert world.happened(ReplicaCrashed("r1", 3, 0)) == []
    world.log.producers.producers.clear()
    assert world.happened(ReplicaRestarted("r1", 3, 0)) == ["producers after ReplicaRestarted"]


def test_a_restart_restores_the_snapshot_of_the_active_segment_and_reads_on() -> None:
    """What the first segment had is known by the snapshot alone."""
    world = two_segments()
    del world.log.segments[0].batches[:]
    world.log.reload_producers()
    assert world.happened(ReplicaRestarted("r1", 4, 0)) == []

    world.log.rescan_producers()
    assert "producers after ReplicaRestarted" in world.happened(ReplicaRestarted("r1", 4, 0))


def test_a_snapshot_that_a_restart_leaves_where_no_segment_begins_is_reported() -> None:
    world = two_segments()
    world.append(sent(4, 2, pid=7))
    (cut,) = truncate(world.replica, 4)
    assert (world.happened(cut), world.log.snapshots.offsets) == ([], [2, 4])
    world.append(sent(4, 2, pid=7))
    stray = world.log.snapshots._taken[4]

    world.log.reload_producers()
    world.log.snapshots._taken[4] = stray
    told = world.happened(ReplicaRestarted("r1", 5, 0))

    assert told == [
        "offsets of snapshots after ReplicaRestarted",
        "snapshots after ReplicaRestarted",
    ]


@pytest.mark.parametrize("rolls", [True, False])
def test_a_gap_begins_a_segment_or_moves_an_empty_one(rolls: bool) -> None:
    """A roll without an append, of which nothing tells, took a snapshot where the gap begins."""
    world = two_segments()
    if rolls:
        world.log.roll(now_ms=0)
    world.log.advance_to(6)
    assert world.happened(GapLearned("r1", "r2", 4, 6)) == []
    assert world.log.snapshots.offsets == [2, 4 if rolls else 6]


def test_a_pass_that_lowers_the_log_end_may_move_the_active_segment() -> None:
    world = two_segments()
    world.log.advance_to(6)
    world.happened(GapLearned("r1", "r2", 4, 6))
    world.log.recompute_log_end_offset()
    assert [one.base_offset for one in world.log.segments] == [0, 2, 4]
    assert world.happened(Cleaned("r1", 0, 2, (), (), (), (), None, 4, 4, (0, 0))) == []


def test_a_cut_below_the_segments_that_are_left_begins_anew() -> None:
    world = two_segments()
    world.log.roll(now_ms=0)
    world.log.delete_prefix(4)
    world.append(sent(4, 2, pid=7))
    (cut,) = truncate(world.replica, 3)
    assert (world.happened(cut), world.log.aborted_ever) == ([], [])
