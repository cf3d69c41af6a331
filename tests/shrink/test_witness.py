"""Witnesses of failing runs: a story where there is one, else a scenario; the same every time."""

from copy import deepcopy
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.rules import rules_from
from sim.scenario.file.load import load_scenario
from sim.scenario.generate import Mix, generate
from sim.scenario.model import Scenario
from sim.shrink.witness import NO_STORY, witness_of
from sim.story import load_story, run_story
from sim.timed_run import differences, run_scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"
OLD_CLIENT = SCENARIOS / "kip87/timed_unchanged_application.yaml"
OLD_CLEANER = SCENARIOS / "kip87/timed_b8_old_cleaner.yaml"
RULES = {"preset": "kafka-4.0", "strategy": "header", "map_range": "full", "fix": "none"}
HUNTED = Mix(
    duration_ms=5000,
    sends=(40, 130),
    tail_hunts=1.0,
    outage_ms=(100, 3000),
    lateness_ms=(1, 2000),
    idle_ms=(600, 2500),
    clock_skew_ms=1000,
)
REUSED = generate(3084049378818361790, HUNTED).with_rules(
    rules_from(RULES).with_values({"delete_retention_ms": 500})
)


def test_a_run_becomes_a_story_that_expects_what_it_violates(tmp_path: Path) -> None:
    witness = witness_of(REUSED, "leader-completeness")
    path = tmp_path / "witness.yaml"
    path.write_text(witness.text)
    run = run_story(load_story(path))

    assert (witness.kind, witness.complete) == ("story", True)
    assert witness.steps == len(run.story.steps) <= 7
    assert witness.events == len(run.events) < 20
    assert witness.events_before > 500
    assert run.differences() == []
    assert "leader-completeness" in run.violated
    assert str(witness.signature) == run.story.title
    assert deepcopy(witness) == witness  # as it travels between processes


def test_what_no_story_says_stays_a_scenario(tmp_path: Path) -> None:
    witness = witness_of(load_scenario(OLD_CLIENT))
    path = tmp_path / "witness.yaml"
    path.write_text(witness.text)
    scenario = load_scenario(path)

    assert (witness.kind, witness.steps, witness.made_of) == ("scenario", None, NO_STORY)
    assert witness.events < 10
    assert differences(scenario, run_scenario(scenario)) == []


def test_of_what_stories_cannot_say_none_is_made() -> None:
    witness = witness_of(load_scenario(OLD_CLEANER), tries=20)

    assert witness.kind == "scenario"
    assert witness.made_of == "settings do not change in the midst of a story"


def test_a_budget_in_tries_gives_the_same_witness_every_time() -> None:
    first, second = (witness_of(REUSED, "leader-completeness", tries=30) for _ in range(2))

    assert not first.complete
    assert first.tries <= 30
    assert first._replace(wall_ms=0) == second._replace(wall_ms=0)


def test_a_run_that_breaks_nothing_has_no_witness() -> None:
    with pytest.raises(BadInput, match="calm: breaks no law"):
        witness_of(Scenario("calm"))
