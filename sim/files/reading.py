"""Files of users, opened safely and read strictly: JSON in a file named `.json`, else YAML.

Every read is bounded: devices, sockets and folders are refused before they are opened,
a pipe has to have a writer and is read once, and every file has a largest size.
A field may be given once. In JSON the lines of values are looked up when a message needs one.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from sim.errors import BadInput
from sim.files.document import Document, Location
from sim.files.limits import DOCUMENT_BYTES

MEBIBYTE = 1 << 20
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""How text in this encoding begins."""


def read_bytes(path: Path, *, limit: int = DOCUMENT_BYTES.most) -> bytes:
    """The content of a file or a pipe.

    Args:
        path: The file.
        limit: Most bytes it may have.

    Raises:
        BadInput: It cannot be read, is neither a regular file nor a pipe, is larger than `limit`,
            or is a pipe through which nothing comes, as without a writer.
    """
    with _clear_errors(path):
        found = _refuse_others(path, path.stat())
        with _opened(path) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise BadInput(f"{path}: has more than {_in_words(limit)}, the most that is read")
        if stat.S_ISFIFO(found.st_mode) and not content:
            raise BadInput(f"{path}: is a pipe without a writer")
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
    with opened(path) as file:
        return file.read(count)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A regular file, open for reading. Raises as `head_of`, also while it is read."""
    with _clear_errors(path):
        if stat.S_ISFIFO(_refuse_others(path, path.stat()).st_mode):
            text = "is a pipe, and is read more than once here; save what comes through it first"
            raise BadInput(f"{path}: {text}")
        with _opened(path) as file:
            yield file


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
    what = "socket" if stat.S_ISSOCK(mode) else "device"
    raise BadInput(f"{path}: is a {what}; allowed: a regular file, or a pipe")


def _opened(path: Path) -> BinaryIO:
    """The file, open for reading; a pipe is opened without waiting for a writer."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    os.set_blocking(number, True)
    return os.fdopen(number, "rb")


def _in_words(size: int) -> str:
    return f"{size // MEBIBYTE} MiB" if size % MEBIBYTE == 0 else f"{size:,} bytes"


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _GivenTwice(ValueError):
    """An object with a field that is given twice."""


def parse_json(text: str, name: str) -> Document:
    """The document in `text`; `name` is for messages.

    Raises:
        BadInput: It is not JSON, has a field twice, NaN, Infinity, or half a character (a lone
            surrogate); or it is nested too deeply.
    """

    def refuse(word: str) -> NoReturn:
        found = re.search(rf'(?<!["\w]){word}(?!["\w])', text)
        raise json.JSONDecodeError(f"{word} is no number", text, found.start() if found else 0)

    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=refuse)
        if _SURROGATE.search(text):
            json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise BadInput(f"{name}:{error.lineno}: is not JSON: {error.msg}") from None
    except UnicodeEncodeError:
        raise BadInput(f"{name}: has half a character (a lone surrogate)") from None
    except RecursionError:
        raise BadInput(f"{name}: is nested too deeply") from None
    except ValueError as error:
        if isinstance(error, _GivenTwice):
            from sim.files.yaml_text import check_given_once, places_in_json

            check_given_once(places_in_json(text), name)
        raise BadInput(f"{name}: is not JSON: {error}") from None

    @cache
    def places() -> Any:  # when the first message needs them
        from sim.files.yaml_text import places_in_json

        return places_in_json(text)

    def find_line(location: Location) -> int | None:
        from sim.files.yaml_text import line_of

        return line_of(places(), location)

    return Document(name, data, find_line)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _GivenTwice("a field is given twice")
    return found


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
