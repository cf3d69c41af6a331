"""What a story may not say: one clear line for each, with the place (`refusals.yaml`)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.check.registry import INVARIANTS
from sim.files.yaml_text import parse_yaml
from sim.rules.rules import RULES
from sim.story.ops import OPS
from tests.story.refusing import BASE, refused, step_refused

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


@pytest.mark.parametrize("shown", ["[1,2]", "[1, 2]", "1, 2", "1,2,"])
def test_a_list_of_replicas_is_shown_as_it_was_typed(tmp_path: Path, shown: str) -> None:
    said = f"{shown!r} is not a list of replicas; as text it is 1,2, without brackets or spaces"

    assert f"(isr): isr: {said}" in step_refused(tmp_path, f"isr {shown}")
    assert f"(elect): votes: {said}" in step_refused(tmp_path, f"elect 1 2 votes={shown}")
    assert f"(isr): isr: {said}" in step_refused(tmp_path, {"op": "isr", "isr": shown})


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (["sync 3 1", "add_replica 3"], "step 1 (sync): follower: no replica '3'"),
        (["add_replica 3", "add_replica 3"], "step 2 (add_replica): replica: '3' exists already"),
        (["remove_replica 2", "crash 2"], "step 2 (crash): replica: no replica '2'"),
        (["remove_replica 3"], "step 1 (remove_replica): replica: no replica '3'"),
        (["moment one", "check", "moment one"], "step 3 (moment): name: 'one' was noted before"),
    ],
)
def test_what_a_step_names_has_to_be_there_by_then(
    tmp_path: Path, steps: list[str], said: str
) -> None:
    assert said in refused(tmp_path, BASE | {"steps": steps})
