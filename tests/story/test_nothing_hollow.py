"""Nothing green is hollow: assertions are judged, and fields mean something."""

from dataclasses import replace

import yaml

from sim.diagnose.shrink.writing import story_text
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import story_from
from tests.story.running import run_steps


def test_an_assertion_step_is_judged_whatever_is_checked() -> None:
    steps = ["elect r1 1", "append r1 v K", "append r1 d K tombstone=true"]
    data = {
        "format": "replog-story/1",
        "replicas": ["r1"],
        "steps": [*steps, "expect_tombstone_gone K"],
        "expect": {"checked": ["log-matching"]},
    }

    run = run_story(story_from(data, where="test"))

    assert run.violated == ["tombstone-eventually-removed"]
    assert run.differences != ()


def test_what_a_preset_says_goes_before_the_defaults_of_stories() -> None:
    """But for times, which a topic sets."""
    run = run_steps("elect 1 1\nappend 1 d K null_value=true", rules={"preset": "kafka-4.0"})
    rules = run.rules.as_dict()

    assert (rules["tombstone_mark"], rules["leader_restart"]) == ("null_value", "resigned")
    assert (rules["delete_retention_ms"], rules["start_offset_lag_ms"]) == (100, 100)


def test_a_mark_is_left_out_of_a_file_whose_rules_do_not_read_it() -> None:
    """As in a near miss, the same steps under another rule."""
    story = run_steps("elect 1 1\nappend 1 d K tombstone=true").content
    other = story.rules.with_values({"tombstone_mark": "null_value"})

    text = story_text(replace(story, rules=other), violated=[])

    assert "  - append 1 d K\n" in text
    assert story_from(yaml.safe_load(text), where="test").rules == other


def test_a_cluster_at_rest_is_not_said_to_be_in_sync_while_a_member_is_down() -> None:
    from sim.protocol.events.sentences import describe

    run = run_steps("elect 1 1\nappend 1 a A\ncrash 2\nquiesce")

    assert describe(run.events[-1][1]) == (
        "the cluster is at rest, and every replica that is up has fetched to the end"
    )
    led_by_none = run_steps("elect 1 1\nappend 1 a A\ncrash 1\nquiesce")
    assert describe(led_by_none.events[-1][1]) == "the cluster is at rest"


def test_what_fetches_votes_and_reads_are_answered_is_kept() -> None:
    run = run_steps(
        "elect 1 1 votes=2\nappend 1 a A\nfetch 2 1\nfetch 2 1\nconsume c 1\nelect 2 2 votes=1"
    )

    assert run.answers == (
        (1, "2 votes for 1 in epoch 1"),
        (3, "1 answers 2's fetch at 0: what is at 0, high watermark 0"),
        (4, "1 answers 2's fetch at 1: nothing new, high watermark 1"),
        (5, "c reads 1 from 0 to 1: A=a@0"),
        (6, "1 votes for 2 in epoch 2"),
    )
