"""What protects a deleted key from a version that comes late, and what that costs."""

from dataclasses import replace
from pathlib import Path

import pytest

from sim.rules import rules_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.story import load_story, run_story
from sim.timed_run import run_scenario
from sim.trace import AppendRefused, Cleaned

FOLDER = Path(__file__).parents[2] / "scenarios/kip280"


def refused(story: str) -> list[str | None]:
    """Keys of the batches that a leader refused in a story."""
    run = run_story(load_story(FOLDER / f"{story}.yaml"))
    return [event.key for _, event in run.events if isinstance(event, AppendRefused)]


def test_a_floor_is_one_for_all_keys() -> None:
    assert refused("kip280_63_late_write_refused_by_a_floor") == ["K"]
    assert refused("kip280_66_floor_refuses_the_innocent") == ["K", "Y"]
    assert refused("kip280_65_late_write_accepted_for_good") == []


def test_a_version_equal_to_the_floor_is_not_late(tmp_path: Path) -> None:
    path = FOLDER / "kip280_63_late_write_refused_by_a_floor.yaml"
    equal = tmp_path / "equal.yaml"
    equal.write_text(path.read_text().replace("append r1 k3 K hdr=3", "append r1 k5 K hdr=5"))
    run = run_story(load_story(equal))

    assert run.replicas["r1"].state == {"K": "k5", "Z": "z"}
    assert run.violated == []


def test_a_stub_stays_until_something_beats_it(tmp_path: Path) -> None:
    path = FOLDER / "kip280_64_late_write_beaten_by_a_stub.yaml"
    newer = tmp_path / "newer.yaml"
    steps = "  - append r1 k6 K hdr=6\n  - compact r1\n  - quiesce\n"
    newer.write_text(path.read_text().replace("  - quiesce\n", steps))
    run = run_story(load_story(newer))

    stubs = [event.stubs for _, event in run.events if isinstance(event, Cleaned)]
    assert stubs == [0, 1, 1, 0]
    assert run.replicas["r1"].state == {"K": "k6", "Y": "y", "Z": "z"}


@pytest.mark.parametrize(
    ("value", "costs"),
    [("accepted", (False, False)), ("floor", (False, True)), ("stub", (True, False))],
)
def test_what_each_answer_costs_is_counted(value: str, costs: tuple[bool, bool]) -> None:
    rules = rules_from({"preset": "kip-280", "delete_retention_ms": 50, "late_versions": value})
    counted = [
        run_scenario(replace(generate(seed, Mix()), rules=rules)).counters for seed in range(12)
    ]

    stubs = sum(counters["stubs_kept"] for counters in counted)
    refusals = sum(counters["sends_refused"] for counters in counted)
    assert (stubs > 0, refusals > 0) == costs
