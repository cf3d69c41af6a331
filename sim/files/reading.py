"""Files of users, opened safely and read strictly: JSON in a file named `.json`, else YAML.

Every read is bounded: devices, sockets and folders are refused before they are opened,
a pipe has to have a writer and is read once, and every file has a largest size.
In JSON a field may be given once; the lines of values are found when a message needs one.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NoReturn

from sim.errors import BadInput
from sim.files.document import Document, Node, Place, path_of, shown
from sim.files.limits import DOCUMENT_BYTES, JSON_VALUES, LEVELS

MEBIBYTE = 1 << 20
_ALLOWED = "allowed: a regular file, or a pipe"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How text in this encoding begins."""


class _Kept:
    """Contents of pipes, by device and inode; None where they are not kept."""

    contents: ClassVar[dict[tuple[int, int], bytes] | None] = None


def keep_pipes() -> None:
    """Keeps the content of each pipe from now on, so that it can be read more than once.

    For a process that runs one command, which reads its files several times. Contents that were
    kept before are dropped.
    """
    _Kept.contents = {}


def read_bytes(path: Path, *, limit: int = DOCUMENT_BYTES.most) -> bytes:
    """The content of a file or a pipe.

    Args:
        path: The file.
        limit: Most bytes it may have.

    Raises:
        BadInput: It cannot be read, is neither a regular file nor a pipe, is larger than `limit`,
            or is a pipe without a writer.
    """
    with _clear_errors(path):
        found = _refuse_others(path, path.stat())
        name = (found.st_dev, found.st_ino)
        is_pipe = stat.S_ISFIFO(found.st_mode)
        if is_pipe and _Kept.contents is not None and name in _Kept.contents:
            return _Kept.contents[name]
        with _opened(path) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise BadInput(f"{path}: has more than {_in_words(limit)}, the most that is read")
        if is_pipe and not content:
            raise BadInput(f"{path}: is a pipe without a writer")
        if is_pipe and _Kept.contents is not None:
            _Kept.contents[name] = content
        return content


def read_text(path: Path, *, limit: int = DOCUMENT_BYTES.most) -> str:
    """All of a file as text, without a byte order mark. Raises as `read_bytes`.

    Raises:
        BadInput: It is not UTF-8.
    """
    content = read_bytes(path, limit=limit)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if content.startswith(UTF_16):
            raise BadInput(f"{path}: is UTF-16 text; allowed: UTF-8") from None
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}:{line}: is not UTF-8 text (byte {error.start})") from None


def head_of(path: Path, count: int) -> bytes:
    """The first bytes, at most `count`, of a file that is then read by a library.

    Raises:
        BadInput: It cannot be read, or is no regular file: a pipe can be read only once.
    """
    with _clear_errors(path):
        if stat.S_ISFIFO(_refuse_others(path, path.stat()).st_mode):
            text = "is a pipe, and is read more than once here; save what comes through it first"
            raise BadInput(f"{path}: {text}")
        with _opened(path) as file:
            return file.read(count)


def is_pipe(path: Path) -> bool:
    """True where a path leads to a pipe; false where nothing is there."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Turns errors of the system about a file into one line of BadInput."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if str(path) == "-":
            reason += "; what comes through a pipe is /dev/stdin"
        raise BadInput(f"{path}: cannot be read: {reason}") from None
    except ValueError as error:  # a name with a NUL byte in it, which no file can have
        raise BadInput(f"{path}: cannot be read: {error}") from None


def _refuse_others(path: Path, found: os.stat_result) -> os.stat_result:
    """Status of the file at `path`, if it may be read at all. Raises BadInput."""
    mode = found.st_mode
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
        return found
    if stat.S_ISDIR(mode):
        raise BadInput(f"{path}: cannot be read: Is a directory")
    if stat.S_ISSOCK(mode):
        raise BadInput(f"{path}: is a socket; {_ALLOWED}")
    raise BadInput(f"{path}: is a device; {_ALLOWED}")


def _opened(path: Path) -> BinaryIO:
    """The file, open for reading; a pipe is opened without waiting for a writer."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    os.set_blocking(number, True)
    return os.fdopen(number, "rb")


def _in_words(size: int) -> str:
    return f"{size // MEBIBYTE} MiB" if size % MEBIBYTE == 0 else f"{size:,} bytes"


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
