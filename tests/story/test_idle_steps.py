"""Steps that did nothing: which, why, and what is said of one that was meant to do nothing."""

import json
from pathlib import Path

import pytest

from sim.story import run_story
from sim.story.driver import idle_steps
from sim.story.format import story_from
from sim.story.idle import _plain, idle_notes
from tests.story.refusing import BASE, step_refused
from tests.story.running import run_steps

TAIL = "isr 1\nappend 1 a A\nappend 1 b B\n"
SNAPSHOT = f"{TAIL}snapshot 1 2\ndelete_prefix 1 2\n"
LOST = "fetch 2 1 delay_response=true\ncrash 2\nrestart 2"
NEWER = "2 knows of a newer epoch than 1's"
UNREADABLE = {"strategy": "header", "header_form": "unchecked_varint"}
UNREAD = "append 1 a A hdr_bytes=ffffffffffffffff\nisr 1\nappend 1 z Z\ncompact 1\n"
WHY = [
    ("", "append 2 a A", "2 does not lead"),
    ("", "fetch 1 2", "2 does not lead"),
    ("", "sync 1 2", "2 does not lead"),
    ("", "follow 1 2", "2 does not lead"),
    ("", "fetch_snapshot 1 2", "2 does not lead"),
    ("crash 1", "fetch 2 1", "1 is down"),
    *(
        ("crash 2", step, "2 is down")
        for step in (
            *("append 2 a A", "append 2 a A epoch=1", "elect 2 2", "elect_from_isr 2 2"),
            *("expand_isr 2", "follow 2 1", "fetch 2 1", "sync 2 1", "fetch_snapshot 2 1"),
            *("push 2 1 a", "push 1 2 a", "compact 2", "snapshot 2 1", "delete_prefix 2 1"),
            *("flush 2", "consume c 2", "read_to_end c 2", "load 2"),
        )
    ),
    ("append 1 a A", "elect 2 2 votes=1", "no majority votes for 2"),
    ("isr 2", "elect_from_isr 1 2", "1 is not in sync"),
    ("crash 1", "isr 1,2", "they are in sync already"),
    ("", "expand_isr 1", "1 is in sync already"),
    ("crash 1", "expand_isr 2", "nobody leads"),
    (TAIL, "expand_isr 2", "1 does not know 2 to have caught up"),
    ("", "sync 1 1", "1 does not follow itself"),
    ("follow 2 1", "follow 2 1", "2 follows 1's epoch already, and has nothing to cut"),
    ("elect 2 2", "follow 2 1", NEWER),
    ("elect 2 2", "fetch 2 1", NEWER),
    ("elect 2 2", "sync 2 1", NEWER),
    ("sync 2 1", "fetch 2 1", "there is nothing to fetch"),
    ("sync 2 1", "fetch 2 1 drop_response=true", "its response is lost"),
    ("sync 2 1", "sync 2 1", "there is nothing to fetch"),
    ("", "deliver 2 1", "no response of 1 is on its way to 2"),
    (LOST, "deliver 2 1", "no response of 1 is on its way to 2"),
    ("", "fetch_snapshot 2 1", "2 fetches no snapshot"),
    ("", "push 2 1 a", "1 holds no record a"),
    (UNREAD, "compact 1", "a pass has failed before"),
    ("coordinate", "coordinate", "nobody has anything new to report"),
    ("", "snapshot 1 9", "1 has no log from 1 to 9"),
    (SNAPSHOT, "snapshot 1 2", "1 has one that ends at 2"),
    (SNAPSHOT, "delete_prefix 1 1", "1's log starts at 2 already"),
    ("", "advance 0", "no time passes"),
    ("", "flush 1", "all of the log is flushed already"),
    ("", "remove_replica 1", "1 leads"),
    ("", "load 1", "1 coordinates nothing"),
    ("", "ask 1 K", "1 coordinates nothing"),
]
"""What was before, a step, and why it does nothing then; 1 leads epoch 1."""


