"""Audits find each defect that nothing else finds in a few random runs, and nothing without one."""

from contextlib import suppress

import pytest

from sim.protocol.rules import PRESETS, rules_from
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, Mix
from tests.audits.defects import PLANTED
from tests.audits.registering import AUDITS, audited


def found(rules: dict[str, object], mix: Mix, seeds: range) -> set[str]:
    """What audits find in random runs."""
    violated: set[str] = set()
    with audited():
        for seed in seeds:
            with suppress(ValueError):  # what the core may raise with a defect in it
                run = run_scenario(generate(seed, mix).with_rules(rules_from(rules)))
                violated |= {*run.violated} & AUDITS
    return violated


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]
    planted.plant(monkeypatch)
    rules = {"preset": planted.preset, "delete_retention_ms": 500, **planted.rules}
    mix = Mix.model_validate(planted.mix)

    assert any(planted.found_by in found(rules, mix, range(seed, seed + 1)) for seed in range(4))


@pytest.mark.parametrize("preset", PRESETS)
def test_random_runs_of_every_preset_in_every_mix_pass_the_audits(preset: str) -> None:
    for mix in BUILT_IN_MIXES.values():
        assert found({"preset": preset}, mix, range(3)) == set()
