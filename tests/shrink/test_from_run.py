"""From runs to stories: the same is violated for the same cause, in a few steps, lawfully."""

import pytest

from sim.diagnose.explain.signature import signature_of
from sim.diagnose.shrink.liberties import liberties
from sim.diagnose.shrink.retelling import story_from_run
from sim.diagnose.shrink.sought import sought_in
from sim.diagnose.shrink.witness import witness_of
from sim.diagnose.shrink.writing import story_text
from sim.files.yaml_text import parse_yaml
from sim.simulate.story import run_story
from sim.simulate.story.format import story_from
from tests.shrink.cases import AT_ONCE, REMOVED, REUSED, timed

CASES = {
    "an offset is reused": (REUSED, "no-offset-reuse", 8),
    "a leader lacks a record": (REUSED, "leader-completeness", 7),
    "a tombstone goes too early": (REMOVED, "tombstone-safety", 8),
    "a deleted key is back": (AT_ONCE, "no-resurrection", 8),
    "a state differs": (AT_ONCE, "materialized-state-equivalence", 8),
}
"""A run, what it violates, and in how many steps a story does so at most."""


@pytest.mark.parametrize("name", CASES)
def test_a_random_run_becomes_a_story_of_a_few_lawful_steps(name: str) -> None:
    scenario, invariant, steps = CASES[name]
    _, in_run, _ = sought_in(scenario, invariant)
    witness = witness_of(scenario, invariant)
    story = story_from(parse_yaml(witness.text, "witness").data, where="witness")
    run = run_story(story)
    same = next(one for one in run.violations if one.invariant == invariant)

    assert (witness.kind, witness.complete, run.differences()) == ("story", True, [])
    assert witness.steps == len(story.steps) <= steps
    assert witness.events == len(run.events) <= 30
    assert witness.events_before > 500
    signature = signature_of(in_run.events, in_run.violation, scenario.rules)
    assert signature_of(run.events, same, story.rules) == witness.signature == signature
    assert story.title == str(signature)
    assert liberties(run.events, story.rules) <= liberties(in_run.events, scenario.rules)


def test_no_story_is_made_for_a_cause_that_none_shows() -> None:
    sought, shown, _ = sought_in(REUSED, "no-offset-reuse")
    other = sought.signature._replace(mechanism=("another",))

    assert story_from_run(shown, sought.signature) is not None
    assert story_from_run(shown, other) is None


def test_a_story_of_a_run_waits_for_who_may_join_as_the_run_did_and_as_long() -> None:
    for scenario, invariant in ((REUSED, "no-offset-reuse"), (REMOVED, "tombstone-safety")):
        sought, shown, _ = sought_in(scenario, invariant)
        found = story_from_run(shown, sought.signature)
        assert found is not None
        story = found[1].value

        assert story.rules.replication.high_watermark_waits_for == "caught_up_eligible"
        assert story.replica_lag_max_ms == scenario.timers.replica_lag_max_ms
        text = story_text(story, violated=[invariant], checked=[invariant])
        again = story_from(parse_yaml(text, "story").data, where="story")
        assert again.replica_lag_max_ms == story.replica_lag_max_ms
        assert run_story(again).differences() == []


def test_the_story_of_a_run_has_a_tail_cut_that_was_out_of_range() -> None:
    run = timed("timed_old_leader_beyond_the_new_end")
    sought, shown, _ = sought_in(run, "no-truncation-below-hw")
    found = story_from_run(shown, sought.signature)
    assert found is not None

    last = found[1].value.steps[-1]
    assert (last.op, last["follower"]) == ("fetch", "r1")
