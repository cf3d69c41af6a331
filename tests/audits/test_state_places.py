"""Epochs, checkpoints and what is heard that are not as the events say are reported."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from sim.protocol.events import (
    Appended,
    Cleaned,
    CleaningFailed,
    Event,
    LeaderElected,
    Quiesced,
    Removal,
    RemovalBoundMoved,
    ReplicaCrashed,
    ReplicaWiped,
)
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.replication import Replica
from sim.protocol.replication.messages import (
    RECORDS,
    Answer,
    BeginQuorumEpochRequest,
    FetchResponse,
)
from sim.protocol.replication.replica import truncate, wipe
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from tests.audits.state_places import PlacesFollowed
from tests.log.producing import sent

AT_REST = Quiesced("r1", synced=True)


class World:
    """A replica with three batches of epoch 1, the first of them cleaned, and the reports."""

    def __init__(self) -> None:
        self.replica = Replica("r1", epoch=1)
        self.log = self.replica.log
        self.fetcher = SimpleNamespace(leader=None, epoch=0, number=4, fetched=False)
        self.context = SimpleNamespace(now_ms=50, settling="")
        node = SimpleNamespace(
            name="r1",
            replica=self.replica,
            fetcher=self.fetcher,
            context=self.context,
            rules=Rules.of(commit="majority"),
        )
        nodes = {"r1": node}
        self.reports: list[str] = []
        cluster = SimpleNamespace(nodes=nodes, context=self.context)
        self.audit = PlacesFollowed(cast(Cluster, cluster), self._report)
        self.effect: Callable[[], None] = lambda: None
        self._receive = self.audit.over("r1", lambda _: self.effect())
        self.log.epochs.assign(1, 0)
        self.happened(LeaderElected("r1", 1, 0, (), ()))
        for offset in range(3):
            self.log.append(sent(offset, offset), now_ms=0)
            self.happened(Appended("r1", self.log.active.batches[-1]))
        self.passes(1)
        assert self.reports == []

    def _report(self, _name: str, said: str, _replica: str | None, _offset: int | None) -> None:
        self.reports.append(said.split(": ")[1])

    def passes(self, end: int) -> None:
        """A pass reaches `end`, which the replica notes."""
        self.replica.first_dirty_offset = self.replica.cleanly_compacted_offset = end
        self.replica.last_cleaning = (end, 7)
        self.happened(a_pass(end))

    def happened(self, *events: Event) -> list[str]:
        self.audit.after(0, events)
        return self.reports

    def hears(self, message: Any, effect: Callable[[], None] = lambda: None) -> list[str]:
        self.effect = effect
        self._receive(message)
        return self.reports


def a_pass(end: int, first: int = 0) -> Cleaned:
    return Cleaned("r1", first, end, (), (), (), (), None, 3, 3, (0, 0), now_ms=7)


def another_epoch(replica: Replica) -> None:
    replica.log.epochs.entries.append(EpochEntry(2, 2))
    replica.epoch = 2
    replica.vote = (2, "r1")


def a_later_epoch(replica: Replica) -> None:
    replica.log.epochs.entries[0] = EpochEntry(1, 1)


def a_higher_checkpoint(replica: Replica) -> None:
    replica.first_dirty_offset = 2


def more_compacted(replica: Replica) -> None:
    replica.cleanly_compacted_offset = 2


def a_later_pass(replica: Replica) -> None:
    replica.last_cleaning = (1, 8)


def more_removed(replica: Replica) -> None:
    replica.removed_tombstone_end = 1


def an_untold_epoch(replica: Replica) -> None:
    replica.epoch = 2


def an_older_epoch(replica: Replica) -> None:
    replica.epoch = 0


@pytest.mark.parametrize(
    ("spoil", "differs"),
    [
        (another_epoch, "epochs after Quiesced"),
        (a_later_epoch, "epochs after Quiesced"),
        (a_higher_checkpoint, "checkpoint after Quiesced"),
        (more_compacted, "compacted after Quiesced"),
        (a_later_pass, "last pass after Quiesced"),
        (more_removed, "removed tombstones after Quiesced"),
        (an_untold_epoch, "epoch"),
        (an_older_epoch, "epoch"),
    ],
)
def test_what_differs_is_reported(spoil: Callable[[Replica], None], differs: str) -> None:
    world = World()
    assert world.happened(AT_REST) == []
    spoil(world.replica)
    assert differs in world.happened(AT_REST)


def test_a_cut_takes_epochs_and_lowers_the_checkpoint() -> None:
    world = World()
    world.happened(*truncate(world.replica, 0))
    assert world.reports == []
    assert world.log.epochs.entries == []

    world = World()
    events = truncate(world.replica, 0)
    world.replica.first_dirty_offset = 1
    world.log.epochs.assign(1, 0)
    assert world.happened(*events) == ["epochs after Truncated", "checkpoint after Truncated"]


def test_a_pass_that_is_interrupted_or_fails_moves_nothing() -> None:
    world = World()
    assert world.happened(a_pass(1, first=1)) == []
    world.context.settling = "at rest"
    assert world.happened(a_pass(1, first=1), CleaningFailed("r1", 2)) == []
    assert world.happened(replace(a_pass(1, first=1), now_ms=9)) == ["last pass after Cleaned"]


def test_an_older_checkpoint_is_found_after_a_crash_alone() -> None:
    world = World()
    world.replica.first_dirty_offset = world.replica.cleanly_compacted_offset = 0
    assert world.happened(ReplicaCrashed("r1", 3, 3)) == []

    world = World()
    world.replica.first_dirty_offset = 0
    assert world.happened(AT_REST) == ["checkpoint after Quiesced"]


def test_a_checkpoint_outside_of_the_log_counts_as_its_start() -> None:
    world = World()
    world.log.truncate_to(0)
    world.replica.first_dirty_offset = 0
    assert "checkpoint after ReplicaCrashed" not in world.happened(ReplicaCrashed("r1", 0, 0))


def test_bounds_of_removal_say_what_is_compacted() -> None:
    world = World()
    world.replica.cleanly_compacted_offset = world.replica.removal_bound = 2
    assert world.happened(RemovalBoundMoved("r1", 2, 2)) == []


def test_removed_tombstones_and_the_floor_of_versions_are_not_forgotten() -> None:
    world = World()
    world.replica.removed_tombstone_end, world.replica.version_floor = 2, (1, 5)
    gone = replace(a_pass(1, first=1), removals=(Removal(1, 2, "k", "tombstone", None),))
    assert world.happened(gone) == []
    world.replica.removed_tombstone_end, world.replica.version_floor = 1, (1, 4)
    assert world.happened(AT_REST) == [
        "removed tombstones after Quiesced",
        "floor of versions after Quiesced",
    ]


def test_a_new_disk_knows_nothing() -> None:
    world = World()
    assert world.happened(*wipe(world.replica, reason="a new disk")) == []
    world = World()
    assert "epochs after ReplicaWiped" in world.happened(ReplicaWiped("r1", "a new disk"))


def test_an_epoch_comes_from_a_message_or_a_campaign() -> None:
    world = World()

    def sees() -> None:
        world.replica.epoch = 3

    assert world.hears(BeginQuorumEpochRequest("r2", 3), sees) == []
    world.replica.epoch = 4
    world.replica.vote = (4, "r1")
    assert world.happened(AT_REST) == []
    world.replica.epoch = 5
    assert world.happened(AT_REST) == ["epoch"]


def test_a_follower_is_not_in_an_older_epoch_than_its_leader() -> None:
    world = World()
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
    world = World()
    world.fetcher.leader, world.fetcher.epoch = "r2", 1
    world.hears(answered(number))
    assert world.reports == []
    world.fetcher.fetched = fetched
    world.context.now_ms += 1
    assert world.hears(answered(3)) == reports


def test_of_two_answers_to_one_request_the_first_counts() -> None:
    world = World()
    world.fetcher.leader, world.fetcher.epoch = "r2", 1
    world.hears(replace(answered(), answer=Answer.NOT_LEADER))
    world.hears(answered())
    world.context.now_ms += 1
    assert world.hears(answered(3)) == []


def test_a_crash_and_another_leader_end_what_was_fetched() -> None:
    for ends in (ReplicaCrashed("r1", 3, 3), None):
        world = World()
        world.fetcher.leader, world.fetcher.epoch = "r2", 1
        world.hears(answered())
        world.fetcher.fetched = True
        if ends is None:
            world.fetcher.leader = "r3"
        else:
            world.happened(ends)
        assert len(world.hears(answered(3))) == 1
