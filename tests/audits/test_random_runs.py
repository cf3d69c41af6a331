"""A fixed slice of random runs raises no alarm, and meets situations that are rare."""

from dataclasses import replace

from sim.protocol.rules import Rules, rules_from
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.model import Workload
from tests.audits.random_runs import audit_some, slice_of
from tests.cluster.worlds import THREE, scenario, sends
from tests.rules.restless import is_stuck
from tests.zoo.draws import WIDE


def test_random_runs_raise_no_alarm() -> None:
    found = audit_some(seed=1, count=20)

    assert found.alarms == []
    assert found.runs == 20
    assert found.met["fetch-of-an-earlier-life"] > 1


def test_every_second_run_is_of_the_plan_that_draws_widely() -> None:
    draws = slice_of(1)
    first = [next(draws) for _ in range(40)]

    assert all(one.plan == WIDE for one in first[::2])
    assert len({one.plan for one in first[1::2]}) > 5
    assert next(slice_of(2)) != first[0]


def test_a_run_that_does_not_come_to_rest_is_an_alarm_unless_a_story_shows_why() -> None:
    writing = scenario(rules=rules_from({"preset": "kraft", "leader_change_record": False}))
    silent = replace(writing, workload=Workload())
    alone = scenario(
        replicas=THREE[:1],
        rules=Rules.of(commit="isr", min_isr=2),
        workload=Workload(sends(), retries=10_000),
    )
    run, waits = run_scenario(writing), run_scenario(alone)

    assert "did not come to rest in 60000 ms" in str(waits.reason)
    assert is_stuck(alone, waits)
    assert not is_stuck(alone, replace(waits, outside="a crash took a committed record"))
    assert not is_stuck(writing, run)
    assert is_stuck(writing, replace(run, reason=waits.reason))
    assert not is_stuck(silent, replace(run, reason=waits.reason))
