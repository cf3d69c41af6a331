"""The same scenario gives the same events, everywhere and always."""

import pytest

from sim.protocol.events import Quiesced
from sim.protocol.rules import rules_from
from sim.simulate.scenario.generate import BUILT_IN_MIXES, generate
from tests.cluster.worlds import Story, tell

PRESETS = ("kafka-4.0", "kafka-2.8", "kraft", "redpanda-25.3")


def storm(seed: int, preset: str) -> Story:
    rules = rules_from({"preset": preset})
    return tell(generate(seed, BUILT_IN_MIXES["storm"]).with_rules(rules))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_scenario_happens_twice_alike(preset: str) -> None:
    assert storm(11, preset).digest() == storm(11, preset).digest()


def test_another_seed_is_another_story() -> None:
    assert storm(11, "kafka-4.0").digest() != storm(12, "kafka-4.0").digest()


@pytest.mark.parametrize("preset", PRESETS)
def test_random_scenarios_come_to_rest(preset: str) -> None:
    rules = rules_from({"preset": preset})
    for seed in range(8):
        story = tell(generate(seed, BUILT_IN_MIXES["reference"]).with_rules(rules))

        assert story.outcome.inconclusive is None, seed
        assert [event.synced for _, event in story.of(Quiesced)] == [True], seed


def test_times_never_go_back() -> None:
    times = [at for at, _ in storm(5, "kafka-4.0").events]

    assert times == sorted(times)
