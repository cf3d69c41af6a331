"""The same scenario gives the same events, everywhere and always."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sim.rules import rules_from
from sim.scenario.generate import BUILT_IN_MIXES, generate
from sim.trace import Quiesced
from tests.cluster.worlds import Story, tell

ROOT = Path(__file__).parent.parent.parent
PRESETS = ("kafka-4.0", "kafka-2.8", "kraft", "redpanda-25.3")


def storm(seed: int, preset: str) -> Story:
    rules = rules_from({"preset": preset})
    return tell(generate(seed, BUILT_IN_MIXES["storm"]).with_rules(rules))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_scenario_happens_twice_alike(preset: str) -> None:
    assert storm(11, preset).digest() == storm(11, preset).digest()


@pytest.mark.parametrize("preset", PRESETS)
def test_the_hash_seed_of_the_process_changes_nothing(preset: str) -> None:
    code = (
        "from tests.cluster.test_determinism import storm;"
        f"print(storm(11, {preset!r}).digest(), end='')"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "4711")
    }

    assert digests == {storm(11, preset).digest()}


def test_another_seed_is_another_story() -> None:
    assert storm(11, "kafka-4.0").digest() != storm(12, "kafka-4.0").digest()


@pytest.mark.parametrize("preset", PRESETS)
def test_random_scenarios_come_to_rest(preset: str) -> None:
    rules = rules_from({"preset": preset})
    for seed in range(25):
        story = tell(generate(seed, BUILT_IN_MIXES["reference"]).with_rules(rules))

        assert story.outcome.inconclusive is None, seed
        assert [event.synced for _, event in story.of(Quiesced)] == [True], seed


def test_times_never_go_back() -> None:
    times = [at for at, _ in storm(5, "kafka-4.0").events]

    assert times == sorted(times)
