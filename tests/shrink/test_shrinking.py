"""What was shrunk: the same is violated for the same cause, and nothing is left to leave out."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.bounds import Inconclusive
from sim.diagnose.shrink.engine import Reducer, ShrinkBudget
from sim.diagnose.shrink.scenarios import by_default, parts_of, with_parts, without_replica
from sim.diagnose.shrink.stories import (
    _plainer,
    key_of,
    speaks_of_offsets,
    step_of,
    with_offsets,
    with_steps,
    without_steps,
)
from sim.diagnose.shrink.target import Target, target_of
from sim.errors import BadInput
from sim.simulate.faults import AddReplica, Crash, Partition
from sim.simulate.run.stories import run_story
from sim.simulate.scenario.generate import Mix, generate
from sim.simulate.scenario.model import Change, EndTransaction, Scenario, Send, Workload
from sim.simulate.story import Story
from sim.simulate.story.format import STORY_DEFAULTS, story_from
from tests.bench.hiding import hide
from tests.shrink.cases import FAILING, LOST_TAIL, story

CASES: dict[str, tuple[Story | Scenario, str | None, int]] = {
    "offsets by followers": (story("kip280_01"), None, 6),
    "lost tail": (LOST_TAIL, None, 6),
    "its reader": (LOST_TAIL, "consumer-no-skip", 7),
    "horizons": (story("kip534_19"), None, 8),
    "reader": (story("readers_03"), None, 6),
    "epochs": (story("finding_05"), None, 12),
    "scenario": (FAILING, "tombstone-safety", 25),
}
"""What fails, of which invariant, and in how many steps or events at most."""
HIDDEN = ["bound_04", "kip280_49", "kip280_77", "kip534_11", "snap_12"]


def begun(value: Any, invariant: str | None) -> tuple[Target[Any], Reducer[Any]]:
    target, shown, _ = target_of(value, invariant)
    return target, target.reducer(shown.value)


@cache
def shrunk(name: str) -> tuple[Target[Any], Any]:
    value, invariant, _ = CASES[name]
    target, reducer = begun(value, invariant)
    assert reducer.run(ShrinkBudget())
    return target, reducer.best


def key(value: Story | Scenario) -> object:
    return key_of(value) if isinstance(value, Story) else value


def fewer(value: Any) -> list[Any]:
    """The value without each of its parts."""
    if isinstance(value, Story):
        steps = value.steps
        return [with_steps(value, [s for s in steps if s is not step]) for step in steps]
    parts = parts_of(value)
    return [with_parts(value, [p for p in parts if p is not part]) for part in parts]


@pytest.mark.parametrize("name", CASES)
def test_no_part_can_go_and_shrinking_again_changes_nothing(name: str) -> None:
    value, invariant, most = CASES[name]
    target, best = shrunk(name)

    assert len(best.value.steps if isinstance(value, Story) else best.events) <= most
    assert best.violation.invariant == target.invariant == (invariant or target.invariant)
    assert target.found_in(best.value) == best
    assert [less for less in fewer(best.value) if target.shown_by(less) is not None] == []
    again, reducer = begun(best.value, target.invariant)
    assert again.signature == target.signature
    assert reducer.run(ShrinkBudget())
    assert key(reducer.best.value) == key(best.value)


def test_what_is_left_is_as_plain_as_people_would_write_it() -> None:
    small, epochs = shrunk("lost tail")[1].value, shrunk("epochs")[1].value

    ops = [step.op for step in small.steps]
    assert ops == ["elect", "append", "append", "sync", "compact", "append"]
    assert [step["label"] for step in small.steps if step.op == "append"] == ["v1", "v2", "v3"]
    assert small.replicas == ("r1", "r2")
    odd = {"strategy": "header", "leo_source": "last_record"}
    assert small.rules.differing_from(STORY_DEFAULTS) == odd
    elected = [step["epoch"] for step in epochs.steps if step.op.startswith("elect")]
    assert elected == sorted({*elected})  # no election is one that no cluster would hold


@settings(max_examples=3)
@given(st.sampled_from(HIDDEN), st.integers(0, 10_000))
def test_hidden_anyhow_the_same_is_left_for_the_same_cause(name: str, seed: int) -> None:
    target, _, _ = target_of(story(name))
    hidden = hide(story(name), target.invariant, seed=seed, noise=60)

    first, second = (begun(hidden, target.invariant)[1] for _ in range(2))
    for reducer in (first, second):
        assert reducer.run(ShrinkBudget())

    assert target.found_in(first.best.value) == first.best
    assert len(first.best.value.steps) < len(hidden.steps)
    assert first.best == second.best


def test_a_lost_tail_among_hundreds_of_steps_is_found_in_six_as_well() -> None:
    hidden = hide(LOST_TAIL, "log-matching", seed=1, noise=500)
    _, reducer = begun(hidden, "log-matching")

    assert reducer.run(ShrinkBudget())
    assert (len(hidden.steps) > 500, len(reducer.best.value.steps)) == (True, 6)


def test_elections_that_no_cluster_would_hold_make_another_story() -> None:
    target, shown, _ = target_of(LOST_TAIL)
    first = step_of("elect", {"leader": "r2", "epoch": 1})
    odd = with_steps(shown.value, [first, *shown.value.steps])

    assert target.shown_by(shown.value) is not None
    assert target.shown_by(odd) is None


def test_where_an_append_goes_offsets_move_down_or_stay() -> None:
    steps = ["elect r1 1", "append r1 a k", "append r1 b k", "compact r1 upto=2", "consume c r1 1"]
    data = {"format": "replog-story/1", "replicas": ["r1"], "steps": steps}
    run = run_story(story_from(data, where="story"))
    shown = shrunk("lost tail")[1]._replace(value=run.content, events=run.events)

    ends = [[step.get("upto") for step in less.steps[2:]] for less in without_steps(shown, [2])]
    assert ends == [[1, 1], [2, 1]]


def test_a_smaller_value_that_is_cut_off_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    target, shown, _ = target_of(LOST_TAIL)
    reducer = target.reducer(shown.value)

    def cut_off(*_: object) -> None:
        raise Inconclusive("out of memory")

    monkeypatch.setattr("sim.diagnose.shrink.target.judged", cut_off)
    assert target.shown_by(shown.value) is None
    assert reducer.run(ShrinkBudget())
    assert reducer.best.value == shown.value


def test_what_a_step_names_moves_down_and_offsets_that_are_gone_go() -> None:
    fields = {"replica": "r1", "offsets": (0, 1, 3), "horizons": ((1, 100), (2, 200)), "upto": 4}
    moved = with_offsets(step_of("cleaned", fields), lambda offset: offset - (offset > 1))

    assert speaks_of_offsets(step_of("cleaned", fields))
    assert moved is not None
    assert moved.fields == fields | {"offsets": (0, 2), "horizons": ((1, 100), (1, 200)), "upto": 3}
    listed = [*_plainer(step_of("cleaned", fields), "offsets", fields["offsets"])]
    assert listed == [None, (0, 1), (0, 3), (1, 3)]


def test_another_cause_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sim.diagnose.shrink.target.signature_of", lambda past, *_: len(past.events) > 50
    )
    target, shown, _ = target_of(FAILING, "tombstone-safety")
    reducer = target.reducer(shown.value)
    reducer.run(ShrinkBudget(tries=15))

    assert 50 < len(reducer.best.events) < len(shown.events)


HOLDS = replace(LOST_TAIL, rules=LOST_TAIL.rules.with_values({"leo_source": "stored"}))


@pytest.mark.parametrize(
    ("value", "invariant", "words"),
    [
        (LOST_TAIL, "log-macthing", "unknown invariant.*did you mean 'log-matching'"),
        (LOST_TAIL, "election-safety", "election-safety is not violated; violated: .*log-matching"),
        (FAILING, "election-safety", "election-safety is not violated; violated: "),
        (HOLDS, None, "kip280_07.*violates no invariant, so there is nothing to shrink"),
        (Scenario("calm"), None, "calm: violates no invariant"),
    ],
)
def test_what_is_not_violated_is_not_shrunk(value: Any, invariant: str | None, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        target_of(value, invariant)


def test_what_belongs_to_something_that_is_gone_goes_with_it() -> None:
    scenario = Scenario(
        "x",
        workload=Workload(
            (Send(1, 1, "a", "x", 1, None, 1), Send(2, 2, "b", "y", 2, None, 1)),
            (EndTransaction(3, 1, 1, commit=True), EndTransaction(4, 2, 1, commit=True)),
        ),
        faults=(
            AddReplica(5, "r4"),
            Crash(6, "r4", 10),
            Partition(7, "r1", 10, peers=("r3",)),
        ),
        changes=(Change(9, "r4", (("strategy", "header"),)),),
    )
    whole = parts_of(scenario)

    def left(without: object) -> Scenario:
        return with_parts(scenario, [part for part in whole if part.value != without])

    assert with_parts(scenario, whole) == scenario
    assert [end.producer for end in left(scenario.workload.sends[0]).workload.ends] == [2]
    alone = left(scenario.faults[0])
    assert (len(alone.faults), alone.changes) == (1, ())
    assert all(fault.peers == () for fault in without_replica(scenario, "r3").faults)
    assert with_parts(replace(scenario, duration_ms=3), whole).workload.ends == ()


def test_headers_stay_with_their_sends() -> None:
    scenario = generate(1, Mix(header_mistakes=1.0, transactional=0.0))
    later = with_parts(scenario, [part for part in parts_of(scenario) if part.at_ms > 1000])
    kept = tuple(send for send in scenario.workload.sends if send.at_ms > 1000)

    assert later.workload.sends == kept
    assert sum(bool(send.headers) for send in kept) > 0
    assert not any(send.headers for send in by_default(scenario).workload.sends)
