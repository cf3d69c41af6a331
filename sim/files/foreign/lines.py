"""Foreign text as lines: characters that are invisible, or control the output, are escaped."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 4_000
"""Characters of a line for people; of longer ones the middle is left out."""

_SEEN: Final = frozenset(
    "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
    "\u200c\u200d"
)
"""Spaces, and joiners of letters and emoji, which Python counts as not printable."""
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_plain(text: str) -> bool:
    """True where a text can be shown as it is, in one line."""
    return text.isprintable()


def one_line(text: str, *, longest: int | None = None) -> str:
    r"""A text as one line that moves no cursor and reverses no direction.

    Escaped are control characters, ends of lines, marks of direction, private and unassigned
    characters, and halves of characters (lone surrogates): `\n`, `\x1b`, `\u202e`, `\U000e0041`.
    Letters, spaces, signs and emoji of any script stay. It may be done twice.

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
    return one if one.isprintable() or one in _SEEN else _SHORT.get(one) or escaped(one)


def escaped(one: str) -> str:
    r"""A character as Python escapes it: `\x1b`, `\u202e`, `\U000e0041`."""
    code = ord(one)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _cut(text: str, longest: int | None) -> str:
    """A text without its middle, where it is longer than `longest`."""
    if longest is None or len(text) <= longest:
        return text
    behind = longest // 3
    return f"{text[: longest - behind - 1]}…{text[len(text) - behind :]}"
