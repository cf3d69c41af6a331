"""Explanations: what decided a violation, the truth beside what there is, what led to it."""

from dataclasses import replace
from pathlib import Path

import pytest

from sim.check import Violation
from sim.check.checker import known_invariants
from sim.check.registry import INVARIANTS
from sim.diagnose.explain import ExplanationText, explanation
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.past import Past
from sim.diagnose.explain.questions import QUESTIONS
from sim.protocol.events import Truncated
from sim.protocol.events.sentences import describe
from sim.simulate.faults import Wipe
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.model import Scenario
from sim.simulate.story import load_story
from tests.check.text import Case, cases_of

ROOT = Path(__file__).resolve().parents[2]
REUSE = "no-offset-reuse"
SENTENCES = cases_of("sentences.txt", Path(__file__).parent)
"""Events, each headed by what its sentence has."""
DECIDED = Path(__file__).with_name("decided.txt").read_text(encoding="utf-8").splitlines()
"""Story, invariant, and kind of the deciding fact: a part of its text."""


@pytest.mark.parametrize("case", SENTENCES, ids=[case.head for case in SENTENCES])
def test_the_sentence_of_an_event_has_its_values_in_order(case: Case) -> None:
    [(_, event)] = case.happened()
    said, place = describe(event), 0
    for value in case.head.split():
        place = said.index(value, place)


def test_every_event_of_random_runs_has_a_sentence_of_its_own() -> None:
    """What has none is shown by its fields, which starts with the name of its class."""
    kinds: set[str] = set()
    for mix in ("storm", "kraft"):
        events = run_scenario(generate(1, Mix.model_validate(mix)), keep_events=True).events
        for _, event in events:
            kinds.add(type(event).__name__)
            assert not describe(event).startswith(type(event).__name__)

    assert len(kinds) > 20


def told(story: str, invariant: str) -> ExplanationText:
    """The explanation of a violated invariant of a story, named by the first words of its id."""
    (path,) = (ROOT / "scenarios").rglob(f"{story}_*.yaml")
    loaded = load_story(path)
    run = run_story(loaded)
    found = next(each for each in run.violations if each.invariant == invariant)
    return explanation(Past(run.events, loaded.rules), found)


def timed(scenario: Scenario, invariant: str) -> ExplanationText:
    """The explanation of a violated invariant of a run in simulated time."""
    run = run_scenario(scenario, keep_events=True)
    found = next(each for each in run.violations if each.invariant == invariant)
    return explanation(Past(run.events, scenario.rules), found, skews=scenario.clock_skews)


@pytest.mark.parametrize("line", DECIDED)
def test_it_begins_with_what_decided_and_its_values(line: str) -> None:
    head, _, decided = line.partition(": ")
    story, invariant, kind = head.split()
    found = told(story, invariant)

    assert found.facts[0].kind == kind
    assert decided in found.decided_by


def test_a_clock_that_is_ahead_is_what_decided() -> None:
    """A new disk copies a tombstone with its horizon; a replica without r3's value must wait."""
    away = load_scenario(ROOT / "scenarios/kip630/timed_isolated_replica_horizon.yaml")
    wiped = Wipe(1_800, "r2", 300)
    first, second, third = away.replicas
    waiting = replace(
        away,
        rules=away.rules.with_values({"delete_retention_ms": 5_000}),
        faults=(*away.faults, wiped),
    )
    early = replace(waiting, replicas=(first, replace(second, clock_skew_ms=5_000), third))

    found = timed(early, "tombstone-safety")

    assert run_scenario(waiting).violated == []
    assert found.facts[0].kind == "clock"
    assert found.facts[0].mechanisms == (of.CLOCK_AHEAD, of.HOLDER_BEHIND)
    assert found.decided_by.startswith(
        "r2 removed the tombstone K=null@2 at 2,766 ms since its clock (5,000 ms ahead) at 7,766 "
        "ms had passed its delete horizon 6,733 ms (given at 1,733 ms by r1, its clock at 1,733 "
        "ms), 3,967 ms before the retention was over, while r3, log end offset 2 (partition at "
    )
    assert "2766  r2 cleaned [0, 5), its clock (5,000 ms ahead) at 7,766 ms" in found.chain[0]


