"""Text of anybody's as lines: what is not seen, or does more than be seen, is escaped."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 4_000
"""Characters of one line that people are to read; of more, the middle is left out."""

_SEEN: Final = frozenset(
    "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
    "\u200c\u200d"
)
"""Spaces that only take room, and what joins or parts letters and signs of an emoji:
Python calls them not printable."""
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_plain(text: str) -> bool:
    """Whether all of a text can be shown as it is, in one line."""
    return text.isprintable()


def one_line(text: str, *, longest: int | None = None) -> str:
    r"""A text as one line that moves no cursor and reverses no direction.

    Escaped are control characters, ends of lines, marks of direction, private and unassigned
    characters, and halves of characters (lone surrogates): `\n`, `\x1b`, `\u202e`, `\U000e0041`.
    Letters, spaces, signs and emoji of any script stay. It may be done twice.

    Args:
        text: Anything.
        longest: Of more characters than so many the middle is left out.
    """
    text = _cut(text, longest)
    if is_plain(text):
        return text
    return _cut("".join(map(_shown, text)), longest)


def plain_lines(text: str) -> str:
    r"""A text of several lines: `\n` and tabs stay, all else is as in `one_line`."""
    return str(shown(text))


def shown(value: object) -> object:
    """Value as a template shows it: of a text what is seen, anything else as it is."""
    if type(value) is not str or is_plain(value):
        return value
    return "\n".join(["\t".join(map(one_line, line.split("\t"))) for line in value.split("\n")])


def _shown(one: str) -> str:
    """One character as it is, or escaped."""
    return one if one.isprintable() or one in _SEEN else _SHORT.get(one) or escaped(one)


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
