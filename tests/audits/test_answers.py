"""An answer that is not true of who gives it is reported; a true one is not."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from sim.protocol import events as on
from sim.protocol.log.epochs import EpochEnd
from sim.protocol.log.formats import Versions
from sim.protocol.log.record import Record, data_batch
from sim.protocol.replication import messages as of
from sim.protocol.replication.leader import append
from sim.protocol.replication.messages import SnapshotId
from sim.protocol.replication.replica import Snapshot
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.network import CONTROLLER, Overdue
from sim.simulate.cluster.node import Node
from tests.audits.deserved import Deserved
from tests.audits.observer import Observer
from tests.audits.test_messages import BY_CONTROLLER, BY_MAJORITY
from tests.audits.test_messages import World as MessagesWorld


class World(MessagesWorld):
    """A cluster whose sent messages are judged, and then lost."""

    def __init__(self, rules: Rules) -> None:
        """Has six batches in every log, all of them committed."""
        super().__init__(rules)
        node = self.leader
        for number in range(6):
            end = node.replica.log.log_end_offset
            record = Record(end, "k", str(number), 0, uid=10**6 + number)
            batch = data_batch((record,), epoch=node.replica.epoch)
            node.publish(append(node.replica, batch, rules, 0).events)
        self.cluster.context.env.run(until=4_000)
        assert self.told == []

    def _observe(self, cluster: Cluster) -> Observer:
        observer = super()._observe(cluster)
        for audit in observer.answers:
            audit.failed = self._failed
        return observer

    def says(self, source: str, target: str, message: Any) -> list[str]:
        """The reports of a message that is sent."""
        self.told.clear()
        for audit in self.observer.answers:
            audit.sent(source, target, message)
        return [one.removeprefix("answer ") for one in self.told]

    def hears(self, node: Node, message: Any, *, late: bool = False) -> None:
        """Shows a message that a replica is about to handle, and has handled."""
        for audit in self.observer.answers:
            audit.receives(node.name, message, overdue=late)
        for audit in self.observer.answers:
            audit.handled(node.name, message)

    def sees(self, event: Any) -> list[str]:
        """The reports of an event."""
        self.told.clear()
        for audit in self.observer.answers:
            audit.after(event)
        return [one.removeprefix("answer ") for one in self.told]

    def wait(self, ms: int) -> None:
        """Lets time pass in which nothing happens."""
        env = self.cluster.context.env
        env._now += ms


def records(leader: Node, offset: int) -> of.FetchResponse:
    """The true answer of a leader to a fetch at an offset."""
    log, leads = leader.replica.log, leader.replica.leadership
    assert leads is not None
    return of.FetchResponse(
        of.RECORDS,
        leader.name,
        leads.epoch,
        offset,
        batches=tuple(log.read(offset)),
        high_watermark=log.high_watermark,
        log_start_offset=log.log_start_offset,
        correlation_id=10**6,
    )


Says = Callable[["World"], tuple[str, str, Any]]
"""Makes what somebody says, and to whom."""


def answers(**change: Any) -> Says:
    """The true answer of a leader, changed."""
    return lambda world: (world.leader.name, "r2", replace(records(world.leader, 0), **change))


def parts(beyond: int) -> Says:
    """The word that the newest epoch ends some offsets beyond its last batch."""

    def says(world: World) -> tuple[str, str, Any]:
        log = world.leader.replica.log
        parting = EpochEnd(log.epochs.latest, log.log_end_offset + beyond)
        return answers(answer=of.Answer.DIVERGING, diverging=parting)(world)

    return says


def reports(*report: int) -> Says:
    """A report of a disk: its number, what is compacted, what is free of transactions."""
    answer = of.RemovalBoundsResponse("r2", 1, of.RemovalReport(*report))
    return lambda _: ("r2", "r1", answer)


def hands_out(bound: int) -> Says:
    """A bound of removal by a leader that has accepted 7."""

    def says(world: World) -> tuple[str, str, Any]:
        world.leader.replica.removal_bound = 7
        bounds = of.RemovalBounds(bound, 0)
        return world.leader.name, "r2", of.RemovalBoundsRequest(world.leader.name, 1, bounds)

    return says


def tells(isr: str, *lives: int) -> Says:
    """A state of the partition with the lives of r1, r2 and r3, of which r1 has begun the first."""

    def says(world: World) -> tuple[str, str, Any]:
        world.cluster.nodes["r1"].incarnation = lives[0]
        eligible = dict(zip(("r1", "r2", "r3"), lives, strict=True))
        state = of.PartitionState(100, 2, "r1", tuple(isr.split()), eligible)
        return CONTROLLER, "r1", of.LeaderAndIsrRequest(1, state)

    return says


SNAPSHOT = {"answer": of.Answer.SNAPSHOT, "snapshot": of.SnapshotId(1, 1)}


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (answers(), []),
        (answers(high_watermark=10**6), ["high watermark in an answer"]),
        (answers(log_start_offset=1), ["log start in an answer"]),
        (answers(epoch=99), ["epoch of an answer"]),
        (answers(batches=()), ["batches that it gives"]),
        (answers(fetch_offset=-1), ["records below its log start"]),
        (answers(answer=of.Answer.NOT_LEADER), ["answers as no leader"]),
        (answers(**SNAPSHOT), ["snapshot that it offers"]),
        (parts(0), []),
        (parts(-1), ["epoch 1 said to end at 5, but batches at"]),
        (reports(1, 0, 0), []),
        (reports(2, 0, 0), ["disk of a report"]),
        (reports(1, 0, 10**6), ["free of transactions below"]),
        (hands_out(7), []),
        (hands_out(6), ["bounds that it hands out"]),
        (tells("r1", 2, 1, 1), []),
        (tells("r1 r2", 1, 1, 1), []),
        (tells("r1 r2", 1, 2, 1), ["life of r2", "r2 stays in sync"]),
    ],
)
def test_what_is_said_is_true_of_who_says_it(says: Says, told: list[str]) -> None:
    world = World(BY_CONTROLLER.with_values({"marker_watermark": "own"}))

    assert world.says(*says(world)) == told


def test_an_answer_that_is_shared_is_of_each_request_s_offset() -> None:
    world = World(BY_CONTROLLER)
    leader, answer = world.leader, records(world.leader, 0)
    end = leader.replica.log.log_end_offset
    for follower, offset in (("r2", 0), ("r3", end)):
        request = of.FetchRequest(follower, 1, offset, -1, correlation_id=10**6)
        world.says(follower, leader.name, request)

    assert world.says(leader.name, "r2", answer) == []
    assert world.says(leader.name, "r3", answer) == ["offset of the answer 1000000 to r3"]


@pytest.mark.parametrize(
    ("ask", "answer", "told"),
    [
        ({}, of.RECORDS, []),
        ({"last_epoch": 0}, of.RECORDS, ["gives records to r2 at 3 in epoch 0 above newer ones"]),
        ({"offset": 10**6}, of.RECORDS, ["gives records to r2 at 1000000"]),
        ({"offset": 10**6}, of.Answer.OUT_OF_RANGE, []),
        ({}, of.Answer.OUT_OF_RANGE, [f"answers r2 at 3: {of.Answer.OUT_OF_RANGE}"]),
        ({"epoch": 9}, of.Answer.STALE_LEADER, []),
        ({}, of.Answer.STALE_LEADER, [f"answers r2 at 3: {of.Answer.STALE_LEADER}"]),
        ({"offset": 1}, of.RECORDS, ["gives records to r2 at 1, which has missed a removal"]),
        ({"offset": 1}, of.Answer.REBUILD, ["counts on r2"]),
        ({}, of.Answer.REBUILD, ["answers r2 at 3: rebuild", "counts on r2"]),
        ({}, of.Answer.SNAPSHOT, ["answers r2 at 3: snapshot id"]),
    ],
)
def test_a_follower_is_answered_as_it_deserves(
    ask: dict[str, Any], answer: of.Answer, told: list[str]
) -> None:
    world = World(BY_CONTROLLER.with_values({"lag_guard": "reset_local"}))
    leader = world.leader
    leader.replica.removed_tombstone_end = 2
    asked = replace(of.FetchRequest("r2", 1, 3, 1, correlation_id=10**6), **ask)
    deserved = next(one for one in world.observer.answers if isinstance(one, Deserved))
    deserved.receives(leader.name, asked, overdue=False)
    world.told.clear()
    deserved.sent(leader.name, "r2", replace(records(leader, asked.offset), answer=answer))

    assert [one.removeprefix("answer ") for one in world.told] == told


@pytest.mark.parametrize(("offset", "told"), [(1, 0), (2, 1)])
def test_who_begins_with_a_snapshot_has_missed_no_removal_above_its_end(
    offset: int, told: int
) -> None:
    world = World(
        BY_CONTROLLER.with_values({"lag_guard": "reset_local", "snapshot_offer": "by_epoch"})
    )
    replica, snapshot = world.leader.replica, Snapshot(SnapshotId(1, 0), (), 0)
    replica.removed_tombstone_end, replica.snapshots[snapshot.id] = 3, snapshot
    deserved = next(one for one in world.observer.answers if isinstance(one, Deserved))
    deserved.receives(
        "r1", of.FetchRequest("r2", 1, offset, 1, correlation_id=10**6), overdue=False
    )
    deserved.sent("r1", "r2", records(world.leader, offset))

    assert len([one for one in world.told if "missed a removal" in one]) == told


CHECKED = of.ConsumerFetchRequest("c1", 5, last_epoch=1, checked_with=("r9", 0))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"start": 5}, []),
        ({"start": 5, "log_start_offset": 1}, ["log start for a consumer"]),
        ({"start": 5, "readable_end": 10**6}, ["readable end"]),
        ({"start": 10**6}, ["c1 is to read at"]),
        ({"start": 5, "diverging_epoch": 1}, ["c1 is sent back", "c1 is sent back below its"]),
        ({"start": 4, "diverging_epoch": 0}, ["c1 is sent back below its"]),
        ({"start": 4}, ["c1 at 5 is sent back by its log end"]),
    ],
)
def test_a_consumer_is_sent_back_where_epochs_part(change: dict[str, Any], told: list[str]) -> None:
    world = World(BY_CONTROLLER)
    leader = world.leader
    assert leader.replica.log.log_end_offset > 5
    world.says("c1", leader.name, CHECKED)
    answer = of.ConsumerFetchResponse(of.NO_ERROR, leader.name, leader.replica.epoch)

    found = world.says(leader.name, "c1", replace(answer, **change))
    assert [one[: len(two)] for one, two in zip(found, told, strict=True)] == told


def test_a_consumer_past_the_end_of_its_epoch_is_sent_back() -> None:
    world = World(BY_CONTROLLER)
    leader = world.leader
    first = next(iter(leader.replica.log.batches()))
    world.says("c1", leader.name, replace(CHECKED, last_epoch=0))
    answer = of.ConsumerFetchResponse(of.NO_ERROR, leader.name, leader.replica.epoch)

    back = replace(answer, start=first.base_offset, diverging_epoch=0)
    assert world.says(leader.name, "c1", back) == []
    assert world.says(leader.name, "c1", replace(answer, start=5)) == ["c1 at 5 reads from"]


def test_a_bound_is_the_lowest_that_all_others_have_reported() -> None:
    world = World(BY_CONTROLLER)
    leader, raised = world.leader, on.RemovalBoundMoved(world.leader.name, 1, 1)
    assert world.sees(raised) == ["raises bounds to 1 above reports"]
    for name in ("r2", "r3"):
        world.hears(leader, of.RemovalBoundsResponse(name, 1, of.RemovalReport(1, 9, 1)))
    assert world.sees(replace(raised, offset=9)) == []
    assert world.sees(replace(raised, offset=10)) == ["raises bounds to 10 above reports"]
    leader.replica.cleanly_compacted_offset = 9
    assert world.says(*hands_out(7)(world)) == ["hands out less than all report"]


def test_a_log_that_was_cut_below_its_bound_may_have_transactions_there() -> None:
    world = World(BY_CONTROLLER.with_values({"marker_watermark": "own"}))
    replica = world.cluster.nodes["r2"].replica
    record = Record(replica.log.log_end_offset, "k", "v", 0, uid=10**7)
    replica.log.append(
        data_batch((record,), epoch=1, producer_id=1, producer_epoch=0, transactional=True), 0
    )
    replica.marker_removal_bound = free = record.offset + 2

    assert world.says(*reports(1, 0, free)(world)) == []
    replica.marker_removal_bound = free - 1
    replica.log.high_watermark = free
    assert world.says(*reports(1, 0, free)(world)) != []


@pytest.mark.parametrize(("leo_source", "told"), [("last_record", 0), ("stored", 1)])
def test_an_epoch_may_begin_above_a_log_end_that_is_that_of_the_last_record(
    leo_source: str, told: int
) -> None:
    world = World(BY_CONTROLLER.with_values({"leo_source": leo_source}))
    leader = world.leader
    world.says("c1", leader.name, CHECKED)
    answer = of.ConsumerFetchResponse(of.NO_ERROR, leader.name, leader.replica.epoch, start=4)
    assert len(world.says(leader.name, "c1", answer)) == told


def test_a_high_watermark_that_a_crash_set_back_may_move_twice_in_a_millisecond() -> None:
    world = World(BY_MAJORITY)
    name, log = world.leader.name, world.leader.replica.log
    end = log.log_end_offset
    log.high_watermark = end - 4
    world.sees(on.ReplicaRestarted(name, end, end - 4, 1))
    for mark in (end - 3, end - 1):
        log.high_watermark = mark
        world.sees(on.HighWatermarkMoved(name, mark, leading=True))
    assert world.says(*answers(high_watermark=end - 3)(world)) == []
    assert world.says(*answers(high_watermark=end - 5)(world)) != []


def test_a_late_fetch_is_no_new_beginning() -> None:
    world = World(BY_MAJORITY.with_values({"lag_guard": "reset_local"}))
    leader, replica = world.leader, world.leader.replica
    assert leader.leader is not None
    over = world.observer.over(leader.name, leader.receive)
    newest = leader.leader.progress["r2"].newest
    first, second, third = (
        of.FetchRequest("r2", replica.epoch, at, 1, max_batches=1, correlation_id=newest + 1 + at)
        for at in range(3)
    )
    replica.removed_tombstone_end = 2
    over(first)
    over(second)
    replica.removed_tombstone_end = 5
    over(Overdue(first))
    world.told.clear()
    over(third)
    assert world.told == []
    assert replica.leadership is not None
    assert replica.leadership.begun_below == {"r2": 2}


def test_an_epoch_ends_above_its_batches() -> None:
    world = World(BY_CONTROLLER)
    world.says("r2", "r1", of.OffsetsForLeaderEpochRequest("r2", 1, 1, 9))
    for end, is_wrong in ((2, True), (-1, True), (10**6, False)):
        answer = of.OffsetsForLeaderEpochResponse(of.NO_ERROR, 1, end, 9)
        assert len(world.says(world.leader.name, "r2", answer)) == is_wrong


def test_who_asks_in_an_older_version_is_given_no_flag() -> None:
    world = World(BY_CONTROLLER)
    world.leader.versions = Versions("0.10.2")
    batch = data_batch((Record(0, "k", None, 0, flagged=True),), epoch=1)
    read = of.ConsumerFetchResponse(of.NO_ERROR, "r1", 1, batches=(batch,))
    for version, told in ((3, []), (2, [", which knows no flag"])):
        world.says(
            "r2", "r1", of.FetchRequest("r2", 1, 0, 1, version=version, correlation_id=10**6)
        )
        world.says("c1", "r1", of.ConsumerFetchRequest("c1", 0, version=version))
        found = world.says(*answers(batches=(batch,))(world)), world.says("r1", "c1", read)
        assert found == tuple([f"gives {who}{one}" for one in told] for who in ("r2", "c1"))


def test_a_reader_aims_at_an_end_that_it_was_told() -> None:
    world = World(BY_CONTROLLER)
    end = world.leader.replica.log.high_watermark
    ended = on.ReadingEnded("r1", "c1", "position", 0, end, end, end - 1, end)
    assert world.sees(ended) == []
    assert world.sees(replace(ended, end=end - 1)) == ["c1 reads to the end"]


@pytest.mark.parametrize(("beyond", "waits"), [(0, True), (1, False)])
def test_a_consumer_beyond_the_log_end_does_not_wait(beyond: int, waits: bool) -> None:
    world = World(BY_CONTROLLER)
    leader, offset = world.leader, world.leader.replica.log.log_end_offset + beyond
    request = of.ConsumerFetchRequest("c1", offset, read_committed=False)
    leader.consumers.waiting["c1"] = request
    world.told.clear()
    world.hears(leader, request)

    assert (world.told == []) is waits


def caught_up(world: World, node: Node, offset: int) -> None:
    """A follower fetches at an offset, and its leader lets the fetch wait."""
    number = 10**6 + world.cluster.context.now_ms
    request = of.FetchRequest("r2", 1, offset, 1, correlation_id=number)
    assert node.leader is not None
    world.observer.decisions.caught_up.receives(node.name, request, overdue=False)
    node.leader.fetches.waiting["r2"] = request
    world.observer.decisions.caught_up.handled(node.name, request)


@pytest.mark.parametrize(("waited_ms", "told"), [(0, ["r2 leaves"]), (60_000, [])])
def test_who_is_caught_up_stays_in_sync(waited_ms: int, told: list[str]) -> None:
    world = World(BY_CONTROLLER)
    leader = world.leader
    caught_up(world, leader, leader.replica.log.log_end_offset)
    world.wait(waited_ms)
    request = of.AlterPartitionRequest(leader.name, 1, 1, (leader.name, "r3"))

    assert [one for one in world.says(leader.name, CONTROLLER, request) if "r2" in one] == told


@pytest.mark.parametrize(("joined_ms", "told"), [(0, ["r2 stays"]), (60_000, [])])
def test_who_lags_leaves(joined_ms: int, told: list[str]) -> None:
    world = World(BY_CONTROLLER)
    leader = world.leader
    assert leader.replica.leadership is not None
    leader.replica.leadership.isr = ("r1", "r2")
    leader.replica.leadership.positions["r2"] = 0
    world.wait(60_000)
    if joined_ms:
        world.sees(on.IsrChanged(leader.name, ("r1", "r2"), "r2"))
    world.told.clear()
    caught_up(world, leader, 0)

    assert [one.removeprefix("answer ") for one in world.told] == told


@pytest.mark.parametrize(("early_ms", "told"), [(0, []), (1, ["r2 was caught up"])])
def test_a_leader_believes_of_nobody_more_than_is_true(early_ms: int, told: list[str]) -> None:
    world = World(BY_CONTROLLER)
    leader, now_ms = world.leader, world.cluster.context.now_ms
    assert leader.replica.leadership is not None
    leader.replica.leadership.fetch_times["r2"].caught_up_ms = now_ms + early_ms
    caught_up(world, leader, leader.replica.log.log_end_offset)

    assert [one.removeprefix("answer ") for one in world.told] == told
