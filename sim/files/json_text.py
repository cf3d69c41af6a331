"""JSON read strictly: a field may be given once. The lines of values are looked for when needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from sim.errors import BadInput
from sim.files.document import Document, Location, Place, path_of, shown

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _GivenTwice(Exception):
    """Some object gives a field twice."""


def parse_json(text: str, name: str) -> Document:
    """The document in `text`; `name` is for messages.

    Raises:
        BadInput: It is not JSON, gives a field twice, or has half a character in it, which nobody
            could write as UTF-8.
    """
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except _GivenTwice:
        problem = _given_twice(text, name)
    except json.JSONDecodeError as error:
        raise BadInput(f"{name}:{error.lineno}: is not JSON: {error.msg}") from None
    except RecursionError:
        raise BadInput(f"{name}: is nested too deeply") from None
    except ValueError as error:
        raise BadInput(f"{name}: is not JSON: {error}") from None
    else:
        document = Document(name, data, lambda location: _line_of(text, location))
        if _SURROGATE.search(text):
            _check_characters(data, document.top)
        return document
    raise BadInput(problem)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _GivenTwice
    return found


def _check_characters(value: Any, place: Place) -> None:
    """Raise BadInput for text with a surrogate whose other half is missing."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            place.fail(f"{shown(value)} is half a character (a lone surrogate)")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_characters(item, place.at(index))
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_characters(key, place)
            _check_characters(item, place.at(key))


def _given_twice(text: str, name: str) -> str:
    """What is said about a field that is given twice."""
    waiting: list[tuple[list[str | int], int]] = [([], _skip(text, 0))]
    while waiting:
        location, at = waiting.pop()
        lines: dict[str | int, int] = {}
        for step, starts, value_starts in _members(text, at):
            line, path = _line_at(text, starts), [*location, step]
            if step in lines:
                return f"{name}:{line}: {path_of(path)}: given twice, first in line {lines[step]}"
            lines[step] = line
            waiting.append((path, value_starts))
    raise AssertionError  # parsing found one


def _line_of(text: str, location: Location) -> int:
    """The line of what stands at `location`, which exists: of its name, if it is a field."""
    at = found = _skip(text, 0)
    for wanted in location:
        for step, starts, value_starts in _members(text, at):
            if step == wanted:
                found, at = starts, value_starts
                break
    return _line_at(text, found)


def _line_at(text: str, index: int) -> int:
    return text.count("\n", 0, index) + 1


def _members(text: str, at: int) -> Iterator[tuple[str | int, int, int]]:
    """(name or index, where it stands, where its value begins) of what is in the value at `at`."""
    if text[at] not in "{[":
        return
    is_object, number, at = text[at] == "{", 0, _skip(text, at + 1)
    while text[at] not in "}]":
        starts: int = at
        step: str | int = number
        if is_object:
            step, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        yield step, starts, at
        _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
        number += 1


def _skip(text: str, at: int) -> int:
    """Where the next thing begins that is no white space."""
    found = _SPACE.match(text, at)
    assert found is not None  # an empty match will do
    return found.end()
