"""JSON read strictly: a field may be given once. The lines of values are looked for when needed."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

from sim.errors import BadInput
from sim.files.document import Document, Location, Place, path_of, shown
from sim.limits import JSON_VALUES, LEVELS

_DIGITS = 30
"""Of a whole number: more than any field takes, and fewer than make reading one slow."""
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]|[^\s"\[\]{},:]++', re.DOTALL)
"""A piece of JSON; one that is not closed reaches to the end, so that every text is read once."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _GivenTwice(Exception):
    """Some object gives a field twice."""


class _Unusable(Exception):
    """A number, or a word that stands for one, that cannot be used.

    Attributes:
        token: As it is written.
        why: What is said about it.
    """

    def __init__(self, token: str, why: str) -> None:
        super().__init__(why)
        self.token = token
        self.why = why


def parse_json(text: str, name: str) -> Document:
    """The document in `text`; `name` is for messages.

    Raises:
        BadInput: It is not JSON, gives a field twice, has a number that is none or has more digits
            than any field takes, or half a character, which nobody could write as UTF-8; or it is
            nested or sized beyond reason.
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
        problem = _given_twice(text, name)
    except _Unusable as error:
        problem = f"{name}:{_line_of_token(text, error.token)}: {error.why}"
    except json.JSONDecodeError as error:
        problem = f"{name}:{_line_at(text, error.pos)}: is not JSON: {error.msg}"
    else:
        lines = _Lines(text)
        document = Document(name, data, lines.line_of)
        if _SURROGATE.search(text):
            _check_characters(data, document.top)
        return document
    raise BadInput(problem)


def _check_extent(text: str, name: str) -> None:
    """Raise BadInput for what is nested too deeply, or has too many values, before it is read."""
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


class _Part(NamedTuple):
    """Where something that has parts stands, and where they do.

    Attributes:
        at: Index of its first character, or of its name, if it is a field.
        is_object: Whether it has fields.
        parts: By name or index; of what has no parts the index alone.
    """

    at: int
    is_object: bool
    parts: dict[str | int, _Part | int]


class _Lines:
    """The lines of a document's values: all places are found at once, when the first is asked for.

    A message about a file that is one long line must not take as long as its length squared.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._root: _Part | int | None = None
        self._known = (0, 1)

    def line_of(self, location: Location) -> int:
        """The line of what stands at `location`, which exists: of its name, if it is a field."""
        self._root = part = self._root or _parts_of(self._text, [])
        for step in location:
            assert isinstance(part, _Part)  # for the way exists
            part = part.parts[step]
        at = _start(part)
        # Complaints come in about the order of the file: on from the last one.
        index, line = self._known if self._known[0] <= at else (0, 1)
        self._known = (at, _line_at(self._text, at, since=index) + line - 1)
        return self._known[1]


def _given_twice(text: str, name: str) -> str:
    """What is said about a field that is given twice."""
    repeated: list[tuple[list[str | int], int, int]] = []
    _parts_of(text, repeated)
    way, first, again = repeated[0]
    told = f"given twice, first in line {_line_at(text, first)}"
    return f"{name}:{_line_at(text, again)}: {path_of(way)}: {told}"


def _start(part: _Part | int) -> int:
    return part if isinstance(part, int) else part.at


def _parts_of(text: str, repeated: list[tuple[list[str | int], int, int]]) -> _Part | int:
    """Where everything stands in a text that is JSON.

    The first field that is given twice goes to `repeated`: the way to it, and where both stand.
    """
    holder = _Part(0, is_object=False, parts={})
    around: list[tuple[str | int, _Part]] = [("", holder)]
    name: tuple[str, int] | None = None
    for token in _TOKEN.finditer(text):
        at = token.start()
        sign = text[at]
        if sign in ",:":
            continue
        if sign in "]}":
            around.pop()
            holder = around[-1][1]
        elif holder.is_object and name is None:
            name = (json.loads(token[0]) if "\\" in token[0] else token[0][1:-1], at)
        else:
            step, at = (len(holder.parts), at) if name is None else name
            if step in holder.parts and not repeated:
                way = [*(one for one, _ in around[2:]), step]
                repeated.append((way, _start(holder.parts[step]), at))
            name = None
            if sign in "[{":
                inner = holder.parts[step] = _Part(at, sign == "{", {})
                holder = inner
                around.append((step, inner))
            else:
                holder.parts[step] = at
    return around[0][1].parts[0]


def _line_of_token(text: str, token: str) -> int:
    """The line of the first piece of `text` that reads `token`, which is in no quotes."""
    found = next(one for one in _TOKEN.finditer(text) if one[0] == token)
    return _line_at(text, found.start())


def _line_at(text: str, index: int, since: int = 0) -> int:
    """The line of a character, from 1 at `since`; lines end as on any system."""
    ends = text.count("\n", since, index) + text.count("\r", since, index)
    return 1 + ends - text.count("\r\n", since, index)
