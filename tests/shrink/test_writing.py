"""Stories as files: what is written loads to the same story, and reads as people write."""

from pathlib import Path

import pytest

from sim.files.yaml_text import parse_yaml
from sim.shrink.story_edit import with_steps
from sim.shrink.story_size import key_of
from sim.shrink.writing import story_text
from sim.story import Story, load_story
from sim.story.format import story_from

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def again(text: str) -> Story:
    """The story in a file with this text."""
    return story_from(parse_yaml(text, "text").data, where="text")


def said(*steps: object, replicas: tuple[str, ...] = ("r1", "r2")) -> Story:
    document = {"format": "replog-story/1", "replicas": list(replicas), "steps": list(steps)}
    return story_from(document, where="test")


@pytest.mark.parametrize(
    "step",
    [
        {"op": "append", "leader": "r1", "label": "two words", "key": "a=b"},
        {"op": "append", "leader": "r1", "label": "ts=7", "key": None},
        {"op": "append", "leader": "r1", "label": "x: y", "key": "#k"},
        {"op": "append", "leader": "r1", "label": "null", "key": "null", "hdr": None},
        {"op": "append", "leader": "r1", "label": "1", "key": "é", "hdr_bytes": "00ff"},
        {"op": "append", "leader": "r1", "marker": "abort", "pid": -3},
        {"op": "compact", "replica": "r1", "segments": [[0, 3, 7], [3, 4, 9]], "upto": 2},
        {"op": "isr", "isr": ["r2", "r1"]},
        {"op": "coordinate"},
        {"op": "quiesce", "nosync": True},
        {"op": "add_replica", "replica": "no"},
    ],
)
def test_whatever_a_step_says_is_read_back(step: dict[str, object]) -> None:
    story = said("elect r1 1", step)

    assert key_of(again(story_text(story, violated=[]))) == key_of(story)


def test_replicas_with_names_that_yaml_reads_otherwise_are_quoted() -> None:
    story = said("elect 1 1", "isr no", replicas=("1", "no"))

    assert key_of(again(story_text(story, violated=[]))) == key_of(story)


@pytest.mark.parametrize("name", ["kip280/kip280_76_fork_keeps_the_late_version"])
def test_of_the_rules_only_those_that_differ_are_written(name: str) -> None:
    story = load_story(SCENARIOS / f"{name}.yaml")
    text = story_text(story, violated=story.expect.violated)

    assert "preset" not in text
    assert key_of(again(text)) == key_of(story)
    assert again(text).expect.violated == story.expect.violated


def test_a_remark_stands_behind_the_last_step_on_one_line() -> None:
    story = said("elect r1 1", "append r1 a A")
    text = story_text(with_steps(story, story.steps), violated=[], remark="so\nit\tis")

    assert "  - append r1 a A    # so it is\n" in text
    assert "  - elect r1 1\n" in text
