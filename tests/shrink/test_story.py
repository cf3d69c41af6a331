"""Shrunk stories: the same law, never longer, nothing left to leave out, the same every time."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.bench.hiding import hide
from sim.errors import BadInput
from sim.shrink.story import Progress, shrink_story, sought_in
from sim.shrink.story_edit import with_steps
from sim.shrink.story_size import is_smaller, key_of
from sim.story import load_story, run_story
from sim.story.format import STORY_DEFAULTS

SCENARIOS = Path(__file__).parents[2] / "scenarios"
LOST_TAIL = SCENARIOS / "kip280/kip280_07_log_end_from_last_record.yaml"

SOME = [
    "kip280/kip280_01_followers_assign_offsets.yaml",
    "kip280/kip280_07_log_end_from_last_record.yaml",
    "kip534/kip534_19_horizon_of_each_pass.yaml",
    "readers/readers_03_a_record_nobody_delivers.yaml",
]


SMALL = [
    "bounds/bound_04_winner_missing_on_a_replica.yaml",
    "kip280/kip280_49_cleaning_moves_the_log_end.yaml",
    "kip280/kip280_77_ties_go_to_the_first_record.yaml",
    "kip534/kip534_11_no_retention.yaml",
    "snapshots/snap_12_prefix_deleted_above_the_high_watermark.yaml",
]


@pytest.mark.parametrize("name", SOME)
def test_no_step_can_go_and_shrinking_again_changes_nothing(name: str) -> None:
    story = load_story(SCENARIOS / name)
    sought, _ = sought_in(story, None)

    shrunk = shrink_story(story)

    assert shrunk.complete
    assert shrunk.steps <= shrunk.steps_before == len(story.steps)
    assert sought.found_in(shrunk.story) == shrunk.violation
    assert shrunk.violation.at == shrunk.steps
    for step in shrunk.story.steps:
        fewer = [other for other in shrunk.story.steps if other is not step]
        assert sought.shown_by(with_steps(shrunk.story, fewer)) is None
    again = shrink_story(shrunk.story, shrunk.violation.invariant)
    assert key_of(again.story) == key_of(shrunk.story)


def test_the_lost_tail_of_kip_280_is_found_in_six_steps() -> None:
    shrunk = shrink_story(load_story(LOST_TAIL))

    ops = [step.op for step in shrunk.story.steps]
    assert ops == ["elect", "append", "append", "sync", "compact", "append"]
    assert shrunk.story.replicas == ("r1", "r2")
    assert shrunk.story.rules.differing_from(STORY_DEFAULTS) == {
        "strategy": "header",
        "leo_source": "last_record",
    }


def test_no_election_becomes_one_that_no_cluster_would_hold() -> None:
    story = load_story(SCENARIOS / "findings/finding_05_leo_retention_loses_the_epoch.yaml")

    shrunk = shrink_story(story)

    epochs = [step["epoch"] for step in shrunk.story.steps if step.op.startswith("elect")]
    assert epochs == sorted(set(epochs))


def test_a_lost_tail_among_hundreds_of_steps_is_found_in_six_as_well() -> None:
    hidden = hide(load_story(LOST_TAIL), "log-matching", seed=1, noise=500).story
    assert len(hidden.steps) > 500

    assert shrink_story(hidden, "log-matching").steps == 6


@settings(max_examples=3)
@given(st.sampled_from(SMALL), st.integers(0, 10_000))
def test_hidden_anyhow_the_same_law_is_left_broken_for_the_same_cause(name: str, seed: int) -> None:
    story = load_story(SCENARIOS / name)
    sought, violation = sought_in(story, None)
    hidden = hide(story, violation.invariant, seed=seed, noise=60).story

    shrunk = shrink_story(hidden, violation.invariant)

    found = sought.found_in(shrunk.story)
    assert found is not None
    assert found.at == shrunk.steps < len(hidden.steps)
    assert shrink_story(hidden, violation.invariant) == shrunk
    assert key_of(shrink_story(shrunk.story, violation.invariant).story) == key_of(shrunk.story)


@pytest.mark.parametrize("cut", [1, 25, 70])
def test_cut_short_anywhere_it_goes_on_to_the_same_story(cut: int) -> None:
    story, told = load_story(LOST_TAIL), list[Progress]()
    first = shrink_story(story, tries=cut, progress=told.append)
    assert not first.complete

    second = shrink_story(story, start=(first.story, first.place))

    assert key_of(second.story) == key_of(shrink_story(story).story)
    assert [now.tries for now in told] == list(range(1, cut + 1))
    assert told[-1].story == first.story


def test_every_improvement_is_told_and_is_smaller_than_the_last() -> None:
    told: list[Progress] = []
    shrink_story(load_story(LOST_TAIL), progress=told.append)

    found = [now.story for now in told if now.improved]

    assert all(is_smaller(found[i + 1], found[i]) for i in range(len(found) - 1))


def test_the_invariant_that_is_named_is_the_one_that_stays_broken() -> None:
    shrunk = shrink_story(load_story(LOST_TAIL), "consumer-no-skip")

    assert shrunk.violation.invariant == "consumer-no-skip"
    assert any(step.op == "consume" for step in shrunk.story.steps)


def test_a_violation_can_be_given_itself() -> None:
    story = load_story(LOST_TAIL)
    violation = run_story(story).violations[-1]

    assert shrink_story(story, violation).violation.invariant == violation.invariant


@pytest.mark.parametrize(
    ("sought", "words"),
    [
        ("log-macthing", ["unknown invariant", "did you mean 'log-matching'"]),
        ("election-safety", ["election-safety is not broken", "log-matching"]),
    ],
)
def test_what_is_not_broken_is_not_shrunk(sought: str, words: list[str]) -> None:
    with pytest.raises(BadInput) as caught:
        shrink_story(load_story(LOST_TAIL), sought)

    assert [word for word in words if word not in str(caught.value)] == []


def test_a_story_that_holds_is_not_shrunk() -> None:
    story = load_story(LOST_TAIL)
    whole = replace(story, rules=story.rules.with_values({"leo_source": "stored"}))

    with pytest.raises(BadInput, match="breaks no law, so there is nothing to shrink"):
        shrink_story(whole)
