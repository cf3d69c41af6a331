"""The invariants find the defects that are planted in the core."""

from contextlib import suppress

import pytest
from msgspec.structs import replace

from sim.check import Checker
from sim.check.checker import known_invariants
from sim.protocol.rules import Rules, rules_from
from sim.simulate.cluster.simulation import simulate
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from tests.check.defects import PLANTED
from tests.check.events import appended, batch, cluster, copied, violations_of


def found_in(rules: Rules, mix: Mix, seed: int) -> set[str]:
    """The invariants that a random run violates."""
    checker = Checker(rules, known_invariants())
    with suppress(ValueError):  # what the core may raise with a defect in it
        simulate(
            generate(seed, mix).with_rules(rules),
            lambda at, events: [checker.on(at, event) for event in events] and None,
        )
    return {violation.invariant for violation in checker.violations}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]
    rules = rules_from({"preset": planted.preset, "delete_retention_ms": 500, **planted.rules})
    planted.plant(monkeypatch)
    mix = Mix.model_validate(planted.mix)

    assert any(planted.found_by in found_in(rules, mix, seed) for seed in range(4))


def test_an_equal_copy_that_was_written_to_a_disk_and_read_again_is_the_same() -> None:
    first = batch(0, "k")
    again = replace(first, records=(replace(first.records[0]),))
    events = [*cluster("r1", "r2"), *appended("r1", first), copied("r2", "r1", 0, again)]

    assert violations_of("record-immutable", events) == []
