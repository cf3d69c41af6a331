"""Replicas as values, whole and in parts: what random stories make of them comes back the same."""

from typing import Any

import pytest

from sim.log import Log, LogConfig
from sim.replication import Replica
from sim.replication.frozen import freeze, thaw
from sim.replication.replica import log_config
from sim.schedules.parts import WatchedReplica, parts_of
from sim.schedules.world import World
from tests.schedules.agreement import TRIED, Walk, rules_of


@pytest.mark.parametrize(("world", "values"), TRIED)
def test_a_replica_comes_back_from_its_value(world: World, values: dict[str, Any]) -> None:
    walk = Walk(world, rules_of(values), seed=3)
    begun = freeze(Replica("r1", Log(log_config(walk.rules, LogConfig()))))
    changed = 0
    for schedule in walk.followed(6):
        for replica in schedule.driver.replicas.values():
            value = freeze(replica)
            again = thaw(value)
            assert freeze(again) == value
            assert hash(freeze(again)) == hash(value)
            again.log.truncate_to(0)
            again.log.segments.clear()
            assert freeze(replica) == value, "what was thawed shares something"
            changed += value != begun
    assert changed > 6


@pytest.mark.parametrize(("world", "values"), TRIED)
def test_a_replica_comes_back_from_its_parts(world: World, values: dict[str, Any]) -> None:
    walk = Walk(world, rules_of(values), seed=4)
    parts = walk.space.members.parts
    met = set()
    for schedule in walk.followed(6):
        views = schedule.driver.checker.history.replicas
        for name, replica in schedule.driver.replicas.items():
            lineage = tuple(views[name].lineage)
            member = parts.member(parts_of(replica, lineage))
            again = WatchedReplica.of(parts, member)
            assert parts.member(parts_of(again, lineage)) == member
            met.add(member)
    assert len(met) > 6
