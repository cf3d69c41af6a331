"""A run that used up its events says what they were for, and which setting makes them."""

from pathlib import Path

import pytest

from sim.simulate.cluster.steps import WATCHED, purpose_of
from sim.simulate.run.timed import run_scenario
from tests.scenario.texts import load

FOLLOWERS, CLEANERS, ELECTIONS = "timers.fetch_wait_ms", "log.cleaner.backoff.ms", "election"
RAFT = "rules: {commit: majority}"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("broker: {log.cleaner.backoff.ms: 1}", [CLEANERS]),
        ("timers: {fetch_wait_ms: 1}", [FOLLOWERS]),
        ("rules: {commit: isr}\ntimers: {replica_lag_max_ms: 2}", ["replica_lag_max_ms"]),
        (f"{RAFT}\ntimers: {{election_timeout_ms: [1, 2]}}", ["timers.election_timeout_ms"]),
        (
            "rules: {tombstone_removal: coordinated}\ntimers: {coordination_interval_ms: 1}",
            ["timers.coordination_interval_ms"],
        ),
        ("rules: {flush: interval}\ntopic: {flush.ms: 1}", ["flush.ms"]),
        ("consumers: 0\nreplicas: 1", [CLEANERS, ELECTIONS]),
        ("workload: {random: {sends: 90000, keys: 3}}", ["(workload)", FOLLOWERS]),
        (
            "topic: {cleanup.policy: snapshot}\ntimers: {snapshot_cleaning_ms: 1}",
            ["timers.snapshot_cleaning_ms"],
        ),
    ],
)
def test_the_reason_names_what_filled_a_run_and_the_setting_behind_it(
    tmp_path: Path, settings: str, told: list[str]
) -> None:
    text = f"duration_ms: 4000000\nlimits: {{max_events: 3000}}\n{settings}\n"

    run = run_scenario(load(tmp_path, text))

    assert run.verdict == "inconclusive"
    assert run.reason is not None
    assert "limits.max_events: 3000 simulator events were used when" in run.reason
    assert all(words in run.reason.partition("mostly by")[2] for words in told), run.reason


def test_the_reason_says_that_last_rounds_wait_for_the_retention(tmp_path: Path) -> None:
    """Known before a run only where they alone take too much."""
    text = "duration_ms: 100\nlast_rounds: 2\ntopic: {delete.retention.ms: 50000}\n"
    run = run_scenario(load(tmp_path, f"{text}limits: {{max_events: 2500}}\n"))

    assert run.reason is not None
    assert "used in last round 2 of 2, which waits 50000 ms (delete.retention.ms)" in run.reason


def test_each_kind_of_message_is_for_something() -> None:
    from sim.protocol.replication import messages

    names = [name for name in dir(messages) if name.endswith(("Request", "Response"))]
    assert len(names) > 15
    assert [name for name in names if not purpose_of(name)] == []
    assert WATCHED < 200_000
