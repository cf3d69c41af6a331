"""Cleaners run on their own: each on its clock, with its own checkpoint."""

from dataclasses import replace
from typing import Literal

import pytest

from sim.protocol.events import Cleaned, RoundsEnded
from sim.protocol.rules import Rules
from sim.simulate.scenario.model import ReplicaSpec, Send, Workload
from tests.cluster.worlds import scenario, sends, tell

SKEWED = (
    ReplicaSpec("r1", 0, 200),
    ReplicaSpec("r2", 50_000, 700),
    ReplicaSpec("r3", -20, None),
)
DELETES = tuple(
    send if index % 3 else type(send)(send.at_ms, 1, send.key, None, send.timestamp_ms)
    for index, send in enumerate(sends(60, every_ms=40))
)


def test_replicas_clean_independently_and_on_their_own_clocks() -> None:
    story = tell(scenario(replicas=SKEWED, workload=Workload(sends=DELETES)))
    during = [(at, e) for at, e in story.of(Cleaned) if at < 4_000]
    horizons = {
        name: [horizon - at for at, e in during if e.replica == name for _, horizon in e.horizons]
        for name in ("r1", "r2", "r3")
    }

    assert set(horizons["r1"]) == {86_400_000}
    assert set(horizons["r2"]) <= {86_450_000, 86_400_000}
    assert 86_450_000 in horizons["r2"]
    assert horizons["r3"] == []


@pytest.mark.parametrize(
    ("mark", "removes"), [(None, False), ("flag", False), ("null_value", True)]
)
def test_a_replica_cleans_by_what_its_own_software_takes_for_a_tombstone(
    mark: Literal["null_value", "flag"] | None, removes: bool
) -> None:
    """Unflagged nulls are data to the cluster's rules; an old cleaner takes them for deletes."""
    unflagged = tuple(send._replace(flag=False) for send in DELETES)
    rules = Rules.of(commit="isr", tombstone_mark="flag", tombstone_removal="immediate")
    replicas = (ReplicaSpec("r1"), ReplicaSpec("r2", tombstone_mark=mark))
    story = tell(scenario(replicas=replicas, rules=rules, workload=Workload(sends=unflagged)))
    removers = {
        e.replica for _, e in story.of(Cleaned) if any(r.reason == "tombstone" for r in e.removals)
    }

    assert removers == ({"r2"} if removes else set())


def test_last_rounds_roll_and_clean_every_log_with_the_retention_in_between() -> None:
    rules = Rules.of(commit="isr", delete_retention_ms=300)
    deleted = (*sends(5), Send(500, 1, "k0", None, 500))
    plain = scenario(rules=rules, workload=Workload(sends=deleted), duration_ms=1_500)
    story = tell(replace(plain, last_rounds=2))
    [(ended_ms, event)] = story.of(RoundsEnded)
    late = [at for at, e in story.of(Cleaned) if any(r.reason == "tombstone" for r in e.removals)]

    assert (event.rounds, event.interval_ms, event.cleaners) == (2, 350, ("r1", "r2", "r3"))
    assert ended_ms >= 1_500 + 2 * 350
    assert late
    assert tell(plain).of(RoundsEnded) == []
