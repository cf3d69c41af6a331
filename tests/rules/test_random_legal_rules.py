"""Rules that are allowed never break a run, whatever they are combined with."""

import random
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim.bounds import Bounds, each_run_within
from sim.files.limits import SKEW
from sim.protocol.rules import DEFAULTS, PRESETS, RULES, rules_from
from sim.protocol.rules.spec import RuleSpec, RuleValue
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import BUILT_IN_MIXES, Mix, generate
from sim.simulate.scenario.model import Scenario
from tests.rules.restless import RESTLESS, is_stuck

SCENARIOS = Path(__file__).parents[2] / "scenarios"
BLOCKS, BLOCK = 4, 15
BOUNDS = Bounds(seconds=20)
ONLY_STORIES = {"offset_assignment": "leader_assigned"}
"""What a timed run refuses in one line, so that it is never drawn."""
SHARES = [
    name
    for name, field in Mix.model_fields.items()
    if isinstance(field.default, float)
    and name not in ("slow_link", "late_messages", "last_rounds")
]
"""A slow link beside small fetches needs longer than a run waits, and is in no way stuck; so do
last rounds where `delete.retention.ms` is long; of late messages a share below 1 is drawn apart.
"""
PAIRS_OF_SHARES = ("delete_share", "late_share", "loss")


def drawn(seed: int) -> Scenario:
    """A random scenario of a random mix under random rules."""
    rng = random.Random(seed)
    mix = _mix(rng)
    settings = rules_from({"preset": rng.choice(list(PRESETS))})
    few = {"min_isr": min(settings.topic.min_isr, mix.replicas[0])}
    rules = few | _rules(rng, mix.replicas[0])
    return generate(seed, mix).with_rules(settings.with_values(rules))


def _rules(rng: random.Random, replicas: int) -> dict[str, RuleValue]:
    """Few of them in one run, in another most."""
    share = rng.choice((0.05, 0.3, 1.0))
    chosen = [spec for spec in RULES.values() if rng.random() < share]
    return {spec.name: _value(rng, spec, replicas) for spec in chosen} | ONLY_STORIES


def _value(rng: random.Random, spec: RuleSpec, replicas: int) -> RuleValue:
    if spec.values:
        return rng.choice(spec.values)
    if spec.name == "min_isr":
        return rng.randint(1, replicas)
    if isinstance(DEFAULTS[spec.name], int):
        return rng.randint(spec.minimum or 0, 20_000)
    return rng.choice(("version", "other"))


def _mix(rng: random.Random) -> Mix:
    """One to seven replicas, clocks and senders however late, any share of anything."""
    shares = {name: rng.choice((0.0, 1.0, rng.random())) for name in SHARES if rng.random() < 0.4}
    pairs = {name: _range(rng) for name in PAIRS_OF_SHARES if rng.random() < 0.3}
    fewest = rng.randint(1, 7)
    return Mix(
        mix=rng.choice(list(BUILT_IN_MIXES)),
        replicas=(fewest, rng.randint(fewest, 7)),
        clock_skew_ms=rng.choice((0, 2_000, 20_000, SKEW.most)),
        lateness_ms=(1, rng.choice((1, 4_000, 1_000_000))),
        duration_ms=rng.randint(1_000, 5_000),
        sends=(10, rng.randint(10, 150)),
        slow_link=0.0,
        late_messages=rng.choice((0.0, 0.0, 0.1, 0.5)),
        **shares,
        **pairs,
    )


def _range(rng: random.Random) -> tuple[float, float]:
    first, second = sorted((rng.random(), rng.random()))
    return first, second


def broken(seeds: range) -> Iterator[tuple[int, str]]:
    """Of which seeds a run raises, or goes on and on; and what it says then."""
    for seed in seeds:
        scenario = drawn(seed)
        try:
            with each_run_within(BOUNDS):
                run = run_scenario(scenario)
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            yield seed, traceback.format_exc()
        else:
            if is_stuck(scenario, run):
                yield seed, str(run.reason)


def test_what_never_rests_is_shown_by_a_story() -> None:
    assert all((SCENARIOS / name).is_file() for name in RESTLESS)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_legal_rule_breaks_a_run(block: int) -> None:
    assert dict(broken(range(block * BLOCK, (block + 1) * BLOCK))) == {}


if __name__ == "__main__":  # as in: python -m tests.rules.test_random_legal_rules 0 20000
    for number, said in broken(range(int(sys.argv[1]), int(sys.argv[2]))):
        sys.stdout.write(f"seed {number}: {said}\n")
