"""What the tests of this package shrink."""

from pathlib import Path

from sim.protocol.rules import Rules, rules_from
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.generate import BUILT_IN_MIXES, Mix, generate
from sim.simulate.scenario.model import Scenario
from sim.simulate.story import Story, load_story

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def story(name: str) -> Story:
    """The story whose file begins so."""
    return load_story(next(SCENARIOS.glob(f"*/{name}_*.yaml")))


def timed(name: str) -> Scenario:
    """The scenario of that file."""
    return load_scenario(next(SCENARIOS.glob(f"*/{name}.yaml")))


KAFKA = rules_from(
    {"preset": "kafka-4.0", "strategy": "header", "map_range": "full", "fix": "none"}
).with_values({"delete_retention_ms": 500})
HUNTED = Mix(
    duration_ms=5000,
    sends=(40, 130),
    tail_hunts=1.0,
    outage_ms=(100, 3000),
    lateness_ms=(1, 2000),
    idle_ms=(600, 2500),
    clock_skew_ms=1000,
)
SHORT = Mix(duration_ms=1500, sends=(15, 30), delete_share=(0.3, 0.4), tail_hunts=0.0)
IMMEDIATE = Rules.of(tombstone_removal="immediate")

LOST_TAIL = story("kip280_07")
REUSED = generate(3084049378818361790, HUNTED).with_rules(KAFKA)
"""A random run whose log end falls by cleaning, and with it much else."""
REMOVED = generate(100, HUNTED).with_rules(KAFKA)
AT_ONCE = generate(11, BUILT_IN_MIXES["reference"]).with_rules(IMMEDIATE)
FAILING = generate(30, SHORT).with_rules(IMMEDIATE)
