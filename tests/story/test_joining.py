"""Whom the high watermark of a story waits for beside the in-sync set, and what is said of it."""

import pytest

from sim.compaction.fixes import Kept, Tail
from sim.plugins import register_fix
from sim.story.driver import StoryDriver
from sim.story.format import story_from
from tests.plugins.plugged import forgetting_plugins
from tests.story.running import run_steps

CAUGHT_UP = """
    elect 1 1
    append 1 a A
    sync 2 1
    isr 1
    advance {ms}
    append 1 b A
    append 1 c A
"""


@pytest.mark.parametrize(("ms", "mark"), [(30_000, 1), (30_001, 3)])
def test_a_follower_counts_as_caught_up_for_thirty_seconds(ms: int, mark: int) -> None:
    rules = {"high_watermark_waits_for": "caught_up_eligible"}

    run = run_steps(CAUGHT_UP.format(ms=ms), isr=["1"], rules=rules)

    assert run.replicas["1"].high_watermark == mark


def test_what_holds_the_high_watermark_back_is_said_with_its_rule_and_its_step() -> None:
    rules = {"high_watermark_waits_for": "caught_up_eligible"}
    steps = ["elect 1 1", "append 1 a A", "sync 2 1", "append 1 b A"]
    data = {"format": "replog-story/1", "replicas": ["1", "2"], "isr": ["1"], "rules": rules}
    story = story_from({**data, "steps": steps}, where="test")
    driver = StoryDriver(story)
    for step in story.steps:
        driver.take(step)

    assert driver.joining.why_held(driver.replicas["1"]) == (
        "its high watermark, 1, waits for 2 (high_watermark_waits_for: caught_up_eligible; "
        "since step 4)"
    )
    driver.set_isr(("1", "2"))
    held = driver.joining.why_held(driver.replicas["1"])
    assert held == "its high watermark, 1, waits for 2 (in the in-sync set; since step 4)"


def test_a_record_that_a_fix_keeps_inside_the_log_is_no_second_record_of_its_key() -> None:
    with forgetting_plugins():

        @register_fix
        class CleanedEnd:
            """The last record of the cleaned range stays."""

            name, source = "cleaned_end", "an example"

            def keeps(self, tail: Tail) -> Kept:
                return Kept(record_offset=tail.upper_bound - 1, batch_end=tail.upper_bound - 1)

        run = run_steps(
            """
            elect 1 1
            append 1 a A hdr=1
            append 1 b A hdr=0
            append 1 c A hdr=3
            compact 1 upto=2
            """,
            replicas=["1"],
            rules={"strategy": "header", "fix": "cleaned_end"},
        )

    assert run.replicas["1"].offsets == [0, 1, 2]
    assert run.violated == []
