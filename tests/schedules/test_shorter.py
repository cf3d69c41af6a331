"""Whether a small story is the shortest one: a search of every schedule of its world says it."""

from pathlib import Path

import pytest

from sim.bounds import Bounds
from sim.files.reading import document_in
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import Story, story_in
from sim.study.explore.answers import UP_TO_8_GB
from sim.study.explore.witness import shortest

NINE = """
format: replog-story/1
id: nine
source: this test
rules: {strategy: header, follower_position: read_end}
replicas: [r1, r2]
isr: [r1]
steps:
  - elect_from_isr r1 1
  - append r1 a k hdr=9
  - append r1 b k
  - compact r1
  - fetch r2 r1
  - fetch r2 r1
  - expand_isr r2
  - elect_from_isr r2 2
  - append r2 c k
expect: {violated: [no-offset-reuse]}
"""


def story_of(text: str) -> Story:
    return story_in(document_in(text, Path("nine.yaml")), default_id="nine")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "shortest: no schedule of fewer than 9 moves breaks it"),
        (
            {"  - fetch r2 r1\n  - fetch r2 r1\n": "  - sync r2 r1\n"},
            "no schedule of fewer than 9 moves breaks it",
        ),
        (
            {"  - expand": "  - fetch r2 r1\n  - expand"},
            "a schedule of 9 moves breaks it, too",
        ),
        (
            {"hdr=9": "hdr=9 pid=7"},
            "not known to be the shortest: a search has no such append",
        ),
        ({"  - compact r1": "  - flush r1\n  - compact r1"}, "a search has no flush"),
    ],
)
def test_the_shortest_is_told_as_such_and_nothing_else(changed: dict[str, str], said: str) -> None:
    text = NINE
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    found = shortest(story_of(text), "no-offset-reuse", UP_TO_8_GB)
    assert said in found.sentence()
    assert found.sentence().startswith("shortest:") == (not changed)
    if found.story is not None:
        broken = {one.invariant for one in run_story(found.story).violations}
        assert "no-offset-reuse" in broken


def test_out_of_time_nothing_is_claimed() -> None:
    found = shortest(story_of(NINE), "no-offset-reuse", Bounds(seconds=0))
    assert found.sentence() == "not known to be the shortest: out of time"
