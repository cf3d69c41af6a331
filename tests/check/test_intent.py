"""Keys that end on what their producers did not mean: what a strategy is for."""

from dataclasses import replace

import pytest

from sim.rules import Rules
from sim.scenario.model import ReplicaSpec, Scenario, Send, Workload
from sim.timed_run import run_scenario

NEW = Send(100, 1, "k", "new", 100, 5)
LATE = Send(200, 2, "k", "late", 50, 3)

OTHERS = [Send(at_ms, 3, "other", f"v{at_ms}", at_ms, at_ms) for at_ms in range(250, 1_900, 250)]
"""They let segments roll, so that what is before them can be cleaned."""


def unmeant(*sends: Send, strategy: str, cleans: bool = True) -> int:
    scenario = Scenario(
        id="intent",
        duration_ms=2_000,
        replicas=(ReplicaSpec("r1", cleaner_backoff_ms=100 if cleans else None),),
        workload=Workload(tuple(sorted([*sends, *OTHERS]))),
    )
    rules = Rules.of(commit="isr", strategy=strategy, delete_retention_ms=100)
    topic = replace(scenario.topic, segment_ms=100, min_cleanable_dirty_ratio=0.0)
    return run_scenario(replace(scenario, topic=topic, rules=rules)).counters["unmeant_keys"]


@pytest.mark.parametrize(("strategy", "keys"), [("offset", 1), ("timestamp", 0), ("header", 0)])
def test_a_late_write_wins_by_offset_alone(strategy: str, keys: int) -> None:
    assert unmeant(NEW, LATE, strategy=strategy) == keys


@pytest.mark.parametrize("strategy", ["offset", "timestamp", "header"])
def test_nothing_is_unmeant_where_nothing_is_late(strategy: str) -> None:
    assert unmeant(LATE._replace(at_ms=50), NEW, strategy=strategy) == 0


def test_a_late_delete_ends_a_key_that_was_meant_to_live() -> None:
    assert unmeant(NEW, LATE._replace(value=None), strategy="offset") == 1
    assert unmeant(NEW._replace(value=None), LATE._replace(value=None), strategy="offset") == 0


def test_a_write_without_a_version_is_newer_by_its_timestamp_and_the_header_ignores_that() -> None:
    bare = NEW._replace(at_ms=300, timestamp_ms=300, version=None)

    assert unmeant(NEW, bare, strategy="header") == 1
    assert unmeant(NEW, bare, strategy="timestamp") == 0


def test_two_writes_with_one_version_are_not_told_apart() -> None:
    twin = LATE._replace(version=NEW.version)

    assert unmeant(NEW, twin, strategy="header") == unmeant(NEW, twin, strategy="offset") == 0


def test_a_late_write_that_outlives_its_delete_is_not_meant() -> None:
    deleted, after = NEW._replace(value=None), LATE._replace(at_ms=1_000)

    assert unmeant(deleted, after, strategy="header") == 1
    assert unmeant(deleted, after, strategy="header", cleans=False) == 0
