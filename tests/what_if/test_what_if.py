"""When a violation was sealed, and which single change avoids it."""

from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from sim.check import Violation
from sim.scenario.file.load import load_scenario
from sim.scenario.model import Scenario
from sim.story import load_story
from sim.story.expect import StoryExpect
from sim.timed_run import run_scenario
from sim.trace import Event
from sim.what_if.heals import heals_scenario, heals_story
from sim.what_if.intervals import clopper_pearson
from sim.what_if.no_return import NoReturn, point_of_no_return

ROOT = Path(__file__).resolve().parents[2]
LOST_TAIL = load_scenario(ROOT / "scenarios/kip280/timed_lost_tail.yaml")


def sealed(scenario: Scenario, invariant: str, **options: float) -> NoReturn:
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events)
    (found,) = [each for each in run.violations if each.invariant == invariant][:1]
    return point_of_no_return(scenario, events, found, **options)  # type: ignore[arg-type]


def test_the_lost_tail_is_sealed_by_the_election_of_who_lacks_it() -> None:
    found = sealed(LOST_TAIL, "no-offset-reuse", tries=8)

    assert found.first.at_ms == 4_303
    assert found.first.sentence == "r3 leads epoch 2 from 3, in sync: r1, r2, r3"
    assert found.complete
    shares = [(point.at_ms, point.violated) for point in found.points]
    assert shares[0] == (-1, 0)
    assert (4_303, 8) in shares
    assert shares[-1][1] == 8
    assert found.points == tuple(sorted(found.points, key=lambda point: point.at_ms))
    assert sealed(LOST_TAIL, "no-offset-reuse", tries=8) == found


def test_out_of_time_the_violation_itself_is_all_that_is_known() -> None:
    found = sealed(LOST_TAIL, "no-offset-reuse", tries=8, within_s=-1)

    assert not found.complete
    assert [point.at_ms for point in found.points] == [4_809]


def test_every_fix_but_the_one_that_tells_nobody_heals_the_lost_tail() -> None:
    found = heals_scenario(LOST_TAIL, "no-offset-reuse")

    passing = [each.change for each in found.found if not each.still]
    fixes = ["leo_retention", "empty_batch", "empty_batch_at_hw", "gap_fetch"]
    places = [passing.index(f"fix: {fix}") for fix in fixes]
    assert places == sorted(places)
    assert all(change.startswith("fix: ") for change in passing[: places[-1]])
    assert "fix: persisted_leo" not in passing
    assert "follower_position: request" in passing
    assert "without fault 1, partition r3 at 1,000 ms" in passing
    assert {each.change: each.still for each in found.found}["commit: majority"] == (
        "follower-position-sound",
    )
    assert found.complete


def test_of_a_story_one_step_less_may_heal() -> None:
    story = load_story(ROOT / "scenarios/kip630/kip630_01_tombstone_removed_too_early.yaml")

    found = heals_story(story, "no-resurrection")

    kinds = {each.change: each.kind for each in found.found if not each.still}
    assert kinds["tombstone_removal: coordinated"] == "rule"
    assert kinds["without step 12, advance 150"] == "step"
    assert "without step 11, crash r3" not in kinds


def test_without_time_no_change_is_tried() -> None:
    story = load_story(ROOT / "scenarios/kip630/kip630_01_tombstone_removed_too_early.yaml")

    assert heals_story(story, "no-resurrection", within_s=-1) == ((), 0, False)


@pytest.mark.parametrize(("events", "tries"), [(0, 20), (1, 20), (7, 20), (20, 20), (3, 8)])
def test_the_interval_is_that_of_clopper_and_pearson(events: int, tries: int) -> None:
    known = stats.binomtest(events, tries).proportion_ci(method="exact")

    assert clopper_pearson(events, tries) == pytest.approx((known.low, known.high), abs=1e-9)


def test_a_violation_at_the_start_of_all_that_led_to_it_is_a_moment_of_its_own() -> None:
    events: list[tuple[int, Event]] = []
    run = run_scenario(LOST_TAIL, trace=events)
    nowhere = Violation("no-such-law", 0, None, None, None, "Nothing.")

    assert run.violated
    assert point_of_no_return(LOST_TAIL, events, nowhere, tries=2).first.at_ms == 0


def test_a_story_that_adds_a_replica_is_healed_without_leaving_out_that_step() -> None:
    story = load_story(ROOT / "scenarios/findings/finding_09_ghost_of_an_old_leader.yaml")

    healings = heals_story(story, "materialized-state-equivalence")

    added = [step.number for step in story.steps if step.op == "add_replica"]
    assert healings.complete
    assert not [one for one in healings.found if f"without step {added[0]}," in one.change]


def test_a_law_that_a_story_does_not_expect_is_judged_all_the_same() -> None:
    story = load_story(ROOT / "scenarios/raft/raft_21_epoch_kept_in_memory.yaml")
    silent = replace(story, expect=StoryExpect())

    changes = [one.change for one in heals_story(silent, "epoch-monotonic").found]

    assert "epoch_storage: disk" in changes
    assert "fix: leo_retention" not in changes
