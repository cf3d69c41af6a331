"""What processes wait for, how they are interrupted together, and that SimPy counts every event."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import simpy
from simpy.events import ProcessGenerator

from sim.simulate import cluster
from sim.simulate.cluster.waiting import Answer, Before, Lives, Waiting
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.model import Scenario
from tests.cluster.test_traces import trace
from tests.cluster.worlds import scenario, tell

Notes = list[tuple[float, Any]]


def noting(env: simpy.Environment, found: Notes, what: Any) -> Callable[[simpy.Event], None]:
    return lambda _: found.append((env.now, what))


def asking(env: simpy.Environment, found: Notes, waiting: Waiting, *patience_ms: int) -> Any:
    for ms in patience_ms:
        answer = yield waiting.begin(ms)
        found.append((env.now, answer))


def test_a_moment_comes_before_everything_else_of_its_time() -> None:
    env, found = simpy.Environment(), []
    for event, name in ((env.timeout(5), "timeout"), (Before(env, 5), "before")):
        event.callbacks.append(noting(env, found, name))
    env.run()

    assert found == [(5, "before"), (5, "timeout")]


def test_who_waits_for_an_answer_goes_on_within_the_event_that_brings_it() -> None:
    env, found = simpy.Environment(), []
    answer = Answer(env)
    answer.callbacks.append(noting(env, found, "answer"))
    env.timeout(3).callbacks += [lambda _: answer.come(1), noting(env, found, "it came")]
    env.timeout(3).callbacks.append(noting(env, found, "rest"))
    env.run()

    assert found == [(3, "answer"), (3, "it came"), (3, "rest")]


@pytest.mark.parametrize(
    ("patience_ms", "answers_ms", "expected"),
    [
        ((5,), [3], [(3, "at 3")]),
        ((5,), [], [(5, None)]),
        ((5, 5), [3], [(3, "at 3"), (8, None)]),
        ((5, 5, 5), [3, 6, 7], [(3, "at 3"), (6, "at 6"), (7, "at 7")]),
        ((5, 5), [6], [(5, None), (6, "at 6")]),
    ],
)
def test_an_answer_ends_a_wait_or_patience_does(
    patience_ms: tuple[int, ...], answers_ms: list[int], expected: Notes
) -> None:
    env, found = simpy.Environment(), []
    waiting = Waiting(env)
    env.process(asking(env, found, waiting, *patience_ms))
    for at_ms in answers_ms:
        env.timeout(at_ms, f"at {at_ms}").callbacks.append(lambda event: waiting.end(event.value))
    env.run()

    assert found == expected


def test_lives_are_interrupted_together_and_one_that_does_it_goes_on() -> None:
    env, found = simpy.Environment(), []
    lives = Lives(env)

    def sleeps(name: str) -> ProcessGenerator:
        yield env.timeout(10)
        found.append((env.now, name))

    def ends_all() -> ProcessGenerator:
        yield env.timeout(5)
        lives.interrupt()
        yield env.timeout(7)
        found.append((env.now, "itself"))

    asleep = lives.start(sleeps("asleep"))
    lives.start(ends_all())
    other = env.process(sleeps("another's"))
    env.run()

    assert found == [(10, "another's"), (12, "itself")]
    assert not asleep.is_alive
    assert other.ok


def test_every_event_of_a_run_is_a_step_of_an_unmodified_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, processes = 0, []
    step, start = simpy.Environment.step, simpy.Process.__init__

    def counted(env: simpy.Environment) -> None:
        nonlocal steps
        assert type(env) is simpy.Environment
        steps += 1
        step(env)

    def started(process: simpy.Process, env: simpy.Environment, generator: Any) -> None:
        start(process, env, generator)
        processes.append(process.name)

    monkeypatch.setattr(simpy.Environment, "step", counted)
    monkeypatch.setattr(simpy.Process, "__init__", started)
    counts = [tell(case).outcome.spent.simulator_events for case in lives(tmp_path)]

    assert steps == sum(counts)
    assert min(counts) > 100
    assert set(processes) == documented()


SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
LIVES = (
    "bootstrap/timed_epoch_cache_copied",
    "durability/timed_swap_finished",
    "kip87/timed_upgrade_01_recommended_order",
    "raft/timed_back_with_a_shorter_log_backs_off",
    "raft/timed_leader_retires",
)
"""Scenarios in which, together, everybody who has a life of its own lives."""


def lives(folder: Path) -> Iterator[Scenario]:
    yield scenario(workload=trace(folder))
    yield from map(shipped, LIVES)
    taken = shipped("kip630/timed_snapshot")
    yield replace(
        taken,
        timers=replace(taken.timers, load_us_per_record=1_000),
        snapshots=replace(taken.snapshots, interval_ms=500),
    )


def shipped(name: str) -> Scenario:
    return load_scenario(SCENARIOS / f"{name}.yaml")


def documented() -> set[str]:
    """The processes of the table in the docstring of the package."""
    return set(re.findall(r"^\| `(\w+)` \|", cluster.__doc__ or "", re.MULTILINE))
