"""Escaping of foreign text, so that it is shown as text and does nothing else.

Keys, values, ids, titles, names of files, words of a command line and messages of plugins may
contain anything: control sequences that move a cursor, marks that reverse the direction of text,
the end of a table, a script. This module makes lines of a terminal or a file, JSON, text in HTML,
names of files, and commands to paste into a shell; `sim.files.markdown` makes Markdown. Output for
machines stays exact: JSON and YAML escape such characters in their own way and read back the same.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable
from html import escape
from pathlib import PurePath
from typing import Any, Final

LONGEST: Final = 4_000
"""Characters of a line for people; of longer ones the middle is left out."""

_SEEN: Final = frozenset(
    "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
    "\u200c\u200d"
)
"""Spaces, and joiners of letters and emoji, which stay; Python counts them as not printable."""


def is_plain(text: str) -> bool:
    """True where a text can be shown as it is, in one line."""
    return text.isprintable()


def one_line(text: str, *, longest: int | None = None) -> str:
    r"""A text as one line that moves no cursor and reverses no direction.

    It escapes control characters, line ends, marks of direction, private and unassigned characters,
    and lone surrogates: `\n`, `\x1b`, `\u202e`, `\U000e0041`. Letters, spaces, signs and emoji of
    any script stay. A second application changes nothing.

    Args:
        text: Anything.
        longest: Number of characters beyond which the middle is left out.
    """
    text = _cut(text, longest)
    if is_plain(text):
        return text
    return _cut("".join(map(_shown, text)), longest)


def plain_lines(text: str) -> str:
    r"""A text of several lines: `\n` and tabs stay, all else is as in `one_line`."""
    return str(shown(text))


def shown(value: object) -> object:
    """A value for a template: a text with its lines escaped, anything else as it is."""
    if type(value) is not str or is_plain(value):
        return value
    return "\n".join(["\t".join(map(one_line, line.split("\t"))) for line in value.split("\n")])


def _shown(one: str) -> str:
    """A character as it is, or escaped."""
    return one if one.isprintable() or one in _SEEN else escaped(one)


def escaped(one: str) -> str:
    r"""A character as Python escapes it: `\n`, `\x1b`, `\u202e`, `\U000e0041`."""
    return one.encode("unicode_escape").decode()


def _cut(text: str, longest: int | None) -> str:
    """A text without its middle, where it is longer than `longest`."""
    if longest is None or len(text) <= longest:
        return text
    behind = longest // 3
    return f"{text[: longest - behind - 1]}…{text[len(text) - behind :]}"


def json_text(
    value: Any,
    *,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
) -> str:
    r"""A value as JSON in which letters of any script stay as they are.

    Characters that `one_line` escapes are escaped as in JSON, `\u001b`, and so are halves of
    characters: the text can always be written as UTF-8, and every reader gets the same value back.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
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


def html_text(given: object) -> str:
    """A text without any markup, or mathematics in a notebook; it may have several lines."""
    return escape(plain_lines(str(given))).replace("$", "<span>$</span>")


LONGEST_BYTES = 150
"""Longest name in bytes: file systems take 255, and suffixes and numbers are added to it."""


def file_name(text: str, *, instead: str) -> str:
    """A name of one file: letters, digits, dots, dashes and underscores; no dot or dash at an end.

    It is cut to `LONGEST_BYTES` bytes.

    Args:
        text: Anything; other characters become dashes.
        instead: The name when nothing is left.
    """
    plain = "".join([one if _may_be(one) else "-" for one in text])
    while len(os.fsencode(plain)) > LONGEST_BYTES:
        plain = plain[: max(len(plain) * LONGEST_BYTES // len(os.fsencode(plain)), 1)]
    return plain.strip(".-") or instead


def _may_be(one: str) -> bool:
    if one.isascii():
        return one.isalnum() or one in "._-"
    try:
        os.fsencode(one)
    except UnicodeEncodeError:
        return False  # a locale without this letter
    return one.isalnum() and is_plain(one)


def command_line(words: Iterable[object]) -> str:
    """Words as one line of a shell."""
    return " ".join(map(quoted, words))


def quoted(word: object) -> str:
    r"""A word for a shell, in one line.

    Invisible characters are written as bytes, `$'\x1b'`, which Bash, Zsh, Ksh and every shell of
    POSIX 2024 take. A path that begins with a dash is written `./-`, so that it is no option.
    """
    text = str(word)
    if isinstance(word, PurePath) and text.startswith("-"):
        text = f"./{text}"
    if is_plain(text):
        return shlex.quote(text)
    return f"$'{''.join(map(_character, text))}'"


def _character(one: str) -> str:
    if one in "\\'":
        return f"\\{one}"
    if is_plain(one):
        return one
    # A lone surrogate stands for a byte of a name that is no UTF-8 (PEP 383).
    errors = "surrogateescape" if "\udc80" <= one <= "\udcff" else "surrogatepass"
    # Three octal digits: a hexadecimal escape would take a digit behind it along.
    return "".join(f"\\{byte:03o}" for byte in one.encode("utf-8", errors))
