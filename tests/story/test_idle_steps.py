"""Steps that did nothing: which are named, and which are not."""

import json

import pytest

from sim.story import run_story
from sim.story.driver import idle_steps
from sim.story.format import story_from
from sim.story.idle import _plain
from tests.story.refusing import BASE


def idle(*steps: object, rules: dict[str, object] | None = None) -> list[str]:
    """The lines of those that did nothing, of steps after the election of 1 in epoch 1."""
    document = BASE | {"steps": [*BASE["steps"], *steps], "rules": rules or {}}
    return [step.line for step in idle_steps(run_story(story_from(document, where="test")))]


@pytest.mark.parametrize(
    "step",
    [
        "append 2 a A",
        "elect_from_isr 1 2",
        "fetch_snapshot 2 1",
        "snapshot 1 9",
        "delete_prefix 1 0",
        "sync 1 1",
        "fetch 1 2",
        "push 2 1 a",
        "expand_isr 1",
        "deliver 2 1",
        "flush 1",
        "advance 0",
    ],
)
def test_a_step_that_cannot_do_anything_is_named(step: str) -> None:
    assert idle("isr 2" if step.startswith("elect") else "check", step) == [step]


@pytest.mark.parametrize(
    "step",
    [
        "append 1 a A",
        "fetch 2 1",
        "follow 2 1",
        "isr 1",
        "advance 5",
        "fetch 2 1 delay_response=true",
        "compact 1",
        "coordinate",
        "crash 2",
        "add_replica 3",
        "consume c 1",
        "expect_tombstone_gone K",
        "check",
    ],
)
def test_a_step_that_changes_something_or_is_seen_is_not(step: str) -> None:
    assert idle(step) == []


def test_what_changes_nothing_the_second_time_is_named_then() -> None:
    assert idle("append 1 a A", *["sync 2 1", "follow 2 1", "coordinate", "flush 1"] * 2) == [
        "follow 2 1",
        "sync 2 1",
        "follow 2 1",
        "coordinate",
        "flush 1",
    ]


def test_a_replica_that_is_down_does_nothing_until_it_restarts() -> None:
    down = ["compact 2", "snapshot 2 1", "fetch 2 1", "elect 2 2", "consume c 2"]

    assert (
        idle("append 1 a A", "sync 2 1", "crash 2", *down, "restart 2", "append 1 b B", "fetch 2 1")
        == down
    )


def test_a_refused_election_is_named_and_one_that_won_is_not() -> None:
    steps = ["append 1 a A", "elect 2 2 votes=1", "elect 1 2 votes=2"]

    assert idle(*steps) == ["elect 2 2 votes=1"]


def test_a_refused_fetch_counts_only_where_power_is_lost() -> None:
    steps = ["append 1 a A", "elect 2 2", "append 2 b B", "fetch 2 1", "fetch 2 1"]

    assert idle(*steps) == ["fetch 2 1", "fetch 2 1"]
    assert idle(*steps, "crash 2 power_loss=true") == ["fetch 2 1"]


def test_a_change_in_an_object_of_a_compiled_class_is_seen() -> None:
    """It has neither `__dict__` nor `__slots__`, but what mypyc gives it."""

    class Compiled:
        __slots__ = ()
        __mypyc_attrs__ = ("end",)
        ends = iter([1, 2, 2])

        @property
        def end(self) -> int:
            return next(self.ends)

    first, second, third = (_plain(Compiled(), ()) for _ in range(3))

    assert first != second == third


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ("compact   2  upto=1", "compact 2 upto=1"),
        ({"op": "compact", "replica": 2, "note": "n", "upto": 1}, "compact 2 upto=1"),
        ({"op": "append", "leader": "2", "label": "a", "key": None}, "append 2 a null"),
        (
            {"op": "append", "leader": "2", "pid": 7, "marker": "abort"},
            "append 2 pid=7 marker=abort",
        ),
        ({"op": "fetch", "follower": "2", "leader": "1", "drop_response": True}, "fetch 2 1 drop_"),
        (
            {"op": "compact", "replica": "2", "segments": [[0, 1, 5]]},
            "compact 2 segments=[[0,1,5]]",
        ),
        ({"op": "elect", "leader": "2", "epoch": 2, "votes": ["1"]}, "elect 2 2 votes=1"),
    ],
    ids=json.dumps,
)
def test_a_step_is_named_as_a_line_whatever_it_was_written_as(step: object, line: str) -> None:
    named = idle("crash 2", step)

    assert len(named) == 1
    assert named[0].startswith(line)
