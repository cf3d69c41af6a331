"""Each kind of fault does what it says."""

import pytest

from sim.protocol.events import (
    Appended,
    Cleaned,
    Copied,
    FaultEnded,
    FaultInjected,
    HighWatermarkMoved,
    IsrChanged,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
)
from sim.protocol.replication.follower import fetch_request
from sim.protocol.replication.recovery import OldFiles
from sim.protocol.rules import Rules, rules_from
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.faults import Faults
from sim.simulate.cluster.network import Overdue
from sim.simulate.faults import Crash, FaultKind
from sim.simulate.scenario.model import Workload
from tests.cluster.worlds import fault, log_ends, scenario, sends, tell
from tests.replication.replicas import batch


def test_a_crashed_replica_is_back_after_its_time() -> None:
    story = tell(scenario(fault(FaultKind.CRASH, 500, "r2", 700)))

    assert [(at, e.replica) for at, e in story.of(ReplicaCrashed)] == [(500, "r2")]
    assert [(at, e.replica) for at, e in story.of(ReplicaRestarted)] == [(1_200, "r2")]
    assert not [at for at, e in story.of(Copied) if e.replica == "r2" and 500 <= at <= 1_200]
    assert log_ends(story)["r2"] == 40


def test_a_crashed_leader_loses_its_youngest_batches_if_nobody_has_them() -> None:
    cut = fault(FaultKind.PARTITION, 480, "r1", 900)
    crash = fault(FaultKind.CRASH, 720, "r1", 500, lose_batches=2)
    busy = Workload(sends=sends(producers=4), retry_ms=1_000)
    story = tell(scenario(cut, crash, workload=busy))
    own = [e.batch.last_offset + 1 for at, e in story.of(Appended) if e.replica == "r1"]
    crashed = story.of(ReplicaCrashed)[0][1]

    assert max(own) - crashed.log_end_offset == 2
    assert crashed.log_end_offset >= crashed.high_watermark


def test_a_crashed_leader_loses_nothing_that_the_leader_before_it_has_committed() -> None:
    migrate = fault(FaultKind.MIGRATE, 704, "r2")
    crash = fault(FaultKind.CRASH, 710, "r2", 500, lose_batches=6)
    busy = Workload(sends=sends(count=400, every_ms=5, producers=4), retry_ms=1_000)
    story = tell(scenario(migrate, crash, workload=busy))
    (at, crashed), *_ = story.of(ReplicaCrashed)
    moves = story.of(HighWatermarkMoved, lambda move: move.leading)
    committed = max(move.high_watermark for moved, move in moves if moved <= at)

    assert crashed.high_watermark < committed <= crashed.log_end_offset


@pytest.mark.parametrize("leads", [False, True])
def test_a_crash_takes_nothing_that_the_replica_has_acknowledged_as_a_follower(
    *, leads: bool
) -> None:
    cluster = Cluster(scenario(rules=rules_from({"preset": "kraft"})), lambda *_: None)
    cluster.start()
    cluster.context.env.run(until=100)
    replica = cluster.nodes["r2"]
    log = replica.replica.log
    for offset in range(log.log_end_offset, 4):
        log.append(batch(offset), now_ms=0)
    fetch_request(replica.replica)  # acknowledges all
    if leads:
        replica.lead(2, isr=(), replicas=("r1", "r2", "r3"))
    crash = Crash(100, "r2", 100, lose_batches=3)
    life = crash.happen(Faults(cluster), replica)
    assert life is not None
    next(life)

    assert log.log_end_offset == 4


def test_a_replaced_disk_is_empty_and_fills_again() -> None:
    story = tell(scenario(fault(FaultKind.WIPE, 500, "r3", 900)))
    wiped_ms = story.of(ReplicaWiped)[0][0]
    refilled = next(e for at, e in story.of(Copied) if e.replica == "r3" and at > wiped_ms)

    assert wiped_ms == 1_400
    assert refilled.fetch_offset == 0
    assert log_ends(story)["r3"] == 40


