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

    What `one_line` escapes is escaped as JSON does, `\u001b`: halves of characters too, so that it
    can be written as UTF-8 whatever is in it; every reader gets the same value back.
    """
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, default=default
    )
    if text.isascii() and "\x7f" not in text:
        return text
    return "\n".join([line if is_plain(line) else _escaped(line) for line in text.split("\n")])


def readable(text: str) -> str:
    r"""A text, perhaps a file's name, that every reader of JSON takes: bytes as `\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode()


def fit_for(text: str, encoding: str) -> str:
    """A text of JSON as it is for UTF-8, else in ASCII: readers of JSON expect no other letters."""
    if text.isascii() or encoding.lower().startswith("utf"):
        return text
    return "".join([one if one.isascii() else json.dumps(one)[1:-1] for one in text])


def _escaped(line: str) -> str:
    return "".join([one if one_line(one) == one else json.dumps(one)[1:-1] for one in line])
