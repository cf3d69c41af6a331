"""Crashes that wait for a cleaning pass or for the install of a snapshot, in simulated time."""

from dataclasses import replace
from pathlib import Path

import pytest

from sim.protocol.events import (
    FaultInjected,
    LogEmptied,
    ReplicaCrashed,
    ReplicaRestarted,
    SegmentsLost,
    SnapshotInstalled,
)
from sim.simulate.faults import FaultKind
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.model import Scenario
from tests.cluster.worlds import Story, fault, scenario, tell

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def of_the_file(name: str) -> Story:
    return tell(load_scenario(SCENARIOS / f"durability/{name}.yaml"))


def installing(**rules: str) -> Scenario:
    """A crash between the name of a snapshot and the emptying of the log, under these rules."""
    given = load_scenario(SCENARIOS / "snapshots/timed_install_finished_by_a_restart.yaml")
    return replace(given, rules=given.rules.with_values(rules))


def test_the_crash_comes_with_the_next_pass_and_lasts_from_then_on() -> None:
    story = of_the_file("timed_swap_finished")
    [(crashed_ms, crashed)] = story.of(ReplicaCrashed)
    restarted_ms = [at for at, event in story.of(ReplicaRestarted) if event.replica == "r2"]

    assert crashed.replica == "r2"
    assert crashed_ms == 466
    assert restarted_ms == [crashed_ms + 200]
    assert "during a pass (swap)" in story.of(FaultInjected)[-1][1].detail


def test_segments_that_are_in_no_file_are_told() -> None:
    [(at, lost)] = of_the_file("timed_swap_segments_missing").of(SegmentsLost)

    assert (at, lost.replica) == (466, "r2")
    assert lost.offsets[0] == 0


@pytest.mark.parametrize(("at_ms", "during"), [(3_999, "swap"), (100, "install")])
def test_without_a_pass_or_a_snapshot_there_is_no_crash(at_ms: int, during: str) -> None:
    waiting = fault(FaultKind.CRASH, at_ms, "r2", 100, during=during)

    assert tell(scenario(waiting)).of(ReplicaCrashed) == []


def test_the_crash_comes_when_the_snapshot_is_there_and_leaves_the_log_as_it_was() -> None:
    story = tell(installing())
    (_, first), (at, second) = story.of(ReplicaCrashed)
    [(told, injected)] = story.of(FaultInjected, lambda event: "install" in event.detail)

    assert second.log_end_offset == first.log_end_offset == 43
    assert told == at
    assert "before a snapshot is installed" in injected.detail


def test_the_crash_finds_no_log_where_the_first_chunk_has_emptied_it() -> None:
    story = tell(installing(snapshot_install="at_first_chunk"))
    (_, first), (at, second) = story.of(ReplicaCrashed)
    [(emptied_ms, emptied)] = story.of(LogEmptied)

    assert first.log_end_offset == emptied.log_end_offset == 43
    assert emptied_ms <= at
    assert second.log_end_offset == 0


def test_a_restart_installs_at_once_what_else_is_fetched_again() -> None:
    finished, again = (
        tell(installing()),
        tell(installing(install_recovery="log_kept", held_snapshot="fetched")),
    )

    for story, at_once in ((finished, True), (again, False)):
        back_ms = story.of(ReplicaRestarted)[-1][0]
        [(installed_ms, installed)] = story.of(SnapshotInstalled)
        assert (installed_ms == back_ms) is at_once
        assert installed.log_end_offset == 43


def test_who_does_neither_never_catches_up() -> None:
    result = run_scenario(installing(install_recovery="log_kept"))

    assert result.verdict == "inconclusive"
    assert "v3 has not fetched to the end" in str(result.reason)
