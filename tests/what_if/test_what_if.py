"""When a violation was sealed, and which single change avoids it."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache

import pytest
from scipy import stats

from sim.bounds import Inconclusive
from sim.check import Violation
from sim.diagnose.what_if import (
    IN_STORIES_ALONE,
    Failed,
    Healings,
    NoReturn,
    _changes,
    clopper_pearson,
    future_of,
    heals,
    point_of_no_return,
    rule_changes,
    seed_of,
    violated_by,
    with_rule,
)
from sim.errors import BadInput
from sim.protocol.events import Event
from sim.simulate.cluster.simulation import Fork
from sim.simulate.run.timed import judge_scenario, run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.format import Story, StoryExpect
from tests.shrink.cases import story, timed

LOST_TAIL, TOO_EARLY = timed("timed_lost_tail"), story("kip630_01")


def sealed(invariant: str | Violation, tries: int = 8, within_s: float | None = None) -> NoReturn:
    run = run_scenario(LOST_TAIL, keep_events=True)
    events = run.events
    found = next((one for one in run.violations if one.invariant == invariant), invariant)
    assert isinstance(found, Violation)
    return point_of_no_return(LOST_TAIL, events, found, tries=tries, within_s=within_s)


def test_the_lost_tail_is_sealed_by_the_election_of_who_lacks_it() -> None:
    found = sealed("no-offset-reuse")

    assert (found.first.at_ms, found.complete) == (4_303, True)
    assert found.first.sentence == "r3 leads epoch 2 from 3, in sync: r1, r2, r3"
    shares = [(point.at_ms, point.violated) for point in found.points]
    assert shares == sorted(shares)
    assert shares[0] == (-1, 0)
    assert (4_303, 8) in shares
    assert shares[-1][1] == 8


def test_without_time_the_violation_itself_is_all_that_is_known_and_nothing_is_tried() -> None:
    found = sealed("no-offset-reuse", within_s=-1)

    assert not found.complete
    assert [point.at_ms for point in found.points] == [4_809]
    assert heals(TOO_EARLY, "no-resurrection", within_s=-1) == ((), (), 0, False)
    nowhere = Violation("no-such-invariant", 0, None, None, None, "Nothing.")
    assert sealed(nowhere, tries=2).first.at_ms == 0


def test_a_future_that_was_cut_off_says_nothing_unless_it_violates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once = replace(judge_scenario(LOST_TAIL, ()), cut_off=True, reason="out of time")
    run = run_scenario(LOST_TAIL, keep_events=True)
    found = next(one for one in run.violations if one.invariant == "no-offset-reuse")
    for violations in ((), run.violations):
        ended = replace(at_once, violations=violations)
        monkeypatch.setattr("sim.diagnose.what_if.judge_scenario", lambda *_, run=ended, **__: run)
        with nullcontext() if violations else pytest.raises(Inconclusive, match="out of time"):
            point_of_no_return(LOST_TAIL, run.events, found, tries=1)


def test_a_change_after_which_the_durability_contract_is_left_heals_nothing() -> None:
    with pytest.raises(Inconclusive, match="a crash took a committed record"):
        violated_by(timed("timed_power_failure"), "no-offset-reuse")


def test_every_fix_but_the_one_that_tells_nobody_heals_the_lost_tail() -> None:
    told = heals(LOST_TAIL, "no-offset-reuse")

    passing = [each.change for each in told.found if not each.still]
    fixes = ["leo_retention", "empty_batch", "empty_batch_at_hw", "gap_fetch"]
    places = [passing.index(f"fix: {fix}") for fix in fixes]
    assert places == sorted(places)
    assert all(change.startswith("fix: ") for change in passing[: places[-1]])
    assert "fix: persisted_leo" not in passing
    assert "follower_position: request" in passing
    assert "without fault 1, partition r3 at 1,000 ms" in passing
    still = {each.change: each.still for each in told.found}
    assert still["commit: majority"] == ("follower-position-sound",)
    assert told.complete


@cache
def healed() -> Healings:
    return heals(TOO_EARLY, "no-resurrection")


def test_of_a_story_one_step_less_may_heal() -> None:
    told = healed()

    kinds = {each.change: each.kind for each in told.found if not each.still}
    assert kinds["tombstone_removal: coordinated"] == "rule"
    assert kinds["without step 12, advance 150"] == "step"
    assert "without step 11, crash r3" not in kinds


def test_a_change_that_ends_in_an_error_is_a_row_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors = {
        "empty_batch": BadInput("no such case"),
        "leo_retention": ValueError("above the end:\n1, 2"),
    }

    def failing(value: Story | Scenario, invariant: str) -> Sequence[str]:
        if value.rules.cleaner.fix in errors:
            raise errors[value.rules.cleaner.fix]
        if value.rules == TOO_EARLY.rules:
            raise AssertionError
        return violated_by(value, invariant)

    before = healed()
    monkeypatch.setattr("sim.diagnose.what_if.violated_by", failing)
    told = heals(TOO_EARLY, "no-resurrection")

    rules, steps = ([one for one in told.failed if one.kind == kind] for kind in ("rule", "step"))
    assert sorted(rules) == [
        Failed("rule", "fix: empty_batch", "BadInput: no such case"),
        Failed("rule", "fix: leo_retention", "ValueError: above the end:"),
    ]
    assert {one.error for one in steps} == {"AssertionError"}
    assert len(rules) + len(steps) == len(told.failed)
    assert told.found == tuple(
        each for each in before.found if each.change not in {one.change for one in told.failed}
    )
    assert (told.tried, told.complete, before.failed) == (before.tried, True, ())


def test_a_step_that_adds_a_replica_stays_and_what_no_story_expects_is_judged() -> None:
    adds, silent = story("finding_09"), replace(story("raft_21"), expect=StoryExpect())
    added = next(step.number for step in adds.steps if step.op == "add_replica")

    told = heals(adds, "materialized-state-equivalence")
    assert told.complete
    changes = [one.change for one in (*told.found, *told.failed)]
    assert not [change for change in changes if f"without step {added}," in change]
    changes = [one.change for one in heals(silent, "epoch-monotonic").found]
    assert "epoch_storage: disk" in changes
    assert "fix: leo_retention" not in changes


@pytest.mark.parametrize(("events", "tries"), [(0, 20), (1, 20), (7, 20), (20, 20), (3, 8)])
def test_the_interval_is_that_of_clopper_and_pearson(events: int, tries: int) -> None:
    known = stats.binomtest(events, tries).proportion_ci(method="exact")

    assert clopper_pearson(events, tries) == pytest.approx((known.low, known.high), abs=1e-9)


def test_a_timed_scenario_is_not_tried_under_what_only_a_story_can_say() -> None:
    of_timed, of_story = ({*rule_changes(value)} for value in (LOST_TAIL, TOO_EARLY))

    assert not of_timed & IN_STORIES_ALONE
    words = {words for kind, words, _ in _changes(LOST_TAIL) if kind == "rule"}
    assert "pre_vote: true" in words, "as files and --rule have it"
    assert ("offset_assignment", "follower_assigned") in of_story
    with pytest.raises(BadInput, match="follower_assigned is for stories"):
        run_scenario(with_rule(LOST_TAIL, "offset_assignment", "follower_assigned"))


# The future drawn anew: the past stays as it was, to the last event.

DRAWN = generate(
    5, Mix.model_validate({"mix": "quiet", "duration_ms": 4_000, "transactional": 1.0})
)


def events_of(scenario: Scenario, fork: Fork | None = None) -> list[tuple[int, Event]]:
    return [*judge_scenario(scenario, (), keep_events=True, fork=fork).events]


@pytest.mark.parametrize(("scenario", "at_ms"), [(LOST_TAIL, 2_467), (DRAWN, 1_700)])
def test_what_happened_before_happens_again_and_then_something_else(
    scenario: Scenario, at_ms: int
) -> None:
    was = events_of(scenario)
    futures = []
    for number in range(3):
        seed = seed_of(scenario, at_ms, number)
        futures.append(events_of(future_of(scenario, at_ms, seed), Fork(at_ms, seed)))

    past = [one for one in was if one[0] < at_ms]
    assert past
    for future in futures:
        assert [one for one in future if one[0] < at_ms] == past
    assert len({tuple(future) for future in (was, *futures)}) == 4


def test_chance_alone_can_be_another_one_and_the_same_future_is_drawn_again() -> None:
    was, other = events_of(LOST_TAIL), events_of(LOST_TAIL, Fork(1_000, 7))
    assert [one for one in other if one[0] < 1_000] == [one for one in was if one[0] < 1_000]
    assert other != was

    seed = seed_of(DRAWN, 1_000, 4)
    assert future_of(DRAWN, 1_000, seed) == future_of(DRAWN, 1_000, seed)
    assert future_of(DRAWN, 1_000, seed) != future_of(DRAWN, 1_000, seed + 1)
    assert future_of(LOST_TAIL, LOST_TAIL.duration_ms, 1) is LOST_TAIL


def test_all_that_was_to_be_sent_is_sent_in_the_same_order() -> None:
    future = future_of(DRAWN, 2_000, seed_of(DRAWN, 2_000, 1))
    whats = [
        [(one.producer, one.transaction, one.key, one.version) for one in work.sends]
        for work in (DRAWN.workload, future.workload)
    ]
    past = [send for send in DRAWN.workload.sends if send.at_ms < 2_000]

    assert whats[0] == whats[1]
    assert [*future.workload.sends[: len(past)]] == past
    moments = [send.at_ms for send in future.workload.sends]
    assert moments == sorted(moments)
    assert len(future.workload.ends) == len(DRAWN.workload.ends)


def test_written_faults_come_at_another_time_to_another_replica() -> None:
    future = future_of(LOST_TAIL, 2_000, 11)

    kinds = sorted(fault.kind for fault in LOST_TAIL.faults)
    assert sorted(fault.kind for fault in future.faults) == kinds
    assert future.faults[0] == LOST_TAIL.faults[0]
    assert all(2_000 <= fault.at_ms < LOST_TAIL.duration_ms for fault in future.faults[1:])
    assert replace(future, faults=(), workload=LOST_TAIL.workload) == replace(LOST_TAIL, faults=())
