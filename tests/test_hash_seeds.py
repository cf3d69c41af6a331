"""Nothing that Replog makes depends on the order of sets: another hash seed changes no byte."""

import json
from collections.abc import Callable

import pytest

from sim.protocol.rules import rules_from
from sim.simulate.scenario.derived import environment_digest
from sim.simulate.scenario.generate import BUILT_IN_MIXES, generate
from tests.cluster.worlds import tell
from tests.commands import STORY, TIMED, python, replog

PRESETS = ("kafka-4.0", "kafka-2.8", "kraft", "redpanda-25.3")
STORM = BUILT_IN_MIXES["storm"]


def scenarios() -> list[str]:
    mixes = BUILT_IN_MIXES.values()
    return [environment_digest(generate(seed, mix)) for mix in mixes for seed in (0, 2**63 - 1)]


def events() -> list[str]:
    storm = generate(11, STORM)
    rules = [rules_from({"preset": preset}) for preset in PRESETS]
    return [tell(storm.with_rules(preset)).digest() for preset in rules]


def printed() -> list[str]:
    return [replog("run", path, "--json").out for path in (STORY, TIMED)]


MADE: dict[str, Callable[[], list[str]]] = {
    "scenarios": scenarios,
    "events": events,
    "what a command prints": printed,
}


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, list[str]]:
    """What another process makes, with another hash seed."""
    program = (
        "import json, tests.test_hash_seeds as here\n"
        "print(json.dumps({what: make() for what, make in here.MADE.items()}))"
    )
    made: dict[str, list[str]] = json.loads(python("-c", program, PYTHONHASHSEED="4711").out)
    return made


@pytest.mark.parametrize("what", MADE)
def test_another_hash_seed_in_another_process_changes_nothing(
    what: str, elsewhere: dict[str, list[str]]
) -> None:
    here = MADE[what]()

    assert elsewhere[what] == here
    assert len(set(here)) == len(here) > 1