@pytest.mark.parametrize(("before", "step", "why"), WHY)
def test_a_step_that_does_nothing_says_why(before: str, step: str, why: str) -> None:
    rules = UNREADABLE if before == UNREAD else {}

    *_, found = idle_steps(run_steps(f"elect 1 1\n{before}\n{step}", rules=rules))

    assert (found.line, found.why) == (step, why)


@pytest.mark.parametrize(
    ("rules", "step", "why"),
    [
        ({"cleanup": "snapshot"}, "compact 1", "with `cleanup: snapshot` no log is cleaned"),
        ({"cleanup": "compact"}, "snapshot 1 1", "with `cleanup: compact` there are no snapshots"),
        (
            {"cleanup": "compact"},
            "delete_prefix 1 1",
            "with `cleanup: compact` there are no snapshots",
        ),
        (
            {"prefix_gate": "all_live"},
            "delete_prefix 1 1",
            "not every live replica has what is below 1",
        ),
        ({"coordinator": "group"}, "load 1\nload 1", "1 has loaded its log already"),
        (
            {"unknown_epoch": "undefined", "fencing": False},
            "elect 2 2\nappend 2 x X\nfetch 2 1",
            "1 has no answer for 2's offset and epoch",
        ),
    ],
)
def test_a_rule_may_be_why(rules: dict[str, object], step: str, why: str) -> None:
    (found,) = idle_steps(run_steps(f"elect 1 1\nappend 1 a A\n{step}", rules=rules))

    assert found.why == why


@pytest.mark.parametrize(
    "step",
    [
        *("append 1 a A", "fetch 2 1", "follow 2 1", "isr 1", "advance 5", "compact 1"),
        *("fetch 2 1 delay_response=true", "coordinate", "crash 2", "add_replica 3", "moment now"),
        *("consume c 1", "expect_tombstone_gone K", "check", "elect 1 2 votes=2"),
        "append 1 a A\nsync 2 1\nfetch 2 1 delay_response=true",
    ],
)
def test_a_step_that_changes_something_or_is_seen_is_not_idle(step: str) -> None:
    assert idle_steps(run_steps(f"elect 1 1\n{step}")) == ()


def test_steps_are_told_by_their_reason() -> None:
    run = run_steps("elect 1 1\nappend 2 a A\nflush 1\nappend 2 b B\nexpect_tombstone_gone K")

    assert idle_notes(idle_steps(run)) == [
        "steps 2, 4 did nothing: 2 does not lead",
        "step 3 did nothing: all of the log is flushed already",
    ]


def test_a_refused_fetch_counts_only_where_power_is_lost() -> None:
    steps = "elect 1 1\nappend 1 a A\nelect 2 2\nappend 2 b B\nfetch 2 1\nfetch 2 1"

    assert [step.number for step in idle_steps(run_steps(steps))] == [5, 6]
    lost = run_steps(f"{steps}\ncrash 2 power_loss=true")
    assert [step.number for step in idle_steps(lost)] == [6]


def test_a_step_that_is_meant_to_do_nothing_is_not_told() -> None:
    run = run_steps("elect 1 1\nappend 2 a A does=nothing\nflush 2")

    assert [step.number for step in idle_steps(run)] == [3]
    assert (run.differences(), [step.number for step in run.idle]) == ([], [2])


@pytest.mark.parametrize(
    ("step", "did"),
    [
        ("append 1 a A does=nothing", "1 appends A=a@0 in epoch 1"),
        ({"op": "advance", "ms": 5, "does": "nothing"}, "something changed"),
    ],
)
def test_a_step_that_is_meant_to_do_nothing_and_does_something_is_a_difference(
    step: str | dict[str, object], did: str
) -> None:
    run = run_story(story_from(BASE | {"steps": [*BASE["steps"], step]}, where="test"))

    (said,) = run.differences()
    assert said.startswith("step 2 (a")
    assert did in said.partition(") was meant to do nothing, and ")[2]


def test_that_a_step_does_something_cannot_be_said(tmp_path: Path) -> None:
    said = step_refused(tmp_path, "append 1 a A does=something")

    assert "step 2 (append): does: expected nothing, not" in said


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
    story = story_from(BASE | {"steps": [*BASE["steps"], step]}, where="test")

    assert story.steps[1].line.startswith(line)
