"""What is said about a value: where it stands, what is wrong, what is allowed; in one line."""

from typing import Any

import pytest

from sim.errors import BadInput
from sim.files.document import (
    Document,
    Place,
    shown,
    unknown_value,
)

DATA: dict[str, Any] = {"steps": [{"op": "roll"}, {"op": "clean", "a\nb": {}}], "rules": {}}


def said(place: Place) -> str:
    with pytest.raises(BadInput) as caught:
        place.fail("is wrong")
    return str(caught.value)


def test_a_place_is_named_by_the_way_to_it_and_its_line() -> None:
    top = Document("x.json", DATA, lambda location: 10 + len(location)).top
    step = top.at("steps").at(1)

    assert said(top) == "x.json:10: is wrong"
    assert said(step) == "x.json:12: steps[1]: is wrong"
    assert said(step.at("op")) == "x.json:13: steps[1].op: is wrong"
    assert said(step.at("missing")) == "x.json:12: steps[1].missing: is wrong"
    assert said(step.at("a\nb")) == 'x.json:13: steps[1]."a\\nb": is wrong'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("é", '"é"'),
        ("a\u2028b", '"a\\u2028b"'),
        ("\ud83d", '"\\ud83d"'),
        ({"a": True}, '{"a": true}'),
        ("x" * 70, f'"{"x" * 59}…'),
    ],
)
def test_a_wrong_value_is_shown_as_json_in_one_line(value: object, text: str) -> None:
    assert shown(value) == text
    assert unknown_value(value, ["a"]) == f"unknown value {text}; allowed: a"
