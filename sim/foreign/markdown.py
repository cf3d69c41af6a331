r"""Text in a page of Markdown, as GitHub and others read it, tables included.

What a character could mean is taken from it in one way for every reader: a backslash where all of
them know it, an entity elsewhere, and between a sign of GitHub's own (a name that is mentioned,
mathematics, an emoji, an address, an issue) and what belongs to it an empty element.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from sim.foreign.lines import one_line, plain_lines

_LINKS = re.compile(r"@(?=\w)|\$|:(?=//)|(?<=www)\.|#(?=\d)|:(?=(?:[a-z][\w-]*|[+-]1|100|1234):)")
"""What GitHub makes something of without any other sign."""
_SIGNS = re.compile(r"[\\`*\[\]]|\{(?=[:#.%])|(?<![^\W_])_|_(?![^\W_])")
"""What a backslash makes a plain character of for every reader. `_` within a word is one."""
_FIRST = re.compile(r"^(\d*)([.)](?=\s|$)|#|[+-](?=[\s+-]|$)|!(?=!!)|=(?==*$))")
"""What makes a heading, a list or a box of a line that begins so."""
_ENTITIES = {"|": "&#124;", "~": "&#126;"}


def text(given: str) -> str:
    """A text in one line, anywhere in a page: it looks as it is, and means nothing."""
    line = one_line(given).strip()
    found = []
    at = 0
    for sign in _LINKS.finditer(line):
        found += [_plain(line[at : sign.start()]), f"<span>&#{ord(sign[0])};</span>"]
        at = sign.end()
    found.append(_plain(line[at:]))
    return _FIRST.sub(lambda first: f"{first[1]}&#{ord(first[2])};", "".join(found))


def _plain(part: str) -> str:
    part = _SIGNS.sub(r"\\\g<0>", escape(part, quote=False))
    for one, entity in _ENTITIES.items():
        part = part.replace(one, entity)
    return part


def code(given: str) -> str:
    """A text as code within a line, in a table too."""
    line = one_line(given)
    if line and "`" not in line and "|" not in line:
        return f"`{line}`"
    entities = [one if one.isalnum() or one == " " else f"&#{ord(one)};" for one in line]
    return f"<code>{''.join(entities)}</code>"


def block(lines: Iterable[str], *, language: str = "") -> str:
    """Lines as a block of code that nothing in them ends."""
    inside = [plain_lines(line) for line in lines]
    longest = max((len(run) for line in inside for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *inside, fence])
