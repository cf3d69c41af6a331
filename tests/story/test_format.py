"""Story files: what they may look like, and what they mean then."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.files.yaml_text import parse_yaml
from sim.simulate.run.stories import run_story
from sim.simulate.story import load_story
from sim.simulate.story.format import STORY_DEFAULTS, story_from
from sim.simulate.story.steps import line_of
from tests.story.refusing import BASE


def test_a_json_story_and_the_same_in_yaml_are_one_story(tmp_path: Path) -> None:
    as_json, as_yaml = tmp_path / "s.json", tmp_path / "s.yaml"
    as_json.write_text(json.dumps(BASE))
    as_yaml.write_text(
        "format: replog-story/1\nreplicas: ['1', '2']\nsteps:\n  - elect 1 1   # the first leader\n"
    )

    assert load_story(as_json) == load_story(as_yaml)
    assert load_story(as_json).id == "s", "a story without an id is called like its file"


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_json_may_be_written_as_any_json_writer_does(tmp_path: Path, indent: str | None) -> None:
    title = 'a "quote", a \\ and a / and \U0001f600'
    path = tmp_path / "s.json"
    path.write_text(json.dumps(BASE | {"title": title}, indent=indent).replace("/", "\\/"))

    assert load_story(path).title == title


def test_rules_start_from_the_defaults_of_stories() -> None:
    assert story_from(BASE, where="test").rules == STORY_DEFAULTS


def test_names_may_be_numbers_and_notes_are_allowed_everywhere() -> None:
    step = {"op": "elect", "leader": 1, "epoch": 1, "note": "first"}
    claims = {"1": {"log": [], "state": {}, "note": "empty"}}
    document = {"format": "replog-story/1", "replicas": [1, 2], "note": "n", "steps": [step]}

    story = story_from(
        document | {"expect": {"note": "n", "replicas": claims, "leader": 1}}, where="test"
    )

    assert story.replicas == story.isr == story.voters == ("1", "2")
    assert run_story(story).differences == ()


def test_a_label_that_is_a_number_may_be_claimed_as_one() -> None:
    story = story_from(BASE | {"expect": {"replicas": {"1": {"state": {"K": 7}}}}}, where="test")

    assert story.expect.replicas == {"1": {"state": {"K": "7"}}}


_FILE = Path(__file__).with_name("lines.yaml")


@pytest.mark.parametrize(
    ("line", "fields"), parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)).data
)
def test_one_line_is_op_then_fields_in_order_then_names(line: str, fields: dict[str, Any]) -> None:
    document = BASE | {"replicas": ["1", "2", "n=1", "[1]"], "steps": [line]}

    step = story_from(document, where="test").steps[0]

    assert json.loads(json.dumps(step.fields)) == fields
    assert step.does_nothing == line.endswith("does=nothing")
    made = story_from(document | {"steps": [line_of(step.op, step.fields)]}, where="test")
    assert made.steps[0].fields == step.fields, "a step that was a mapping has such a line"


def test_a_replica_is_known_from_the_step_that_adds_it() -> None:
    steps = ["elect 1 1", "add_replica 3", "sync 3 1"]

    assert story_from(BASE | {"steps": steps}, where="test").steps[2]["follower"] == "3"
