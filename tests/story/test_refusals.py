"""What a story may not say: one clear line for each, with the place (`refusals.yaml`)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.check.registry import INVARIANTS
from sim.errors import BadInput
from sim.files.yaml_text import parse_yaml
from sim.protocol.rules import RULES
from sim.simulate.story import load_story
from sim.simulate.story.ops import OPS
from tests.story.refusing import BASE, refused

_FILE = Path(__file__).with_name("refusals.yaml")
SAID = parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)).data
STORY_OF: dict[str, Callable[[Any], dict[str, Any]]] = {
    "top": lambda change: BASE | change,
    "rules": lambda rules: BASE | {"rules": rules},
    "step": lambda step: BASE | {"steps": [*BASE["steps"], step]},
    "expect": lambda expect: BASE | {"expect": expect},
    "claims": lambda claims: BASE | {"expect": {"replicas": {"1": claims}}},
}


@pytest.mark.parametrize(
    ("part", "written", "said"), [(part, *row) for part, rows in SAID.items() for row in rows]
)
def test_what_is_wrong_is_refused_with_its_place(
    tmp_path: Path, part: str, written: Any, said: str
) -> None:
    message = refused(tmp_path, STORY_OF[part](written))

    assert said in message
    assert message.startswith(": step 2") or part != "step"


def test_a_story_has_fields(tmp_path: Path) -> None:
    assert refused(tmp_path, "[1]") == ": expected fields, not [1]"


@pytest.mark.parametrize(
    ("part", "written", "said", "known"),
    [
        ("rules", {"strategi": "a"}, "unknown rule (did you mean 'strategy'?)", RULES),
        ("step", "fetsch 2 1", "step 2: op: unknown op 'fetsch' (did you mean 'fetch'?)", OPS),
        ("step", {"op": "fetsch"}, "step 2: op: unknown op 'fetsch' (did you mean 'fetch'?)", OPS),
        ("expect", {"violated": ["no-luck"]}, "unknown invariant", INVARIANTS),
    ],
)
def test_an_unknown_name_is_answered_with_all_names(
    tmp_path: Path, part: str, written: Any, said: str, known: dict[str, object]
) -> None:
    message = refused(tmp_path, STORY_OF[part](written))

    assert said in message
    assert all(name in message for name in known)


@pytest.mark.parametrize("name", [name for name, spec in RULES.items() if spec.values])
def test_an_unknown_value_is_answered_with_the_values_of_its_rule(
    tmp_path: Path, name: str
) -> None:
    said = refused(tmp_path, BASE | {"rules": {name: "sometimes"}})

    assert f"rules.{name}: unknown value 'sometimes'" in said
    assert all(str(value).lower() in said for value in RULES[name].values)


EVERYTHING = """\
format: replog-story/1
titel: x
title: 5
tags: [a b]
replicas: ['1', '2']
isr: ['3']
rules: {strategi: a, fencing: 1}
steps:
  - fetsch 2 1
  - {op: fetch, follower: 2, max: -1, speed: 3}
  - append 1 "k = v" K
  - advance soon
  - {op: append, leader: '1', label: a}
expect:
  violated: [no-luck]
  leadr: '1'
  replicas: {'1': {leo: many, hv: 3}}
  moments: {m: {}, n: {'1': {lag: 3}}}
"""


def test_everything_that_is_wrong_is_told_in_one_go(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(EVERYTHING)
    with pytest.raises(BadInput) as caught:
        load_story(path)

    told = [line.removeprefix(f"{path}:") for line in caught.value.args]
    assert [" ".join(line.split(": ")[:3]) for line in sorted(told, key=line_of)] == [
        "2 titel unknown field (did you mean 'title'?); allowed",
        "3 title expected text, not 5",
        '4 tags[0] "a b" is no tag; allowed',
        "6 isr no replica '3'; known here",
        "7 rules.strategi unknown rule (did you mean 'strategy'?); allowed",
        "7 rules.fencing unknown value 1; allowed",
        "9 step 1 op",
        "10 step 2 (fetch) max",
        "10 step 2 (fetch) speed",
        "10 step 2 (fetch) leader",
        "11 step 3 (append) ts",
        "12 step 4 (advance) ms",
        "13 step 5 (append) key",
        '15 expect.violated[0] unknown invariant "no-luck"; allowed',
        "16 expect.leadr unknown field (did you mean 'leader'?); allowed",
        "17 expect.replicas.1.hv unknown field; allowed",
        '17 expect.replicas.1.leo expected an integer, not "many"',
        "18 expect.moments.m claims nothing; name replicas",
        "18 expect.moments.n.1.lag unknown field (did you mean 'log'?); allowed",
    ]


def line_of(told: str) -> int:
    return int(told.partition(":")[0])


@pytest.mark.parametrize(
    "unreadable",
    [
        "add_replica 3 4",
        "ad_replica 3",
        {"op": "add_replica", "replica": 3, "what": 4},
        "- 3",
        "moment then now",
    ],
)
def test_behind_a_step_that_cannot_be_read_nothing_is_said_of_names(
    tmp_path: Path, unreadable: Any
) -> None:
    steps = [unreadable, "fetch 3 1", "isr 1,3", "crash n=3", "moment x"]
    of_3 = {"3": {"leo": 0}}
    claims = {"leader": "3", "replicas": of_3, "moments": {"then": of_3, "x": of_3}}
    refused(tmp_path, BASE | {"steps": steps, "expect": claims})  # with one complaint


def test_names_are_looked_up_until_a_step_that_adds_some_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    steps = "[elect 1 x, crash 3, add_replica 1 2, wipe 4]"
    path.write_text(f"{{format: replog-story/1, replicas: ['1'], steps: {steps}}}")
    with pytest.raises(BadInput) as caught:
        load_story(path)

    assert [line.partition("step ")[2][:1] for line in caught.value.args] == ["1", "2", "3"]
