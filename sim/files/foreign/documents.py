"""JSON that is exact, and that a terminal, a page or a file in any encoding can hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sim.files.foreign.lines import is_plain, one_line


def json_text(
    value: Any,
    *,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    default: Callable[[Any], Any] | None = None,
) -> str:
    r"""A value as JSON in which letters of any script stay as they are.

    Characters that `one_line` escapes are escaped as in JSON, `\u001b`, and so are halves of
    characters: the text can always be written as UTF-8, and every reader gets the same value back.
    """
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, default=default
    )
    if text.isascii() and "\x7f" not in text:
        return text
    return "\n".join([line if is_plain(line) else _escaped(line) for line in text.split("\n")])


def readable(text: str) -> str:
    r"""A text that every reader of JSON accepts: bytes of a file's name become `\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode()


def fit_for(text: str, encoding: str) -> str:
    """JSON as it is for an output in UTF-8, else in ASCII."""
    if text.isascii() or encoding.lower().startswith("utf"):
        return text
    return "".join([one if one.isascii() else json.dumps(one)[1:-1] for one in text])


def _escaped(line: str) -> str:
    return "".join([one if one_line(one) == one else json.dumps(one)[1:-1] for one in line])
