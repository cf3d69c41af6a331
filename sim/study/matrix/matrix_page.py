"""A matrix as tables: for a terminal, as Markdown, as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, product
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from urllib.parse import quote

from sim.files.foreign import markdown
from sim.protocol.rules.rules import shown
from sim.study.matrix.matrix import AS_WRITTEN, PRICES, Line, Matrix, MatrixCell

Row = dict[str, str]
MATRIX_FORMAT = "replog-matrix/1"
HOLDS = "holds"

_ABOUT = (
    "Every scenario was run under each value of `{rule}`; nothing is drawn at random. "
    "A scenario that says what is checked is judged by that alone; scenarios that differ in "
    "`{rule}` alone count once."
)
_LETTERS = (
    "A letter is a way to run all {count} scenarios. It stands where a scenario violates the "
    "invariant that holds under another value; “{holds}” means that there is none."
)
_COSTS = (
    "Added up over the {count} scenarios, in the model's bytes, with the other rules as written; "
    "in brackets against the first value."
)
_SCENARIOS = (
    "{differing} of {count} end differently from value to value, with the other rules as written. "
    "Named is the invariant that is violated first, and how many follow."
)


def as_document(matrix: Matrix) -> dict[str, Any]:
    """All of a matrix, for machines."""

    def by_value(row: Sequence[MatrixCell]) -> dict[str, Any]:
        return _by_value(matrix, [list(one.violated) for one in row])

    return {
        "format": MATRIX_FORMAT,
        "rule": matrix.varied.rule,
        "values": [shown(value) for value in matrix.varied.values],
        "conditions": list(matrix.conditions),
        "decided": list(matrix.decided),
        "prices": {counter: _by_value(matrix, _prices(matrix, counter)) for counter in PRICES},
        "scenarios": [
            {
                "path": line.path.as_posix(),
                "id": line.id,
                "twins": list(line.twins),
                "violated": dict(zip(matrix.conditions, map(by_value, line.outcomes), strict=True)),
            }
            for line in matrix.lines
        ],
    }


def _by_value(matrix: Matrix, cells: Iterable[Any]) -> dict[str, Any]:
    """Value of the varied rule -> what there is to say of it, in their order."""
    return dict(zip(map(shown, matrix.varied.values), cells, strict=True))


def _prices(matrix: Matrix, counter: str) -> list[int]:
    return [matrix.price(counter, at) for at in range(len(matrix.varied.values))]


def invariants_table(matrix: Matrix) -> list[Row]:
    """Per invariant that the rule decides: in how many scenarios each value violates it."""
    values = range(len(matrix.varied.values))
    return [
        {"invariant": name}
        | _by_value(matrix, [str(matrix.violating(name, 0, at) or HOLDS) for at in values])
        for name in matrix.decided
    ]


def conditions_table(matrix: Matrix) -> list[Row]:
    """Per invariant that the rule decides: the letters of the conditions in which it fails."""
    letters, values = _letters(matrix), range(len(matrix.varied.values))

    def blamed(name: str, at: int) -> str:
        failing = [matrix.blamed(name, place, at) for place in range(len(letters))]
        return " ".join(compress(letters, failing)) or HOLDS

    return [
        {"invariant": name} | _by_value(matrix, [blamed(name, at) for at in values])
        for name in matrix.decided
    ]


def conditions_list(matrix: Matrix) -> list[str]:
    """What each letter stands for."""
    return [f"{letter}: {name}" for letter, name in _letters(matrix).items()]


def _letters(matrix: Matrix) -> dict[str, str]:
    """Letter -> condition: A is the first one; AA follows Z."""
    many = [*ascii_uppercase, *map("".join, product(ascii_uppercase, repeat=2))]
    return dict(zip(many, matrix.conditions, strict=False))


def scenarios_table(matrix: Matrix, *, start: Path | None = None) -> list[Row]:
    """Each scenario in which the values differ: what each violates first, and how many more.

    With `start`, the names are Markdown links out of that folder.
    """
    return [
        {"scenario": _named(line, start)} | _by_value(matrix, map(_short, line.outcomes[0]))
        for line in matrix.lines
        if line.differs
    ]


def _named(line: Line, start: Path | None) -> str:
    if start is None:
        return line.id
    address = quote(Path(os.path.relpath(line.path, start)).as_posix(), errors="surrogateescape")
    return f"[{markdown.text(line.id)}]({address})"


def _short(outcome: MatrixCell) -> str:
    first, more = outcome.violated[:1], len(outcome.violated) - 1
    return f"{first[0]}{f' +{more}' if more else ''}" if first else HOLDS


def prices_table(matrix: Matrix) -> list[Row]:
    """Each price, added up over all scenarios, and against the first value."""

    def against(price: int, base: int) -> str:
        ratio = f" (×{price / base:.3f})" if base and price != base else ""
        return f"{price:,}{ratio}"

    rows = []
    for counter, title in PRICES.items():
        base, *_ = prices = _prices(matrix, counter)
        told = [against(price, base) for price in prices]
        rows.append({"price": title} | _by_value(matrix, told))
    return rows


def as_markdown(matrix: Matrix, *, command: str, folder: Path) -> str:
    """A page for people; links to scenarios are written as seen from `folder`."""
    rule, count = matrix.varied.rule, len(matrix.lines)
    table = scenarios_table(matrix, start=folder)
    untouched = [name for name in matrix.violated if name not in matrix.decided]
    parts = [
        f"# What {markdown.code(rule)} decides, in {count} scenarios",
        f"Made by\n\n{markdown.block([f'$ {command}'], language='console')}",
        _ABOUT.format(rule=rule),
        "## Which invariants hold under which other rules",
        _LETTERS.format(count=count, holds=HOLDS),
        "\n".join(
            f"* {letter}: {name if name == AS_WRITTEN else markdown.code(name)}"
            for letter, name in _letters(matrix).items()
        ),
        _markdown(conditions_table(matrix)),
        f"The value makes no difference to: {', '.join(untouched)}." if untouched else "",
        "## How many scenarios violate them, with the other rules as written",
        _markdown(invariants_table(matrix)),
        "## What it costs",
        _COSTS.format(count=count),
        _markdown(prices_table(matrix)),
        "## Scenario by scenario",
        _SCENARIOS.format(differing=len(table), count=count),
        _markdown(table),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown(rows: Sequence[Mapping[str, str]]) -> str:
    if not rows:
        return "None."
    lines = [
        list(map(markdown.text, rows[0])),
        ["---"] * len(rows[0]),
        *(list(row.values()) for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
