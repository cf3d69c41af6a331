"""What processes wait for, how they are interrupted together, and that SimPy counts every event."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import simpy
from simpy.events import ProcessGenerator

from sim.simulate import cluster
from sim.simulate.cluster.leader import Delayed
from sim.simulate.cluster.waiting import Patience, ProcessGroup
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.model import Scenario
from tests.cluster.test_traces import trace
from tests.cluster.worlds import scenario, tell

Notes = list[tuple[float, Any]]


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
    waits, patience = [simpy.Event(env)], Patience(env)

    def asks() -> ProcessGenerator:
        for ms in patience_ms:
            waits[0] = patience.answer_within(ms)
            answer = yield waits[0]
            found.append((env.now, answer))

    env.process(asks())
    for at_ms in answers_ms:
        arrival = env.timeout(at_ms, f"at {at_ms}")
        arrival.callbacks.append(lambda event: waits[0].succeed(event.value))
    env.run()

    assert found == expected


def test_of_the_requests_that_a_broker_holds_each_is_answered_at_its_own_deadline() -> None:
    env, found = simpy.Environment(), []
    held = Delayed[str](env, lambda requests: found.extend((env.now, one) for one in requests))
    held.hold("A", "at 500", 500)
    env.run(until=10)
    held.hold("B", "at 60", 50)
    held.hold("C", "at 500", 490)
    env.run()

    assert found == [(60, "at 60"), (500, "at 500"), (500, "at 500")]


def test_the_processes_of_a_group_are_interrupted_together_and_one_that_does_it_goes_on() -> None:
    env, found = simpy.Environment(), []
    group = ProcessGroup(env)

    def sleeps(name: str) -> ProcessGenerator:
        yield env.timeout(10)
        found.append((env.now, name))

    def ends_all() -> ProcessGenerator:
        yield env.timeout(5)
        group.interrupt()
        yield env.timeout(7)
        found.append((env.now, "itself"))

    asleep = group.start(sleeps("asleep"))
    group.start(ends_all())
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
        assert not {"step", "schedule", "run"} & vars(env).keys()
        steps += 1
        step(env)

    def started(process: simpy.Process, env: simpy.Environment, generator: Any) -> None:
        start(process, env, generator)
        processes.append(process.name)

    monkeypatch.setattr(simpy.Environment, "step", counted)
    monkeypatch.setattr(simpy.Process, "__init__", started)
    counts = [tell(case).outcome.spent.simulator_events for case in cases(tmp_path)]

    assert steps == sum(counts)
    assert min(counts) > 100
    assert set(processes) == documented()


PRIVATE = re.compile("_(?!_|replace$|asdict$)")
"""Private names, but for those of Python and of named tuples."""


def test_no_class_of_simpy_has_a_subclass_and_no_private_name_of_it_is_used() -> None:
    found = []
    for path in sorted(SIM.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text if "simpy" in text else "")
        imported = {name for node in ast.walk(tree) for name in names_of_simpy(node)}
        for node in ast.walk(tree) if imported else ():
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base).partition(".")[0] for base in node.bases}
                found += [f"{path.name}: {node.name}"] if bases & imported else []
            elif isinstance(node, ast.Attribute) and PRIVATE.match(node.attr):
                own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
                found += [] if own else [f"{path.name}: {ast.unparse(node)}"]

    assert found == []


def names_of_simpy(node: ast.AST) -> list[str]:
    """The names that an import of SimPy's modules brings."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "simpy":
        return [one.asname or one.name for one in node.names]
    if isinstance(node, ast.Import):
        return [one.asname or one.name for one in node.names if one.name.startswith("simpy")]
    return []


ROOT = Path(__file__).resolve().parents[2]
SCENARIOS, SIM = ROOT / "scenarios", ROOT / "sim"
WITH_ALL = (
    "bootstrap/timed_epoch_cache_copied",
    "durability/timed_swap_finished",
    "kip87/timed_upgrade_01_recommended_order",
    "raft/timed_back_with_a_shorter_log_backs_off",
    "raft/timed_leader_retires",
)
"""Scenarios that together start every process of the table."""


def cases(folder: Path) -> Iterator[Scenario]:
    yield scenario(workload=trace(folder))
    yield from map(shipped, WITH_ALL)
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
