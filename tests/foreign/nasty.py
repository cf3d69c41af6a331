"""Texts that do more than be seen wherever they are shown as they are."""

from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Final

NASTY: Final = {
    "a sequence that clears the screen": "\x1b[2J\x1b[1;1H",
    "a title of the terminal": "\x1b]0;owned\x07",
    "bell, backspace, delete": "a\x07\x08\x7f",
    "a carriage return over the line": "failed\rpassed",
    "a line of its own": "first\nreplog: second",
    "every other end of a line": "a\x0bb\x0cc\x1cd\x1ee\x85f\u2028g\u2029h",
    "a sequence of one character": "\x9b31m",
    "NUL": "a\x00b",
    "the other direction": "\u202egpj.exe\u202c",
    "an isolate": "\u2066hidden\u2069",
    "no width": "a\u200bb\ufeffc\u2060d\u00ade",
    "fillers": "\u3164\uffa0\u115f",
    "tags": "\U000e0041\U000e007f",
    "hidden selectors": "a\U000e0100\ufe00",
    "private and unassigned": "\ue000\U0010ffff\ufdd0",
    "half a character": "\ud800",
    "a byte that is no UTF-8": "name\udcff",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;&#x41;",
    "an attribute that ends": "\"' onmouseover='alert(1)",
    "the end of CDATA": "]]>",
    "the end of a comment": "--><!--",
    "a table": "a|b\\|c",
    "code": "`a``b```c",
    "a fence": "```\n# heading",
    "links": "[x](javascript:alert(1)) ![y](http://z) <http://a> http://b www.c.org [r][s] [t]",
    "mentions, issues, emoji": "@octocat #12 :smile: owner/name#3",
    "mathematics": "$\\frac{1}{0}$ $$x$$ $",
    "half of mathematics": "$\\frac{",
    "a heading": "# heading",
    "a list": "- item",
    "a numbered list": "1. item",
    "stress": "*a* _b_ **c** __d__ ~~e~~ ~f~",
    "a command to GitHub": "::error::owned",
    "a second command to GitHub": "x\n::set-env name=PATH::/tmp",
    "a command to others": "##[error]x ##vso[task.setvariable]y ##teamcity[z]",
    "an escape of GitHub": "100%0A::error::x",
    "styles of rich": "[bold red]x[/] [link=http://a]b[/link] :warning:",
    "a command of the shell": "$(touch /tmp/owned) `id` ; rm -rf / & | > <",
    "an option": "--help",
    "a path": "../../etc/passwd",
    "a format": "%s %d {0} {name} {{x}} {% raw %}",
    "a date of YAML": "2026-01-01",
    "signs of YAML": ": # - [a, {b}] & * ! | > ' \" % @ `",
}
"""What each does, and the text."""
PLAIN: Final = {
    "umlauts": "Grüße aus Köln",
    "Chinese, Japanese": "日志 ログ\u3000圧縮",
    "Arabic, Hebrew": "سجل יומן",
    "combined": "e\u0301 क्षि",
    "emoji": "🚀 ❤\ufe0f 👩\u200d💻 👍🏽 🇺🇳",
    "signs": "– × … → ≠ ½ €",
    "spaces": "a\xa0b\u2009c",
}
"""What is to stay as it is."""


def of_each(texts: Mapping[str, str]) -> Callable[[Callable[..., None]], object]:
    """Makes one test of a check of a text; if it takes one, it gets an empty folder for each."""

    def test_of(check: Callable[..., None]) -> object:
        def test(tmp_path: Path) -> None:
            for number, (name, text) in enumerate(texts.items()):
                folder = tmp_path / str(number)
                folder.mkdir()
                try:
                    check(*(text, folder)[: len(signature(check).parameters)])
                except Exception as error:
                    error.add_note(f"of {name}: {text!a}")
                    raise

        test.__doc__ = check.__doc__
        return test

    return test_of
