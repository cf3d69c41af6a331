"""Steps that did nothing: which, why, and what is said of one that was meant to do nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.files.yaml_text import parse_yaml
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import story_from
from sim.simulate.story.idle import idle_notes
from tests.story.refusing import BASE
from tests.story.running import run_steps

_FILE = Path(__file__).with_name("idle_steps.yaml")
WHY = parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)).data


@pytest.mark.parametrize("row", WHY, ids=str)
def test_a_step_that_does_nothing_says_why(row: dict[str, Any]) -> None:
    steps = "\n".join(["elect 1 1", *row["before"], row["step"]])

    *_, found = run_steps(steps, rules=row.get("rules")).idle

    assert (found.line, found.why) == (row["step"], row["why"])


@pytest.mark.parametrize(
    "step",
    [
        *("append 1 a A", "fetch 2 1", "follow 2 1", "isr 1", "advance 5"),
        *("fetch 2 1 delay_response=true", "coordinate", "crash 2", "add_replica 3", "moment now"),
        *("check", "elect 1 2 votes=2", "isr 1\nappend 1 a A\nconsume c 1"),
        "append 1 d K tombstone=true\nexpect_tombstone_gone K",
        "isr 1\nappend 1 a A\nappend 1 b A\ncompact 1",
        "append 1 d K tombstone=true\nsync 2 1\nappend 1 z Z\ncompact 1",
        "append 1 a A\nsync 2 1\nfetch 2 1 delay_response=true",
        # While the high watermark waits for 2, a pass below it gives a tombstone its horizon.
        "append 1 a A tombstone=true\nsync 2 1\nappend 1 b B\ncompact 1",
        "append 1 a A\nappend 1 b B\nsync 2 1\nappend 1 c C\ncompact 1 upto=1",
    ],
)
def test_a_step_that_changes_something_or_is_seen_is_not_idle(step: str) -> None:
    assert run_steps(f"elect 1 1\n{step}").idle == ()


def test_steps_are_told_by_their_reason() -> None:
    run = run_steps("elect 1 1\nappend 2 a A\nflush 1\nappend 2 b B")

    assert idle_notes(run.idle) == [
        "steps 2, 4 did nothing: 2 does not lead",
        "step 3 did nothing: all of the log is flushed already",
    ]


def test_a_refused_fetch_counts_only_where_power_is_lost() -> None:
    steps = "elect 1 1\nappend 1 a A\nelect 2 2\nappend 2 b B\nfetch 2 1\nfetch 2 1"

    assert [step.number for step in run_steps(steps).idle] == [5, 6]
    lost = run_steps(f"{steps}\ncrash 2 power_loss=true")
    assert [step.number for step in lost.idle] == [6]


def test_a_step_that_is_meant_to_do_nothing_is_not_told() -> None:
    run = run_steps("elect 1 1\nappend 2 a A does=nothing\nflush 2")

    assert [step.number for step in run.idle] == [3]
    assert run.differences == ()


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

    (said,) = run.differences
    assert said.startswith("step 2 (a")
    assert did in said.partition(") was meant to do nothing, and ")[2]


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
