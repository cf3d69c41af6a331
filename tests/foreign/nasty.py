"""Texts that do more than be seen where they are shown as they are; texts of every script."""

from typing import Final

NASTY: Final = {
    "a sequence that clears the screen": "\x1b[2J\x1b[1;1H",
    "a carriage return over the line": "failed\rpassed",
    "a line of its own": "first\nreplog: second",
    "every other end of a line": "a\x0bb\x0cc\x1cd\x1ee\x85f\u2028g\u2029h",
    "NUL, delete": "a\x00b\x7f",
    "the other direction": "\u202egpj.exe\u202c",
    "private and unassigned": "\ue000\U0010ffff\ufdd0",
    "half a character": "\ud800",
    "a byte that is no UTF-8": "name\udcff",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;&#x41;",
    "an attribute that ends": "\"' onmouseover='alert(1)",
    "the end of CDATA": "]]>--><!--",
    "a table": "a|b\\|c",
    "code": "`a``b```c",
    "a fence": "```\n# heading",
    "links": "[x](javascript:alert(1)) ![y](http://z) <http://a> [r][s] [t]",
    "mathematics": "$\\frac{1}{0}$ $$x$$ $\\frac{",
    "a heading": "# heading",
    "a list": "- item",
    "a numbered list": "1. item",
    "stress": "*a* _b_ **c** __d__ ~~e~~ ~f~",
    "a command to GitHub": "x%0A::error::owned",
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
