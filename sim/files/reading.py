"""Files that people write, read strictly: JSON in a file named `.json`, else YAML.

In JSON a field may be given once; the lines of values are found when a message needs one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

from sim.errors import BadInput
from sim.files.document import Document, Node, Place, path_of, shown
from sim.files.limits import JSON_VALUES, LEVELS
from sim.files.opening import read_text

_DIGITS = 30
"""Digits of a whole number: more than any field takes, and few enough to be read fast."""
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]|[^\s"\[\]{},:]++', re.DOTALL)
"""A piece of JSON; one that is not closed reaches to the end, so that every text is read once."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _GivenTwice(Exception):
    """An object with a field that is given twice."""


class _Unusable(Exception):
    """A number, or a word that stands for one, that cannot be used.

    Attributes:
        token: The number as it is written.
        why: The message about it.
    """

    def __init__(self, token: str, why: str) -> None:
        super().__init__(why)
        self.token = token
        self.why = why


def parse_json(text: str, name: str) -> Document:
    """The document in `text`; `name` is for messages.

    Raises:
        BadInput: It is not JSON, has a field twice, NaN, an infinite number, one with more digits
            than any field takes, or half a character; or it is nested too deeply or too large.
    """
    _check_extent(text, name)
    try:
        data = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_decimal,
            parse_constant=_constant,
        )
    except _GivenTwice:
        _located(text, name)  # raises with the field and its lines
        raise
    except _Unusable as error:
        problem = f"{name}:{_line_of_token(text, error.token)}: {error.why}"
    except json.JSONDecodeError as error:
        problem = f"{name}:{_line_at(text, error.pos)}: is not JSON: {error.msg}"
    else:
        located = cache(partial(_located, text, name))
        document = Document(name, data, lambda location: located().line_of(location))
        if _SURROGATE.search(text):
            _check_characters(data, document.top)
        return document
    raise BadInput(problem)


def _check_extent(text: str, name: str) -> None:
    """Raises BadInput for a text that is nested too deeply or has too many values."""
    opening = text.count("[") + text.count("{")
    if opening <= LEVELS.most and opening + text.count(",") < JSON_VALUES.most:
        return
    depth = values = 0
    for number, token in enumerate(_TOKEN.finditer(text)):
        sign = text[token.start()]
        if sign in "[{":
            depth += 1
            if depth > LEVELS.most:
                _fail(text, name, token.start(), f"nested deeper than {LEVELS.most} levels")
        elif sign in "]}":
            depth -= 1
        values += sign in ",[{"
        # A text that is no JSON may have any number of other pieces.
        if values >= JSON_VALUES.most or number > 6 * JSON_VALUES.most:
            _fail(text, name, token.start(), f"more than {JSON_VALUES.most} values in one file")


def _fail(text: str, name: str, at: int, what: str) -> NoReturn:
    raise BadInput(f"{name}:{_line_at(text, at)}: {what}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _GivenTwice
    return found


def _integer(token: str) -> int:
    digits = len(token.removeprefix("-"))
    if digits > _DIGITS:
        why = f"a whole number of {digits:,} digits; allowed: at most {_DIGITS}"
        raise _Unusable(token, why)
    return int(token)


def _decimal(token: str) -> float:
    number = float(token)
    if number in (float("inf"), float("-inf")):
        raise _Unusable(token, f"{_cut(token)} is beyond the largest number there is")
    return number


def _constant(token: str) -> NoReturn:
    raise _Unusable(token, f"is not JSON: {token} is no number")


def _cut(token: str) -> str:
    return token if len(token) <= _DIGITS else f"{token[:_DIGITS]}…"


def _check_characters(value: Any, place: Place) -> None:
    """Raises BadInput for text with a surrogate whose other half is missing."""
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


def _located(text: str, name: str) -> Node:
    """The lines of all values of a text that is JSON, found in one pass.

    A message about a file of one long line must not take time in the square of its length.

    Raises:
        BadInput: A field is given twice.
    """
    pieces = _pieces(text)
    return _node(next(pieces), pieces, [], name)


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Pieces of the text without its separators, each with its line."""
    line, before = 1, 0
    for token in _TOKEN.finditer(text):
        line += _line_at(text, token.start(), since=before) - 1
        before = token.start()
        if text[before] not in ",:":
            yield token[0], line


def _node(
    first: tuple[str, int], rest: Iterator[tuple[str, int]], way: list[str | int], name: str
) -> Node:
    """The lines of the value that begins with this piece; `way` leads to it."""
    sign, line = first
    if sign == "[":
        items: list[Node] = []
        while (piece := next(rest))[0] != "]":
            items.append(_node(piece, rest, [*way, len(items)], name))
        return Node(items, line)
    values: dict[str, Node] = {}
    found = Node(values, line)
    while sign == "{" and (piece := next(rest))[0] != "}":
        key, at = json.loads(piece[0]), piece[1]
        if key in values:
            twice = f"given twice, first in line {found.key_lines[key]}"
            raise BadInput(f"{name}:{at}: {path_of([*way, key])}: {twice}")
        found.key_lines[key] = at
        values[key] = _node(next(rest), rest, [*way, key], name)
    return found


def _line_of_token(text: str, token: str) -> int:
    """The line of the first piece of `text` that reads `token`, which is in no quotes."""
    found = next(one for one in _TOKEN.finditer(text) if one[0] == token)
    return _line_at(text, found.start())


def _line_at(text: str, index: int, since: int = 0) -> int:
    """The line of a character, from 1 at `since`; lines end as on any system."""
    ends = text.count("\n", since, index) + text.count("\r", since, index)
    return 1 + ends - text.count("\r\n", since, index)


def read_document(path: Path) -> Document:
    """The one document in a file: JSON in a file named `.json`, else YAML.

    Raises:
        BadInput: The file cannot be read, is not UTF-8, is not JSON or YAML as its name says, has a
            field twice, is nested too deeply or too large, or has an ambiguous plain value (YAML).
    """
    return document_in(read_text(path), path)


def document_in(text: str, path: Path) -> Document:
    """The one document in the text of the file at `path`. Raises like `read_document`."""
    if path.suffix == ".json":
        return parse_json(text, str(path))
    # A JSON file is read without PyYAML, which takes as long to import as a small story to run.
    from sim.files.yaml_text import parse_yaml

    return parse_yaml(text, str(path))


def read_json(path: Path) -> Document:
    """The JSON document in a file of any name. Raises like `read_document`."""
    return parse_json(read_text(path), str(path))
