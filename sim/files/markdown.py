"""Text in a page of Markdown, as GitHub and others read it, tables included."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from sim.files.foreign import one_line, plain_lines

_SIGNS = re.compile(r"[\\`*|\[\]]|\{(?=[:#.%])|(?<![^\W_])_|_(?![^\W_])")
"""Signs that a backslash makes plain for every reader; `_` within a word is plain."""
_FIRST = re.compile(r"^(\d*)([.)](?=\s|$)|#|[+-](?=[\s+-]|$)|!(?=!!)|=(?==*$))")
"""Beginnings of lines that make a heading, a list or a box."""
_IN_HTML = re.compile(r"[^\w\s.,:()/=@-]|_")
"""Signs that may have a meaning within an element of HTML that Markdown reads."""


def text(given: str) -> str:
    """A text in one line, anywhere in a page, without any markup."""
    line = escape(one_line(given).strip(), quote=False)
    line = _SIGNS.sub(r"\\\g<0>", line).replace("~", "&#126;").replace("$", "&#36;")
    return _FIRST.sub(lambda first: f"{first[1]}&#{ord(first[2])};", line)


def code(given: str) -> str:
    """A text as code within a line, in a table too."""
    line = one_line(given)
    if line and "`" not in line and "|" not in line:
        return f"`{line}`"
    return f"<code>{in_html(line)}</code>"


def in_html(given: str) -> str:
    """A text in one line within an element of HTML, without any markup."""
    return _IN_HTML.sub(lambda sign: f"&#{ord(sign[0])};", one_line(given))


def block(lines: Iterable[str], *, language: str = "") -> str:
    """Lines as a block of code, with a fence longer than any in them."""
    inside = [plain_lines(line) for line in lines]
    longest = max((len(run) for line in inside for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *inside, fence])


def table(head: Iterable[str], rows: Iterable[Iterable[str]], *, numbers: int = 0) -> str:
    """A table of titles and cells that are Markdown already.

    Args:
        head: Titles of the columns.
        rows: Cells by row, as many in each as there are titles.
        numbers: Number of columns, the last ones, that are aligned to the right.
    """
    titles = [*head]
    texts = len(titles) - numbers
    rule = ["---"] * texts + ["--:"] * numbers
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, rule, *rows))