def test_the_committed_truth_stands_beside_what_there_is() -> None:
    found = told("kip280_16", REUSE)

    assert found.truth[0] == "A=d@3 (version 1) of epoch 1 at offset 3, by r1 at step 9"
    assert found.now[0] == (
        "r3 has E=e@3 (version 1) of epoch 2 and no other record of E; log start 0, high watermark "
        "3, log end 4, clean below 0"
    )
    assert found.now[1].startswith("r1 has nothing at 3 and no other record of E; ")


def test_copies_and_positions_of_one_stretch_are_one_line() -> None:
    found = told("kip280_16", REUSE)

    assert [line.split(maxsplit=1)[1] for line in found.chain[-7:]] == [
        "r1 appended A=d@3 (version 1) in epoch 1",
        "r3 learned high watermark 3",
        "r1 committed what is below 3",
        "r1 recorded r2 at 3 and r3 at 3",
        "r2 and r3 copied 0..2 from r1",
        "r1 appended A=a@0 (version 9) in epoch 1",
        "r1 leads epoch 1 from 0, in sync: r1, r2, r3",
    ]
    times = [int(line.split()[0]) for line in found.chain]
    assert times == sorted(times, reverse=True)
    assert found.lines[0].startswith("    16  no-offset-reuse: ")
    assert found.lines[1] == f"decided by: {found.decided_by}"
    assert found.lines[2] == f"so: {found.facts[1].text}"


def test_what_retention_took_is_told_with_the_clock_it_went_by() -> None:
    scenario = load_scenario(ROOT / "scenarios/kip630/timed_delete_policy_loses_state.yaml")
    first, *others = scenario.replicas
    ahead = replace(scenario, replicas=(replace(first, clock_skew_ms=40), *others))

    found = timed(ahead, "state-kept")

    assert found.decided_by.startswith("r1 starts its log at 1: retention.ms, at 2,666 ms (")
    assert "its clock (40 ms ahead) at 2,706 ms" in found.decided_by


def test_every_invariant_names_a_question_that_is_answered() -> None:
    asked = {INVARIANTS[name].explained_by for name in known_invariants()} - {""}

    assert asked == set(QUESTIONS)


def test_an_invariant_of_a_plugin_is_explained_by_what_took_the_record() -> None:
    story = load_story(ROOT / "scenarios/kip630/kip630_01_tombstone_removed_too_early.yaml")
    run = run_story(story)
    foreign = Violation("no-such-invariant", run.events[-1][0], "r1", 1, "K", "It is gone.")

    found = explanation(Past(run.events, story.rules), foreign)

    assert found.decided_by.startswith("r1 removed the tombstone K=null@1 at step 13")


def test_a_cut_is_explained_where_an_invariant_of_a_plugin_names_no_replica() -> None:
    (path,) = (ROOT / "scenarios").rglob("kip101_01_*.yaml")
    run = run_story(load_story(path))
    told = enumerate(event for _, event in run.events)
    at, cut = next((at, event) for at, event in told if isinstance(event, Truncated))
    foreign = Violation("no-such-invariant", 0, None, cut.target, None, "Cut.", position=at)

    found = explanation(Past(run.events, run.rules), foreign)

    assert found.facts[-1].text.startswith(f"{cut.replica} (epochs ")
    assert f" to {cut.target} " in found.facts[-1].text


def test_since_when_it_was_so_is_told_only_where_it_was_judged_later() -> None:
    assert "so since: 11" in told("kip280_15", "hole-justified").lines
    assert not any(line.startswith("so since") for line in told("kip280_15", REUSE).lines)
