"""Settings reach brokers and producers one by one, while the cluster runs."""

from dataclasses import replace

import pytest

from sim.protocol.events import Appended, Cleaned
from sim.protocol.log import Record
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.faults import FaultKind, Roll
from sim.simulate.scenario.model import Change, ReplicaSpec, Scenario, Send, Topic, Workload
from tests.cluster.worlds import fault, scenario, tell

TO_HEADER = (("strategy", "header"),)
LATE = Workload(
    sends=(
        Send(500, 1, "k", "new", 500, 9),
        Send(600, 1, "k", "late", 600, 3),
        Send(700, 1, "other", "x", 700, 1),
    )
)
ROLLS = tuple(Roll(1_000, name) for name in ("r1", "r2", "r3"))
QUIET = Scenario(
    id="changing", duration_ms=4_000, rules=Rules.of(commit="isr"), workload=LATE, faults=ROLLS
)


def lost(scenario: Scenario) -> dict[str, int]:
    """The offset that each replica's cleaner took away."""
    passes = tell(scenario).of(Cleaned)
    return {event.replica: one.offset for _, event in passes for one in event.removals}


def appended(scenario: Scenario) -> list[Record]:
    return [one for _, event in tell(scenario).of(Appended) for one in event.batch.records]


def test_each_broker_cleans_by_the_settings_that_have_reached_it() -> None:
    changes = (Change(0, "r1", TO_HEADER), Change(100, "r3", TO_HEADER))

    assert lost(QUIET) == {"r1": 0, "r2": 0, "r3": 0}
    assert lost(replace(QUIET, changes=changes)) == {"r1": 1, "r2": 0, "r3": 1}
    assert lost(replace(QUIET, changes=(Change(100, "all", TO_HEADER),))) == {
        "r1": 1,
        "r2": 1,
        "r3": 1,
    }


def test_a_replica_that_joins_cleans_by_the_settings_that_the_first_one_has_by_then() -> None:
    joins = (*ROLLS, fault(FaultKind.ADD_REPLICA, 800, "r4"), Roll(1_500, "r4"))
    changes = tuple(Change(100, name, TO_HEADER) for name in ("r1", "r2"))

    assert lost(replace(QUIET, faults=joins))["r4"] == 0
    assert lost(replace(QUIET, faults=joins, changes=changes))["r4"] == 1


def test_a_producer_sends_versions_only_while_it_is_rolled_out() -> None:
    changes = (
        Change(0, producer=0, versions=False),
        Change(550, producer=1),
        Change(650, producer=1, versions=False),
    )

    assert [bool(one.headers) for one in appended(QUIET)] == [True, True, True]
    assert [bool(one.headers) for one in appended(replace(QUIET, changes=changes))] == [
        False,
        True,
        False,
    ]


def test_a_replica_that_joins_has_the_settings_of_the_first_one_that_is_left() -> None:
    specs = (ReplicaSpec("r1", cleaner_backoff_ms=1), ReplicaSpec("r2", cleaner_backoff_ms=7))
    cluster = Cluster(scenario(replicas=specs), lambda _at, _events: None)
    cluster.start()
    cluster.remove(cluster.nodes["r1"])
    cluster.add("r3")

    assert cluster.nodes["r3"].spec == replace(specs[1], name="r3")


@pytest.mark.parametrize(("compacts", "rolls_after_ms"), [(True, 100), (False, 500)])
def test_the_compaction_lag_rolls_the_segments_of_compacted_topics_alone(
    *, compacts: bool, rolls_after_ms: int
) -> None:
    topic = Topic(segment_ms=500, max_compaction_lag_ms=100, compacts=compacts)
    cluster = Cluster(scenario(topic=topic), lambda _at, _events: None)

    assert cluster.context.log_config.segment_ms == rolls_after_ms