def test_a_fetch_from_before_the_loss_of_a_disk_is_not_believed_after_it() -> None:
    cluster = Cluster(scenario(rules=Rules()), lambda _at, _event: None)
    cluster.elections.start()
    leader, wiped, _ = cluster.nodes.values()
    leading = leader.lead(1, isr=(), replicas=("r1", "r2", "r3"))
    fetch = fetch_request(wiped.replica, replica_epoch=wiped.incarnation)
    leading.fetch(fetch)
    assert list(leading.fetches.waiting) == ["r2"]

    wiped.incarnation += 1
    cluster.elections.wiped(wiped)
    leading.wake()
    leading.fetch(fetch)

    assert leader.replica.leadership is not None
    assert leader.replica.leadership.positions == {}


def test_a_leader_that_was_down_meanwhile_and_resumes_does_not_believe_it_either() -> None:
    rules = Rules.of(commit="majority", leader_restart="resumes")
    cluster = Cluster(scenario(rules=rules), lambda _at, _event: None)
    cluster.elections.start()
    leader, wiped, _ = cluster.nodes.values()
    leader.lead(1, isr=(), replicas=("r1", "r2", "r3"))
    wiped.sees(1)
    fetch = fetch_request(wiped.replica, replica_epoch=wiped.incarnation)
    for node in (leader, wiped):
        node.crash()
    wiped.wipe()
    cluster.elections.wiped(wiped)
    leader.restart()
    leader.receive(Overdue(fetch))

    assert leader.leader is not None
    assert leader.replica.leadership is not None
    assert leader.replica.leadership.positions == {}


def test_a_one_way_partition_loses_what_the_replica_sends() -> None:
    story = tell(scenario(fault(FaultKind.ONE_WAY_PARTITION, 500, "r3", 1_000)))
    copied = [at for at, e in story.of(Copied) if e.replica == "r3" and 510 < at < 1_500]

    assert len(copied) <= 1  # the answer to a fetch that waited
    assert next(set(e.isr) for _, e in story.of(IsrChanged)) == {"r1", "r2"}


def test_of_two_slow_times_that_overlap_the_second_ends_by_itself() -> None:
    first = fault(FaultKind.SLOW_FETCHER, 300, "r3", 400)
    second = fault(FaultKind.SLOW_FETCHER, 600, "r3", 900)
    story = tell(scenario(first, second))
    copied = [at for at, e in story.of(Copied) if e.replica == "r3"]

    assert [at for at, _ in story.of(FaultEnded)] == [700, 1_500]
    assert len([at for at in copied if 700 < at < 1_500]) <= 2  # a batch every 600 ms
    assert len([at for at in copied if at > 1_500]) > 5


def test_an_added_replica_copies_the_log_and_joins_the_in_sync_set() -> None:
    story = tell(scenario(fault(FaultKind.ADD_REPLICA, 900, "r4")))

    assert [(at, e.replica) for at, e in story.of(ReplicaAdded)][-1] == (900, "r4")
    assert story.of(IsrChanged)[-1][1].joined == "r4"
    assert log_ends(story)["r4"] == 40


def test_a_fault_on_a_replica_that_is_down_is_left_out() -> None:
    crash = fault(FaultKind.CRASH, 500, "r2", 1_000)
    again = fault(FaultKind.CRASH, 800, "r2", 1_000)
    story = tell(scenario(crash, again))

    assert len(story.of(FaultInjected)) == 1


def test_a_replica_with_an_old_cleaner_checkpoint_cleans_from_there_again() -> None:
    def first_dirty(old: OldFiles) -> list[int]:
        crash = Crash(1_500, "r3", 200, **old._asdict())
        cleaned = tell(scenario(crash)).of(Cleaned, lambda event: event.replica == "r3")
        return [event.first_dirty_offset for at, event in cleaned if at > 1_700]

    assert first_dirty(OldFiles()) == [16, 34]
    assert first_dirty(OldFiles(cleaned=0)) == [0, 34]
    assert first_dirty(OldFiles(cleaned=99)) == [16, 34]


def test_a_fault_that_lasts_is_told_when_it_is_over_and_in_the_end_all_are() -> None:
    short = fault(FaultKind.PARTITION, 500, "r2", 700)
    long = fault(FaultKind.CRASH, 900, "r3", 60_000)
    story = tell(scenario(short, long, fault(FaultKind.ROLL, 600, "r1")))
    ended = [(at, e.replica, e.fault) for at, e in story.of(FaultEnded)]

    assert ended == [(1_200, "r2", "partition"), (4_000, "r3", "crash")]
    assert len(story.of(FaultInjected)) == 3
