"""The future drawn anew: the past stays as it was, to the last event."""

from dataclasses import replace

import pytest

from sim.diagnose.what_if.futures import future_of, seed_of
from sim.protocol.events import Event
from sim.simulate.cluster.simulation import Fork
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.model import Scenario
from tests.shrink.cases import timed

QUIET = Mix.model_validate({"mix": "quiet", "duration_ms": 4_000, "transactional": 1.0})
LOST_TAIL = timed("timed_lost_tail")
DRAWN = generate(5, QUIET)


def events_of(scenario: Scenario, fork: Fork | None = None) -> list[tuple[int, Event]]:
    return [*run_scenario(scenario, keep_events=True, fork=fork).events]


@pytest.mark.parametrize(
    ("scenario", "mix", "at_ms"), [(LOST_TAIL, None, 2_467), (DRAWN, QUIET, 1_700)]
)
def test_what_happened_before_happens_again_and_then_something_else(
    scenario: Scenario, mix: Mix | None, at_ms: int
) -> None:
    was = events_of(scenario)
    futures = []
    for number in range(3):
        seed = seed_of(scenario, at_ms, number)
        futures.append(events_of(future_of(scenario, at_ms, seed, mix), Fork(at_ms, seed)))

    past = [one for one in was if one[0] < at_ms]
    assert past
    for future in futures:
        assert [one for one in future if one[0] < at_ms] == past
    assert len({tuple(future) for future in (was, *futures)}) == 4


def test_chance_alone_can_be_another_one_and_the_same_future_is_drawn_again() -> None:
    was, other = events_of(LOST_TAIL), events_of(LOST_TAIL, Fork(1_000, 7))
    assert [one for one in other if one[0] < 1_000] == [one for one in was if one[0] < 1_000]
    assert other != was

    seed = seed_of(DRAWN, 1_000, 4)
    assert future_of(DRAWN, 1_000, seed, QUIET) == future_of(DRAWN, 1_000, seed, QUIET)
    assert future_of(DRAWN, 1_000, seed) != future_of(DRAWN, 1_000, seed + 1)
    assert future_of(LOST_TAIL, LOST_TAIL.duration_ms, 1) is LOST_TAIL


def test_versions_and_transactions_go_on_where_they_were() -> None:
    future = future_of(DRAWN, 2_000, seed_of(DRAWN, 2_000, 1), QUIET)
    past = [send for send in future.workload.sends if send.at_ms < 2_000]
    later = [send for send in future.workload.sends if send.at_ms >= 2_000]

    assert past == [send for send in DRAWN.workload.sends if send.at_ms < 2_000]
    for send in later:
        begun = [one.transaction for one in past if one.producer == send.producer]
        assert send.transaction == 0 or send.transaction > max(begun, default=0)
    sent = {(send.producer, send.transaction) for send in future.workload.sends}
    assert all((end.producer, end.transaction) in sent for end in future.workload.ends)


def test_written_faults_come_at_another_time_to_another_replica() -> None:
    future = future_of(LOST_TAIL, 2_000, 11)

    kinds = sorted(fault.kind for fault in LOST_TAIL.faults)
    assert sorted(fault.kind for fault in future.faults) == kinds
    assert future.faults[0] == LOST_TAIL.faults[0]
    assert all(2_000 <= fault.at_ms < LOST_TAIL.duration_ms for fault in future.faults[1:])
    assert replace(future, faults=(), workload=LOST_TAIL.workload) == replace(LOST_TAIL, faults=())
