"""A fixed slice of random runs raises no alarm, and meets situations that are rare."""

from dataclasses import replace
from typing import Any

import pytest

from sim.protocol.rules import rules_from
from sim.simulate.run.timed import run_scenario
from tests.audits.random_runs import audit_some, is_stuck, slice_of
from tests.cluster.worlds import scenario
from tests.zoo.draws import WIDE

NO_ANSWER = "a producer still waits for an answer"
BEHIND = "r2 has not fetched to the end of r1"
COPIED = {"epoch_cache": "copied", "leader_change_record": False}


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


@pytest.mark.parametrize(
    ("rules", "why", "stuck"),
    [
        ({}, NO_ANSWER, True),
        ({"leader_change_record": False}, NO_ANSWER, False),
        ({"leader_change_record": False}, "there is no leader", True),
        ({"leader_change_record": False, "epoch_commit_rule": "none"}, NO_ANSWER, True),
        (COPIED, BEHIND, False),
        ({**COPIED, "leader_change_record": True}, BEHIND, True),
        ({**COPIED, "snapshot_offer": "below_start"}, BEHIND, True),
        ({"held_snapshot": "ignored"}, BEHIND, False),
    ],
)
def test_a_run_that_comes_to_no_rest_is_an_alarm_unless_its_rules_stop_it(
    rules: dict[str, Any], why: str, *, stuck: bool
) -> None:
    run = run_scenario(scenario(duration_ms=100, rules=rules_from({"preset": "kraft", **rules})))
    reason = f"the healed cluster did not come to rest in 60000 ms: {why}"

    assert not is_stuck(run)
    assert is_stuck(replace(run, reason=reason)) == stuck
    assert not is_stuck(replace(run, reason="outside", outside="a crash took a committed record"))
