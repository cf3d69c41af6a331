"""What has to be told beyond what the log's own changes say."""

from __future__ import annotations

from sim.faults.roll import Roll
from sim.log.epochs import EpochEntry
from sim.replication.follower import receive_fetch
from sim.replication.replica import crash, truncate
from sim.scenario.model import ReplicaSpec, Scenario, Workload
from sim.timed_run import run_scenario
from sim.trace import Cleaned, ConfigChanged, EpochCacheChanged, GapLearned, ReplicaCrashed
from tests.cluster.worlds import sends, tell
from tests.replication.replicas import RULES, ask, elect, leading, with_log

ONE_EPOCH = EpochCacheChanged("r1", (EpochEntry(1, 0),))


def test_a_cut_that_takes_no_record_tells_which_epochs_it_took() -> None:
    replica = with_log("r1", 1, 1)
    elect(replica, epoch=2)
    replica.leadership = None

    assert truncate(replica, 2) == [ONE_EPOCH]
    assert truncate(replica, 2) == []


def test_a_loss_of_power_that_takes_no_record_tells_which_epochs_it_took() -> None:
    replica = with_log("r1", 1, 1)
    elect(replica, epoch=2)

    assert [type(event) for event in crash(replica)] == [ReplicaCrashed]
    replica.up = True
    assert crash(replica, lost_from=2)[1:] == [ONE_EPOCH]


def test_a_gap_tells_the_epochs_that_began_in_it() -> None:
    rules = RULES.with_values({"fix": "gap_fetch"})
    source, fetcher = leading(records=2, epoch=1, rules=rules), with_log("r2", 1, 1)
    elect(source, epoch=3, rules=rules)
    source.log.log_end_offset = 5
    response, _ = ask(source, fetcher, rules=rules)

    learned, *_ = receive_fetch(fetcher, response, rules=rules, now_ms=0).events

    assert learned == GapLearned("r2", "r1", 2, 5, (EpochEntry(3, 2),))


def test_a_broker_with_settings_of_its_own_says_so_as_it_joins() -> None:
    apart = ReplicaSpec("r2", tombstone_mark="flag")
    case = Scenario("own", duration_ms=200, replicas=(ReplicaSpec("r1"), apart, ReplicaSpec("r3")))
    told = tell(case)
    run = run_scenario(case)

    own = ConfigChanged("r2", (("tombstone_mark", "flag"),), initial=True)
    assert told.of(ConfigChanged) == [(0, own)]
    assert "settings-changed" not in run.reached


def test_a_pass_tells_the_time_by_the_replicas_own_clock() -> None:
    specs = (ReplicaSpec("r1"), ReplicaSpec("r2", clock_skew_ms=700), ReplicaSpec("r3"))
    rolls = tuple(Roll(1_500, spec.name) for spec in specs)
    work = Workload(sends=sends())
    case = Scenario("skewed", duration_ms=4_000, workload=work, replicas=specs, faults=rolls)
    passes = tell(case).of(Cleaned)

    ahead = {(event.replica, event.now_ms - at) for at, event in passes}
    assert ahead == {("r1", 0), ("r2", 700), ("r3", 0)}
