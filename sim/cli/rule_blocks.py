"""How `replog list rules` shows rules: a block for each, with its values below it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

SIDE_BY_SIDE = 140
"""From this width on a value's source stands beside its meaning, not below it."""
LEAST = 30
"""No column of text is narrower."""
GAP = 2


def rule_lines(rows: Sequence[Mapping[str, Any]], width: int) -> Iterator[str]:
    """The lines for rows as `sim.cli.listing.rules` gives them; paths are never folded.

    A path that does not fit beside the column of names begins below it.
    """
    names = [str(value["value"]) for row in rows for value in row["values"]]
    indent = GAP + max(map(len, names)) + GAP
    for number, row in enumerate(rows):
        if number:
            yield ""
        yield from _folded(f"{row['rule']}: {_about(row)}", width, indent=4)
        if row["source"]:
            yield from _folded(f"{'  source':<{indent}}{row['source']}", width, indent=indent)
        for value in row["values"]:
            yield from _value_lines(value, indent, max(width, indent + LEAST))


def _about(row: Mapping[str, Any]) -> str:
    least = f" from {row['minimum']}" if "minimum" in row else ""
    kind = "" if row["values"] else f"a {row['kind']}{least}, "
    return f"{row['decides']} ({kind}default {row['default']})"


def _value_lines(value: Mapping[str, Any], indent: int, width: int) -> Iterator[str]:
    name = f"{'':{GAP}}{value['value']}".ljust(indent)
    source = value["source"] + (f" (plugin {value['plugin']})" if value["plugin"] else "")
    means = value["means"] or "(its module does not say what it means)"
    room = width - indent
    if width >= SIDE_BY_SIDE:
        left = (room - GAP) * 3 // 5
        texts = [textwrap.wrap(means, left), textwrap.wrap(source, room - GAP - left)]
        for index in range(max(map(len, texts))):
            one, other = (text[index] if index < len(text) else "" for text in texts)
            yield f"{name}{one:<{left}}{'':{GAP}}{other}".rstrip()
            name = " " * indent
    else:
        for line in (*textwrap.wrap(means, room), *textwrap.wrap(source, room)):
            yield f"{name}{line}"
            name = " " * indent
    if value["example"]:
        path = value["example"]
        yield " " * max(GAP, min(indent, width - len(path))) + path


def _folded(text: str, width: int, *, indent: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, indent + LEAST),
        subsequent_indent=" " * indent,
        break_long_words=False,
    )
