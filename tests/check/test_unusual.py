"""Invariants that no usual event can break are not asked about one: nothing is missed by that."""

from contextlib import suppress

import pytest
from msgspec.structs import replace

from sim.check import Checker
from sim.check.checker import known_invariants
from sim.check.history import ClusterHistory
from sim.protocol.events import Event
from sim.protocol.rules import Rules, rules_from
from sim.simulate.cluster.simulation import simulate
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from tests.check.defects import PLANTED
from tests.check.events import RULES, appended, batch, cluster, copied, violations_of
from tests.check.text import Case, cases_of
from tests.check.unusual import asking_always

SOURCES = {
    "kip-280": {"preset": "kip-280", "fix": "none", "delete_retention_ms": 500},
    "a majority": {
        "preset": "kip-280",
        "commit": "majority",
        "tombstone_removal": "immediate",
        "cleaner_bound": "leo",
    },
    "no epochs": {"preset": "kafka-2.8", "truncation": "high_watermark", "isr_join": "hw_only"},
}


def found_either_way(rules: Rules, mix: Mix, seed: int) -> set[str]:
    """What is violated in a random run; asking always must find the very same violations."""
    events: list[tuple[int, Event]] = []
    case, names = generate(seed, mix).with_rules(rules), known_invariants()
    with suppress(ValueError):  # what the core may raise with a defect in it
        simulate(case, lambda at, found: events.extend((at, event) for event in found))
    some, every = [Checker(rules, names) for _ in "12"]
    asking_always(every)
    for at, event in events:
        some.on(at, event)
        every.on(at, event)
    assert some.violations == every.violations
    return {violation.invariant for violation in some.violations}


@pytest.mark.parametrize("rules", SOURCES)
def test_nothing_is_missed_where_rules_are_dangerous(rules: str) -> None:
    values, mix = rules_from(SOURCES[rules]), Mix.model_validate("reference")

    assert set().union(*[found_either_way(values, mix, seed) for seed in range(8)])


@pytest.mark.parametrize("name", PLANTED)
def test_nothing_is_missed_of_a_planted_defect(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]
    rules = rules_from({"preset": planted.preset, "delete_retention_ms": 500, **planted.rules})
    planted.plant(monkeypatch)
    mix = Mix.model_validate(planted.mix)

    assert any(planted.found_by in found_either_way(rules, mix, seed) for seed in range(4))


@pytest.mark.parametrize("case", cases_of("cases/usual.txt"))
def test_what_is_usual(case: Case) -> None:
    history = ClusterHistory(RULES)
    usual = [history.apply(event) for _, event in case.happened()]

    assert usual[-1] is case.head.startswith("usual")


FIRST = batch(0, "k")


def test_an_equal_copy_that_was_written_to_a_disk_and_read_again_is_the_same() -> None:
    again = replace(
        FIRST,
        records=(
            replace(
                FIRST.records[0],
            ),
        ),
    )
    events = [*cluster("r1", "r2"), *appended("r1", FIRST), copied("r2", "r1", 0, again)]

    assert violations_of("record-immutable", events) == []
