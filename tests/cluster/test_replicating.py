"""Fetching in time: long polls, retries of a fetch, snapshots, and the end of a healthy run."""

from sim.protocol.events import (
    Appended,
    Copied,
    HighWatermarkMoved,
    Quiesced,
    ReplicaAdded,
)
from sim.protocol.rules import Rules
from sim.simulate.scenario.model import Network, Timers, Workload
from tests.cluster.worlds import log_ends, scenario, sends, tell


def test_a_healthy_run_ends_at_rest_with_equal_log_ends() -> None:
    story = tell(scenario())

    assert story.outcome.inconclusive is None
    assert [e.replica for _, e in story.of(ReplicaAdded)] == ["r1", "r2", "r3"]
    assert [e.synced for _, e in story.of(Quiesced)] == [True]
    assert type(story.events[-1][1]) is Quiesced
    assert log_ends(story) == {"r1": 40, "r2": 40, "r3": 40}


def test_a_waiting_fetch_is_answered_by_an_append_and_tells_the_high_watermark_the_next_time() -> (
    None
):
    one_write = Workload(sends=sends(1, start_ms=1_050))
    timers = Timers(fetch_wait_ms=400, replica_lag_max_ms=2_000)
    story = tell(scenario(workload=one_write, timers=timers, network=Network((2, 2))))
    appended_ms, _ = story.of(Appended)[0]
    moved = story.of(HighWatermarkMoved)
    committed_ms = next(at for at, e in moved if e.leading)

    assert [at - appended_ms for at, _ in story.of(Copied)] == [2, 2]
    assert [at - committed_ms for at, e in moved if not e.leading] == [402, 402]


def test_a_voter_learns_the_high_watermark_at_once() -> None:
    one_write = Workload(sends=sends(1, start_ms=1_050))
    rules = Rules.of(leader_change_record=True)
    story = tell(scenario(workload=one_write, rules=rules, network=Network((2, 2))))
    moved = [(at, e) for at, e in story.of(HighWatermarkMoved) if e.high_watermark == 2]
    committed_ms = next(at for at, e in moved if e.leading)

    assert [at - committed_ms for at, e in moved if not e.leading] == [2, 2]
