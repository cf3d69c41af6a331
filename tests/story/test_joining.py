"""What is said of a step that goes by a high watermark which waits for who may join."""

import pytest

from sim.simulate.run import run_of
from sim.simulate.story.format import Story, story_from

TAIL = ["elect r1 1", "append r1 new K hdr=5", "sync r2 r1", "sync r3 r1", "isr r1,r2"]
LATE = [*TAIL, "append r1 late K hdr=3", "sync r2 r1"]
SILENT = [*TAIL, "advance 30001", *LATE[5:]]
KAFKA = {"preset": "kafka-4.0", "strategy": "header", "map_range": "full", "fix": "none"}
HELD = (
    "step 8 finds the high watermark of r1 at 1, though all in sync have 2: since step 5 it waits "
    "for r3, which had caught up and may join (high_watermark_waits_for: caught_up_eligible, "
    "replica_lag_max_ms: 30000)"
)


def story_of(steps: list[str], **rules: object) -> Story:
    document = {
        "format": "replog-story/1",
        "rules": {**KAFKA, **rules},
        "replicas": ["r1", "r2", "r3"],
        "steps": steps,
    }
    return story_from(document, where="story")


def test_a_pass_that_stops_where_the_high_watermark_waits_is_a_note_of_the_run() -> None:
    assert HELD in run_of(story_of([*LATE, "compact r1"])).notes


def test_of_several_steps_that_find_it_so_the_first_is_told() -> None:
    steps = [*LATE, "compact r1", "compact r2", "consume c r1"]

    assert run_of(story_of(steps)).remarks == (HELD,)


def test_a_pass_that_takes_nothing_while_a_member_in_sync_lags_did_nothing() -> None:
    steps = ["elect r1 1", "append r1 a A", "sync r2 r1", "sync r3 r1", "append r1 b A"]
    story = story_of([*steps, "sync r3 r1", "compact r1"])

    assert run_of(story).notes == (
        "step 7 did nothing: there is nothing to clean: the high watermark, 1, waits for r2",
    )


@pytest.mark.parametrize(
    ("steps", "rules"),
    [
        ([*LATE, "compact r1"], {"high_watermark_waits_for": "in_sync_set"}),
        ([*LATE, "compact r1"], {"cleaner_bound": "leo"}),
        ([*LATE, "compact r1 upto=1"], {}),
        ([*LATE, "check"], {}),
        ([*LATE, "crash r3", "append r1 x X", "sync r2 r1", "compact r1"], {}),
        ([*SILENT, "compact r1"], {}),
        ([*LATE[:-1], "compact r1"], {}),  # r2 has no more either
    ],
)
def test_nothing_is_said_where_nobody_is_waited_for_or_nothing_goes_by_it(
    steps: list[str], rules: dict[str, object]
) -> None:
    assert run_of(story_of(steps, **rules)).remarks == ()


@pytest.mark.parametrize(("position", "waits"), [("read_end", True), ("request", False)])
def test_who_fetches_at_a_hole_at_the_log_end_is_waited_for_where_it_is_believed_to_be_there(
    position: str, *, waits: bool
) -> None:
    alone = ["elect r1 1", "isr r1,r2", "advance 30001"]
    hole = [*alone, *TAIL[1:3], LATE[-2], "sync r2 r1", "sync r2 r1", "compact r1"]
    steps = [*hole, "sync r3 r1", "append r1 x X", "sync r2 r1", "compact r1"]
    notes = run_of(story_of(steps, follower_position=position)).notes

    assert any("waits for r3" in note for note in notes) is waits
