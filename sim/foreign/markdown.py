r"""Text in a page of Markdown, as GitHub and others read it, tables included.

What a character could mean is taken from it in one way for every reader: a backslash where all of
them know it, an entity elsewhere, and between a sign of GitHub's own (a name that is mentioned,
mathematics, an emoji, an address, an issue) and what belongs to it an empty element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import escape

from sim.foreign.lines import one_line, plain_lines

_LINKS = re.compile(r"@(?=\w)|\$|:(?=//)|(?<=www)\.|#(?=\d)|:(?=(?:[a-z][\w-]*|[+-]1|100|1234):)")
"""What GitHub makes something of without any other sign."""
_SIGNS = re.compile(r"[\\`*|\[\]]|\{(?=[:#.%])|(?<![^\W_])_|_(?![^\W_])")
"""What a backslash makes a plain character of for every reader. `_` within a word is one."""
_FIRST = re.compile(r"^(\d*)([.)](?=\s|$)|#|[+-](?=[\s+-]|$)|!(?=!!)|=(?==*$))")
"""What makes a heading, a list or a box of a line that begins so."""
_IN_HTML = re.compile(r"[^\w\s.,:()/=-]|_|:(?=\S)")
"""What may mean something within an element of HTML that Markdown looks into."""


def text(given: str) -> str:
    """A text in one line, anywhere in a page: it looks as it is, and means nothing."""
    line = _without_links(one_line(given).strip(), _plain)
    return _FIRST.sub(lambda first: f"{first[1]}&#{ord(first[2])};", line)


def _plain(part: str) -> str:
    return _SIGNS.sub(r"\\\g<0>", escape(part, quote=False)).replace("~", "&#126;")


def _without_links(line: str, plain: Callable[[str], str]) -> str:
    """A line whose parts are made plain, with the signs of GitHub's own apart."""
    found, at = [], 0
    for sign in _LINKS.finditer(line):
        found += [plain(line[at : sign.start()]), f"<span>&#{ord(sign[0])};</span>"]
        at = sign.end()
    return "".join([*found, plain(line[at:])])


def code(given: str) -> str:
    """A text as code within a line, in a table too."""
    line = one_line(given)
    if line and "`" not in line and "|" not in line:
        return f"`{line}`"
    return f"<code>{in_html(line)}</code>"


def in_html(given: str) -> str:
    """A text in one line within an element of HTML, in a table or outside: it means nothing."""
    return _without_links(one_line(given), _as_entities)


def _as_entities(part: str) -> str:
    return _IN_HTML.sub(lambda sign: f"&#{ord(sign[0])};", part)


def block(lines: Iterable[str], *, language: str = "") -> str:
    """Lines as a block of code that nothing in them ends."""
    inside = [plain_lines(line) for line in lines]
    longest = max((len(run) for line in inside for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *inside, fence])
