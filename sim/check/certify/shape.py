"""Whether the lines of a file have the shape of a trace, before anybody looks at what they say."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import msgspec

Row = dict[str, Any]

LINES_LIMIT = 1_000_000
"""They are all in memory at once, each in about a kilobyte."""

OF_A_HEADER = {
    "rules": dict,
    "strategy": dict,
    "tombstone_mark": str,
    "commit": str,
    "within_contract": bool,
}
OF_AN_EVENT = {"at": int, "event": str, "replica": str}
OF_A_VERDICT = {"event": str, "events": int, "digest": str, "violations": list}
_CALLED = {
    dict: "fields",
    str: "text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
}


class Refused(Exception):
    """No trace that can be judged; the text says where and why."""


def lines_of(text: bytes) -> list[Row]:
    """The header, the events and the verdict; raises Refused, which names the line."""
    rows: list[Row] = []
    for number, line in enumerate(BytesIO(text), start=1):
        if number > LINES_LIMIT:
            raise Refused(f"line {number}: more than {LINES_LIMIT:,} lines")
        try:
            rows.append(msgspec.json.decode(line, type=Row))
        except RecursionError:
            raise Refused(f"line {number}: nested too deeply") from None
        except ValueError as error:
            raise Refused(f"line {number}: not one JSON object: {error}") from None
    if not rows:
        raise Refused("line 1: missing; a trace begins with a header")
    given = rows[0].get("format")
    if given != "replog-trace/1":
        raise Refused(f"line 1: format: {given!r}; expected replog-trace/1")
    if len(rows) < 2 or rows[-1].get("event") != "Verdict":
        raise Refused("the last line is no verdict: the trace is cut")
    _check(1, rows[0], OF_A_HEADER)
    for number, row in enumerate(rows[1:-1], start=2):
        _check(number, row, OF_AN_EVENT)
    _check(len(rows), rows[-1], OF_A_VERDICT)
    return rows


def _check(number: int, row: Row, fields: Mapping[str, type]) -> None:
    for name, kind in fields.items():
        if name not in row:
            raise Refused(f"line {number}: {name}: missing")
        if type(row[name]) is not kind:
            found = msgspec.json.encode(row[name]).decode()[:60]
            raise Refused(f"line {number}: {name}: expected {_CALLED[kind]}, not {found}")
