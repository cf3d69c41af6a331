"""What only some mixes draw: retention, two instances, long transactions."""

from dataclasses import replace
from pathlib import Path

from sim.protocol.events import AppendRefused, Event, FaultInjected, LogStartMoved
from sim.simulate.faults.kinds import Crash
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import Mix, generate
from sim.study.sweep.plan import load_plan, number_runs

SEEDS = range(40)
FAR = number_runs(load_plan(Path(__file__).parents[2] / "scenarios/sweeps/far.yaml"))


def events_of(mix: Mix, seeds: range) -> list[Event]:
    rules = FAR.rule_sets[0].rules
    runs = [run_scenario(generate(one, mix).with_rules(rules), keep_events=True) for one in seeds]
    assert {run.verdict for run in runs} <= {"holds", "violated", "inconclusive"}
    return [event for run in runs for _, event in run.events]


def test_crashes_come_after_any_operation_of_a_pass() -> None:
    mix = Mix(cleaning_crashes=1.0)
    crashes = [
        fault for seed in SEEDS for fault in generate(seed, mix).faults if isinstance(fault, Crash)
    ]

    assert {type(crash.during) for crash in crashes} == {int}
    assert len({crash.during for crash in crashes}) > 15
    details = [
        event.detail for event in events_of(mix, range(12)) if isinstance(event, FaultInjected)
    ]
    assert sum("during a pass" in detail for detail in details) > 4


def test_old_segments_are_deleted_by_age_by_size_or_by_both() -> None:
    mix = Mix(retention=1.0)
    topics = [generate(seed, mix).topic for seed in SEEDS]

    assert all(topic.deletes for topic in topics)
    bounds = {(topic.retention_ms is None, topic.retention_bytes is None) for topic in topics}
    assert bounds == {(True, False), (False, True), (False, False)}
    assert any(isinstance(event, LogStartMoved) for event in events_of(mix, range(10)))


def test_a_second_instance_takes_over_and_fences_the_first() -> None:
    mix = Mix(instances=1.0, transactional=1.0, producers=(2, 3))
    for seed in SEEDS:
        drawn = generate(seed, mix)
        first, second = (
            [send.at_ms for send in drawn.workload.sends if send.producer == number]
            for number in (1, 2)
        )

        assert drawn.applications.instances == ((2, 1),)
        assert min(second) + 2_500 > max(first)
    refused = [event for event in events_of(mix, range(20)) if isinstance(event, AppendRefused)]
    assert any(event.reason == "producer_fenced" for event in refused)


def test_long_transactions_are_longer_than_others() -> None:
    def longest(mix: Mix) -> int:
        sizes: dict[tuple[int, int, int], int] = {}
        for seed in SEEDS:
            for send in generate(seed, mix).workload.sends:
                if send.transaction:
                    key = (seed, send.producer, send.transaction)
                    sizes[key] = sizes.get(key, 0) + 1
        return max(sizes.values())

    assert longest(Mix(transactional=1.0)) <= 6
    assert longest(Mix(transactional=1.0, long_transactions=1.0)) > 30


def test_the_environments_of_the_far_plan_differ_in_what_they_are_named_after() -> None:
    for seed in range(10):
        drawn, late, elections, disks = (generate(seed, one.mix) for one in FAR.environments)

        assert replace(late, id=drawn.id, late_messages=drawn.late_messages) == drawn
        assert elections.workload == disks.workload == drawn.workload
        counts = [len(one.faults) for one in (drawn, elections, disks)]
        assert min(counts[1:]) > counts[0]
