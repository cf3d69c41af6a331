"""A run that used up its events says how far it was."""

from pathlib import Path

import pytest

from sim.simulate.run.timed import run_scenario
from tests.scenario.texts import load

ROUNDS = "last_rounds: 2\ntopic: {delete.retention.ms: 50000}\nduration_ms: 100\n"


@pytest.mark.parametrize(
    ("text", "limit", "where"),
    [
        ("duration_ms: 4000000\n", 3000, "when 1 % of duration_ms were over"),
        (ROUNDS, 2500, "in last round 2 of 2, which waits 50000 ms (delete.retention.ms)"),
    ],
)
def test_a_run_that_used_up_its_events_says_how_far_it_was(
    tmp_path: Path, text: str, limit: int, where: str
) -> None:
    run = run_scenario(load(tmp_path, f"{text}limits: {{max_events: {limit}}}\n"))

    assert run.verdict == "inconclusive"
    assert run.reason == f"limits.max_events: {limit} simulator events were used {where}"
