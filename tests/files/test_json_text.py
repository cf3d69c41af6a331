"""JSON is read as it stands, a field once, and every value can be found again in its line."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.errors import BadInput
from sim.files.reading import parse_json

TEXT = """{
  "a": null,
  "b": [
    true, {"c": -1.5,
           "d e": "\\u00e4 , ]}"}
  ],
\t"e": {}
}
"""


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("b", 1, "d e"), 5),
        (("b", 1, "not there"), 4),
        (("b", 7), 3),
        (("e",), 7),
        (("f",), 1),
    ],
)
def test_a_value_knows_its_line_and_what_is_not_there_that_of_what_it_is_missing_in(
    location: tuple[str | int, ...], line: int
) -> None:
    assert parse_json(TEXT, "some.json").line_of(location) == line


def test_a_file_with_surrogate_pairs_has_lines() -> None:
    document = parse_json('{"a":\n["\\ud83d\\ude00",\n{"\\ud83d\\ude00": 1}]}', "some.json")

    assert document.data == {"a": ["\U0001f600", {"\U0001f600": 1}]}
    assert [document.line_of(("a", 0)), document.line_of(("a", 1, "\U0001f600"))] == [2, 3]


WORDS = st.text('a"\\[]{},: \n\r\x85\u2028<#&*!', max_size=4)
"""What could be taken for the end of a text, a level, a value or a line."""
JSON = st.recursive(
    st.sampled_from([None, True, 0, -(10**30) + 1, 10**30 - 1]) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def values_in(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    yield (), value
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from (((step, *way), found) for way, found in values_in(inner))


@given(JSON)
def test_every_value_is_found_where_it_was_written(value: Any) -> None:
    """With an indent every item has a line of its own: written so far it ends in that line."""
    text = json.dumps(value, indent=1)
    document, lines = parse_json(text, "some.json"), text.splitlines()

    for location, found in values_in(value):
        line = lines[document.line_of(location) - 1].strip()
        name = f"{json.dumps(location[-1])}: " if location and type(location[-1]) is str else ""
        assert line.startswith(name + json.dumps(found, indent=1).splitlines()[0])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "some.json:1: is not JSON: Expecting value"),
        ('{\n"a": 1,\n}', "some.json:3: is not JSON: "),
        ("[" * 100_000, "some.json: is nested too deeply"),
        ("[9" + "9" * 5_000 + "]", "some.json: is not JSON: Exceeds the limit (4300 digits)"),
        ('["NaN",\r\nNaN]', "some.json:2: is not JSON: NaN is no number"),
        ("[-Infinity]", "some.json:1: is not JSON: -Infinity is no number"),
        ("[1,\n\0]", "some.json:2: is not JSON: "),
        ('"\\"' * 9, "some.json:1: is not JSON: "),
        (
            '{"a": [0,\n{"b": "\\ud83d"}]}',
            "some.json: has half a character (a lone surrogate)",
        ),
        ('{"a": 1,\n"b": 2,\n"a": 3}', "some.json:3: a: given twice, first in line 1"),
        (
            '{"a": [\n0, {"b": {}, "c": 1,\n"c": 2}]}',
            "some.json:3: a[1].c: given twice, first in line 2",
        ),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_json(text, "some.json")

    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)
