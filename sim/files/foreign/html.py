"""Text in a page of HTML: between elements, or as the value of an attribute in quotes."""

from __future__ import annotations

from html import escape

from sim.files.foreign.lines import plain_lines


def text(given: object) -> str:
    """A text without any markup, or mathematics in a notebook; it may have several lines."""
    return escape(plain_lines(str(given))).replace("$", "<span>$</span>")
