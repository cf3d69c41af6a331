"""What has to be told beyond what the log's own changes say."""

from __future__ import annotations

from sim.protocol.events import Cleaned, ConfigChanged
from sim.simulate.faults import Roll
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.model import ReplicaSpec, Scenario, Workload
from tests.cluster.worlds import sends, tell


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
