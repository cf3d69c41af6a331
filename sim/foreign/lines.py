"""Text of anybody's as lines: what is not seen, or does more than be seen, is escaped."""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 4_000
"""Characters of one line that people are to read; of more, the middle is left out."""

_UNSEEN: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef"
)
"""What Unicode says to show as nothing (Default_Ignorable_Code_Point), though Python has it as
printable; but U+FE0F, which asks for the colours of an emoji."""
_ODD: Final = re.compile(f"[{_UNSEEN}]")
_EMOJI: Final = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_JOINED: Final = re.compile(f"(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])")
"""The joiner within one emoji of several, such as a family."""
_COMMAND: Final = re.compile(r"(?m)(^[^\S\n]*|#)((?<!#):(?=:)|(?<=#)#(?=\[|vso\[|teamcity\[))")
"""Commands of GitHub Actions, Azure Pipelines and TeamCity within what a step prints."""
_SPACES: Final = frozenset(
    "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
"""Spaces that only take room, and end no line."""
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_plain(text: str) -> bool:
    """Whether all of a text can be shown as it is, in one line."""
    return text.isprintable() and (text.isascii() or _ODD.search(text) is None)


def one_line(text: str, *, longest: int | None = None) -> str:
    r"""A text as one line that moves no cursor and reverses no direction.

    Escaped are control characters, ends of lines, marks of direction, what has no width, private
    and unassigned characters, and halves of characters (lone surrogates): `\n`, `\x1b`, `\u202e`,
    `\U000e0041`. Letters, spaces, signs and emoji of any script stay. It may be done twice.

    Args:
        text: Anything.
        longest: Of more characters than so many the middle is left out.
    """
    text = _cut(text, longest)
    if is_plain(text):
        return text
    joints = {found.start() for found in _JOINED.finditer(text)}
    shown = [one if at in joints else _shown(one) for at, one in enumerate(text)]
    return _cut("".join(shown), longest)


def plain_lines(text: str) -> str:
    r"""A text of several lines: `\n` and tabs stay, all else is as in `one_line`."""
    return str(shown(text))


def without_commands(text: str) -> str:
    """A text in which a machine of continuous integration that reads along finds no command to it.

    What begins one, such as `::error::` at the beginning of a line, is escaped so that JSON stays
    the same JSON.
    """
    return _COMMAND.sub(lambda found: f"{found[1]}\\u{ord(found[2]):04x}", text)


def shown(value: object) -> object:
    """What a template puts into a page: of a text what is seen, and anything else as it is."""
    if type(value) is not str or is_plain(value):
        return value
    return "\n".join(["\t".join(map(one_line, line.split("\t"))) for line in value.split("\n")])


def _shown(one: str) -> str:
    """One character as it is, or escaped."""
    seen = one in _SPACES or (one.isprintable() and not _ODD.match(one))
    return one if seen else _SHORT.get(one) or escaped(one)


def escaped(one: str) -> str:
    r"""One character as Python writes it: `\x1b`, `\u202e`, `\U000e0041`."""
    code = ord(one)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _cut(text: str, longest: int | None) -> str:
    """At most so many characters: of more, the middle is left out."""
    if longest is None or len(text) <= longest:
        return text
    behind = longest // 3
    return f"{text[: longest - behind - 1]}…{text[len(text) - behind :]}"
