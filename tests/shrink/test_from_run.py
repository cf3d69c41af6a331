"""From runs to stories: the same is violated for the same cause, in a few steps, lawfully."""

import pytest

from sim.diagnose.explain.signature import signature_of
from sim.diagnose.shrink.from_run import story_from_run
from sim.diagnose.shrink.illegal import illegal_steps
from sim.diagnose.shrink.smallest import smallest_example
from sim.diagnose.shrink.target import target_of
from sim.diagnose.shrink.writing import story_text
from sim.files.yaml_text import parse_yaml
from sim.simulate.run.stories import run_story
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
    _, in_run, _ = target_of(scenario, invariant)
    example = smallest_example(scenario, invariant)
    story = story_from(parse_yaml(example.text, "example").data, where="example")
    run = run_story(story)
    same = next(one for one in run.violations if one.invariant == invariant)

    assert (example.kind, example.complete, run.differences) == ("story", True, ())
    assert example.steps == len(story.steps) <= steps
    assert example.events == len(run.events) <= 30
    assert example.events_before > 500
    signature = signature_of(in_run.events, in_run.violation, scenario.rules)
    assert signature_of(run.events, same, story.rules) == example.signature == signature
    assert story.title == str(signature)
    assert illegal_steps(run.events, story.rules) <= illegal_steps(in_run.events, scenario.rules)


def test_no_story_is_made_for_a_cause_that_none_shows() -> None:
    target, shown, _ = target_of(REUSED, "no-offset-reuse")
    other = target.signature._replace(mechanism=("another",))

    assert story_from_run(shown, target.signature) is not None
    assert story_from_run(shown, other) is None


def test_a_story_of_a_run_waits_for_who_may_join_as_the_run_did_and_as_long() -> None:
    for scenario, invariant in ((REUSED, "no-offset-reuse"), (REMOVED, "tombstone-safety")):
        target, shown, _ = target_of(scenario, invariant)
        found = story_from_run(shown, target.signature)
        assert found is not None
        story = found[1].value

        assert story.rules.replication.high_watermark_waits_for == "caught_up_eligible"
        assert story.replica_lag_max_ms == scenario.timers.replica_lag_max_ms
        text = story_text(story, violated=[invariant], checked=[invariant])
        again = story_from(parse_yaml(text, "story").data, where="story")
        assert again.replica_lag_max_ms == story.replica_lag_max_ms
        assert run_story(again).differences == ()


def test_the_story_of_a_run_has_a_tail_cut_that_was_out_of_range() -> None:
    run = timed("timed_old_leader_beyond_the_new_end")
    target, shown, _ = target_of(run, "no-truncation-below-hw")
    found = story_from_run(shown, target.signature)
    assert found is not None

    last = found[1].value.steps[-1]
    assert (last.op, last["follower"]) == ("fetch", "r1")
