"""Epochs, checkpoints and what is heard that are not as the events say are reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from sim.protocol import events as on
from sim.protocol.log import Segment
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.replication.follower import receive_fetch
from sim.protocol.replication.messages import (
    RECORDS,
    Answer,
    BeginQuorumEpochRequest,
    FetchResponse,
    SnapshotId,
)
from sim.protocol.replication.replica import Snapshot, truncate, wipe
from sim.protocol.replication.snapshots import install
from sim.protocol.rules import Rules
from tests.audits.state_places import PlacesFollowed
from tests.audits.worlds import AT_REST, World, spoil
from tests.log.producing import sent


class Followed(World):
    """A replica with three batches of epoch 1, the first of them cleaned."""

    def __init__(self, **rules: Any) -> None:
        super().__init__(PlacesFollowed, rules=Rules.of(commit="majority", **rules))
        self.replica.epoch = 1
        self.fetcher = self.node.fetcher
        self.effect: Callable[[], None] = lambda: None
        self._receive = self.audit.over("r1", lambda _: self.effect())
        self.log.epochs.assign(1, 0)
        self.happened(on.LeaderElected("r1", 1, 0, (), ()))
        for offset in range(3):
            self.log.append(sent(offset, offset), now_ms=0)
            self.happened(on.Appended("r1", self.log.active.batches[-1]))
        self.passes(1)
        assert self.reports == []

    def passes(self, end: int) -> None:
        """A pass reaches `end`, which the replica notes."""
        self.replica.first_dirty_offset = self.replica.cleanly_compacted_offset = end
        self.replica.last_cleaning = (end, 7)
        self.happened(a_pass(end))

    def hears(self, message: Any, effect: Callable[[], None] = lambda: None) -> list[str]:
        self.effect = effect
        self._receive(message)
        return self.reports


def a_pass(end: int, first: int = 0) -> on.Cleaned:
    return on.Cleaned("r1", first, end, (), (), (), (), None, 3, 3, (0, 0), now_ms=7)


@pytest.mark.parametrize(
    ("spoilt", "differs"),
    [
        ({"log.epochs.entries": [(1, 0), (2, 2)], "epoch": 2, "vote": (2, "r1")}, "epochs"),
        ({"log.epochs.entries": [(1, 1)]}, "epochs"),
        ({"first_dirty_offset": 2}, "checkpoint"),
        ({"cleanly_compacted_offset": 2}, "compacted"),
        ({"last_cleaning": (1, 8)}, "last pass"),
        ({"removed_tombstone_end": 1}, "removed tombstones"),
        ({"epoch": 2}, "epoch"),
        ({"epoch": 0}, "epoch"),
    ],
)
def test_what_differs_is_reported(spoilt: dict[str, Any], differs: str) -> None:
    world = Followed()
    assert world.happened(AT_REST) == []
    for place, value in spoilt.items():
        entries = [EpochEntry(*one) for one in value] if "entries" in place else value
        spoil(world.replica, place, entries)
    assert differs in {one.removesuffix(" after Quiesced") for one in world.happened(AT_REST)}


def test_a_cut_takes_epochs_and_lowers_the_checkpoint() -> None:
    world = Followed()
    world.happened(*truncate(world.replica, 0))
    assert world.reports == []
    assert world.log.epochs.entries == []

    world = Followed()
    events = truncate(world.replica, 0)
    world.replica.first_dirty_offset = 1
    world.replica.last_cleaning = (1, 7)
    world.log.epochs.assign(1, 0)
    changed = ("epochs", "checkpoint", "last pass")
    assert world.happened(*events) == [f"{what} after Truncated" for what in changed]


@pytest.mark.parametrize("end", range(2, 5))
@pytest.mark.parametrize("epoch", range(2))
def test_a_snapshot_replaces_a_log_that_is_not_ahead_of_it(end: int, epoch: int) -> None:
    world, id_ = Followed(), SnapshotId(end, epoch)
    events = install(world.replica, Snapshot(id_, (), 0), rules=world.node.rules)
    assert world.happened(*events) == []

    other: on.Event = on.SnapshotInstalled("r1", *id_, (), 3, 3, leading=False)
    if isinstance(events[0], on.SnapshotInstalled):
        other = on.SnapshotFetchDropped("r1", *id_, "the log is ahead of it")
    assert Followed().happened(other)[0].endswith(f" {(end, epoch)}")


@pytest.mark.parametrize("start", range(5))
@pytest.mark.parametrize("end", range(3, 5))
def test_a_log_begins_anew_if_it_ends_below_the_leaders(start: int, end: int) -> None:
    world = Followed()
    answer = FetchResponse(
        Answer.OUT_OF_RANGE, "r2", 1, 3, log_start_offset=start, log_end_offset=end
    )
    assert world.happened(*receive_fetch(world.replica, answer, world.node.rules, 0).events) == []
    assert world.happened(on.LogStartedAfresh("r1", 3, 3, 3))[0] == "gives up its log"


def test_a_pass_that_is_interrupted_or_fails_moves_nothing() -> None:
    world = Followed()
    assert world.happened(a_pass(1, first=1)) == []
    world.context.settling = "at rest"
    assert world.happened(a_pass(1, first=1), on.CleaningFailed("r1", 2)) == []
    assert world.happened(replace(a_pass(1, first=1), now_ms=9)) == ["last pass after Cleaned"]


def test_removed_tombstones_and_the_floor_of_versions_are_not_forgotten() -> None:
    world = Followed()
    world.replica.removed_tombstone_end, world.replica.version_floor = 2, (1, 5)
    gone = replace(a_pass(1, first=1), removals=(on.Removal(1, 2, "k", "tombstone", None),))
    assert world.happened(gone) == []
    world.replica.removed_tombstone_end, world.replica.version_floor = 1, (1, 4)
    assert world.happened(AT_REST) == [
        "removed tombstones after Quiesced",
        "floor of versions after Quiesced",
    ]


def test_a_new_disk_knows_nothing() -> None:
    world = Followed()
    assert world.happened(*wipe(world.replica, reason="a new disk")) == []
    world = Followed()
    assert "epochs after ReplicaWiped" in world.happened(on.ReplicaWiped("r1", "a new disk"))


def test_an_epoch_comes_from_a_message_or_a_campaign() -> None:
    world = Followed()

    def sees() -> None:
        world.replica.epoch = 3

    assert world.hears(BeginQuorumEpochRequest("r2", 3), sees) == []
    world.replica.epoch = 4
    world.replica.vote = (4, "r1")
    assert world.happened(AT_REST) == []
    world.replica.epoch = 5
    assert world.happened(AT_REST) == ["epoch"]


def test_a_follower_is_not_in_an_older_epoch_than_its_leader() -> None:
    world = Followed()
    world.fetcher.leader, world.fetcher.epoch = "r2", 2
    assert world.happened(AT_REST) == ["epoch"]


def answered(number: int = 4) -> FetchResponse:
    return FetchResponse(RECORDS, "r2", 1, 3, correlation_id=number)


@pytest.mark.parametrize(
    ("number", "fetched", "reports"),
    [
        (4, True, []),
        (4, False, ["fetched from ('r2', 1)"]),
        (3, False, []),
        (3, True, ["fetched from ('r2', 1)"]),
    ],
)
def test_a_follower_has_fetched_when_its_leader_has_answered(
    number: int, fetched: bool, reports: list[str]
) -> None:
    world = Followed()
    world.fetcher.leader, world.fetcher.epoch = "r2", 1
    world.hears(answered(number))
    assert world.reports == []
    world.fetcher.fetched = fetched
    world.context.now_ms += 1
    assert world.hears(answered(3)) == reports


def test_a_follower_knows_the_floor_of_an_answer() -> None:
    world = Followed()
    world.fetcher.leader, world.fetcher.epoch = "r2", 1
    world.hears(replace(answered(), version_floor=(5,)))
    world.fetcher.fetched, world.context.now_ms = True, 51
    assert world.hears(answered(3)) == ["floor of versions"]


def test_a_follower_that_could_not_append_fetches_from_the_next_leader() -> None:
    world = Followed()
    world.replica.fetching_failed = True
    world.happened(on.FetchingFailed("r1", "r2", 1, 3))
    world.fetcher.leader, world.fetcher.epoch = "r2", 1
    assert world.hears(answered(3)) == []
    world.fetcher.leader = "r3"
    assert world.hears(answered(3)) == ["fetches no more from"]


def test_a_crash_and_another_leader_end_what_was_fetched() -> None:
    for ends in (on.ReplicaCrashed("r1", 3, 3), None):
        world = Followed()
        world.fetcher.leader, world.fetcher.epoch = "r2", 1
        world.hears(answered())
        world.fetcher.fetched = True
        if ends is None:
            world.fetcher.leader = "r3"
        else:
            world.happened(ends)
        assert len(world.hears(answered(3))) == 1


@pytest.mark.parametrize(("leo_source", "told"), [("last_record", 0), ("stored", 1)])
def test_a_restart_lowers_the_checkpoint_with_a_log_end_of_the_last_record(
    leo_source: str, told: int
) -> None:
    world = Followed(leo_source=leo_source)
    world.passes(3)
    world.log.log_end_offset = world.replica.first_dirty_offset = 2
    world.replica.cleanly_compacted_offset, world.replica.last_cleaning = 2, (2, 7)
    world.happened(on.ReplicaRestarted("r1", 2, 0, 1))

    assert len([one for one in world.reports if "checkpoint" in one]) == told


def test_a_crash_after_a_restart_that_lowered_the_log_end_takes_no_epoch() -> None:
    world = Followed(leo_source="last_record")
    world.log.truncate_to(2)
    world.happened(on.ReplicaRestarted("r1", 2, 0, 1))
    world.log.epochs.assign(2, 2)
    world.replica.epoch = 2
    world.happened(on.LeaderElected("r1", 2, 2, (), ()))
    assert world.happened(on.ReplicaCrashed("r1", 2, 0, 2)) == []
    world.log.epochs.truncate_from(2)
    assert world.happened(AT_REST) == ["epochs after Quiesced"]


def test_a_crash_after_a_pass_that_lowered_the_log_end_takes_no_epoch() -> None:
    world = Followed(leo_source="last_record")
    world.log.epochs.assign(2, 3)
    world.replica.epoch = 2
    world.happened(on.LeaderElected("r1", 2, 3, (), ()))
    world.log.active.batches.pop()
    world.log.recompute_log_end_offset()
    world.happened(replace(a_pass(1, first=1), log_end_offset=2))
    assert world.happened(on.ReplicaCrashed("r1", 2, 0, 2)) == []


@pytest.mark.parametrize(("corrected", "told"), [(0, 0), (2, 0), (1, 1)])
def test_a_checkpoint_that_a_crash_left_too_high_is_corrected_without_an_event(
    corrected: int, told: int
) -> None:
    """By the cleaner's next look (0), or by a cut that takes nothing, to the active segment."""
    world = Followed()
    world.log.segments[:] = [Segment.of(2, world.log.active.batches[2:], last_modified_ms=0)]
    world.passes(3)
    world.replica.first_dirty_offset = corrected
    assert len([one for one in world.happened(AT_REST) if "checkpoint" in one]) == told
