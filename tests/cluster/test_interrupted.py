"""A crash that waits for a cleaning pass, in simulated time."""

from pathlib import Path

from sim.protocol.events import FaultInjected, ReplicaCrashed, ReplicaRestarted, SegmentsLost
from sim.simulate.faults import FaultKind
from sim.simulate.scenario.file.load import load_scenario
from tests.cluster.worlds import Story, fault, scenario, tell

FOLDER = Path(__file__).parents[2] / "scenarios" / "durability"


def of_the_file(name: str) -> Story:
    return tell(load_scenario(FOLDER / f"{name}.yaml"))


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


def test_without_a_pass_there_is_no_crash() -> None:
    waiting = fault(FaultKind.CRASH, 3_999, "r2", 100, during="swap")

    assert tell(scenario(waiting)).of(ReplicaCrashed) == []
