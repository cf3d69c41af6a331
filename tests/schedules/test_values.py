"""Replicas as values, whole and in parts: what random stories make of them comes back the same."""

from typing import NamedTuple

import pytest

from sim.protocol.log import Log, LogConfig
from sim.protocol.replication import Replica
from sim.protocol.replication.replica import freeze, log_config, maker
from sim.study.explore.parts import WatchedReplica, parts_of
from tests.schedules.agreement import TRIED, Schedule, Walk, rules_of


class Followed(NamedTuple):
    """Random schedules of a world, at their ends."""

    walk: Walk
    schedules: list[Schedule]


@pytest.fixture(scope="module", params=TRIED)
def followed(request: pytest.FixtureRequest) -> Followed:
    world, values = request.param
    walk = Walk(world, rules_of(values), seed=3)
    return Followed(walk, walk.followed(6))


def test_a_replica_comes_back_from_its_value(followed: Followed) -> None:
    begun = freeze(Replica("r1", Log(log_config(followed.walk.rules, LogConfig()))))
    changed = 0
    for schedule in followed.schedules:
        for replica in schedule.driver.replicas.values():
            value = freeze(replica)
            again = maker(value)()
            assert freeze(again) == value
            assert hash(freeze(again)) == hash(value)
            again.log.truncate_to(0)
            again.log.segments.clear()
            assert freeze(replica) == value, "what was thawed shares something"
            changed += value != begun
    assert changed > 6


def test_a_replica_comes_back_from_its_parts(followed: Followed) -> None:
    parts = followed.walk.space.members.parts
    met = set()
    for schedule in followed.schedules:
        views = schedule.driver.checker.history.replicas
        for name, replica in schedule.driver.replicas.items():
            lineage = tuple(views[name].lineage)
            member = parts.member(parts_of(replica, lineage))
            again = WatchedReplica.of(parts, member)
            assert parts.member(parts_of(again, lineage)) == member
            met.add(member)
    assert len(met) > 6
