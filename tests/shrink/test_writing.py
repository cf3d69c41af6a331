"""Stories as files: what is written loads to the same story, and reads as people write."""

import pytest

from sim.diagnose.shrink.stories import key_of
from sim.diagnose.shrink.writing import near_miss_file, story_text
from sim.files.yaml_text import parse_yaml
from sim.simulate.run.stories import run_story
from sim.simulate.story import Story
from sim.simulate.story.format import story_from
from tests.shrink.cases import LOST_TAIL

STEPS: list[object] = [
    {"op": "append", "leader": "r1", "label": "two words", "key": "a=b"},
    {"op": "append", "leader": "r1", "label": "ts=7", "key": None},
    {"op": "append", "leader": "r1", "label": "x: y", "key": "#k"},
    {"op": "append", "leader": "r1", "label": "null", "key": "null", "hdr": None},
    {"op": "append", "leader": "r1", "label": "1", "key": "é", "hdr_bytes": "00ff"},
    {"op": "append", "leader": "r1", "marker": "abort", "pid": -3},
    {"op": "compact", "replica": "r1", "segments": [[0, 3, 7], [3, 4, 9]], "upto": 2},
    {"op": "isr", "isr": ["no", "r1"]},
    {"op": "coordinate"},
    {"op": "quiesce", "nosync": True},
    {"op": "add_replica", "replica": "1"},
]


def read(data: object) -> Story:
    return story_from(data, where="test")


@pytest.mark.parametrize("step", STEPS)
def test_a_story_is_read_back_and_only_what_matters_is_written(step: object) -> None:
    document = {
        "format": "replog-story/1",
        "rules": {"preset": "kafka-4.0", "fix": "none"},
        "replicas": ["r1", "no"],
        "isr": ["no"],
        "steps": ["elect r1 1", step],
    }
    text = story_text(read(document), violated=["log-matching"], remark="so\nit\tis")
    again = read(parse_yaml(text, "text").data)

    assert key_of(again) == key_of(read(document))
    assert again.expect.violated == ("log-matching",)
    assert "preset" not in text
    assert "  - elect r1 1\n" in text
    assert text.count("    # so it is\nexpect:") == 1


def test_a_near_miss_that_violates_something_else_expects_that() -> None:
    text = near_miss_file(LOST_TAIL, "committed-never-lost")
    again = read(parse_yaml(text, "text").data)

    assert "no-offset-reuse" in again.expect.violated
    assert run_story(again).differences == ()
