"""A crash between the name of a snapshot and the emptying of the log, in simulated time."""

from dataclasses import replace
from pathlib import Path

from sim.protocol.events import (
    FaultInjected,
    LogEmptied,
    ReplicaCrashed,
    ReplicaRestarted,
    SnapshotInstalled,
)
from sim.simulate.faults import FaultKind
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.model import Scenario
from tests.cluster.worlds import fault, scenario, tell

FILE = "scenarios/snapshots/timed_install_finished_by_a_restart.yaml"


def under(**rules: str) -> Scenario:
    given = load_scenario(Path(__file__).parents[2] / FILE)
    return replace(given, rules=given.rules.with_values(rules))


def test_the_crash_comes_when_the_snapshot_is_there_and_leaves_the_log_as_it_was() -> None:
    story = tell(under())
    (_, first), (at, second) = story.of(ReplicaCrashed)
    [(told, injected)] = story.of(FaultInjected, lambda event: "install" in event.detail)

    assert second.log_end_offset == first.log_end_offset == 43
    assert told == at
    assert "before a snapshot is installed" in injected.detail


def test_the_crash_finds_no_log_where_the_first_chunk_has_emptied_it() -> None:
    story = tell(under(snapshot_install="at_first_chunk"))
    (_, first), (at, second) = story.of(ReplicaCrashed)
    [(emptied_ms, emptied)] = story.of(LogEmptied)

    assert first.log_end_offset == emptied.log_end_offset == 43
    assert emptied_ms <= at
    assert second.log_end_offset == 0


def test_a_restart_installs_at_once_what_else_is_fetched_again() -> None:
    finished, again = (
        tell(under()),
        tell(under(install_recovery="log_kept", held_snapshot="fetched")),
    )

    for story, at_once in ((finished, True), (again, False)):
        back_ms = story.of(ReplicaRestarted)[-1][0]
        [(installed_ms, installed)] = story.of(SnapshotInstalled)
        assert (installed_ms == back_ms) is at_once
        assert installed.log_end_offset == 43


def test_who_does_neither_never_catches_up() -> None:
    result = run_scenario(under(install_recovery="log_kept"))

    assert result.verdict == "inconclusive"
    assert "v3 has not fetched to the end" in str(result.reason)


def test_without_a_snapshot_there_is_no_crash() -> None:
    waiting = fault(FaultKind.CRASH, 100, "r2", 100, during="install")

    assert tell(scenario(waiting)).of(ReplicaCrashed) == []
