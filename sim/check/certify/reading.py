"""Reads a trace, `replog-trace/1`; one that is cut, edited or contradicts itself is refused."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from io import BytesIO
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

Row = dict[str, Any]

LINES_LIMIT = 1_000_000
"""Largest number of lines: all are in memory at once, each takes about a kilobyte."""

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
    """A trace that cannot be judged; the text has the place and the reason."""


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


__all__ = ["Rank", "Refused", "Row", "Trace", "Undecidable", "parse"]

Rank = tuple[int, ...]


class Undecidable(Exception):
    """A trace of a run under a rule that this oracle does not know."""


class Trace(NamedTuple):
    """The header of a run, its events, and its own verdict."""

    header: Row
    events: list[Row]
    verdict: Row


def parse(text: bytes) -> Trace:
    """Parses a trace; raises Refused if it is cut, edited or contradicts itself."""
    header, *events, verdict = lines_of(text)
    if verdict["events"] != len(events):
        raise Refused(f"the verdict counts {verdict['events']} events, the trace has {len(events)}")
    if any(later["at"] < one["at"] for one, later in pairwise(events)):
        raise Refused("the events are not in order of time")
    if digest(events) != verdict["digest"]:
        raise Refused(f"the events have the digest {digest(events)}, not {verdict['digest']}")
    return Trace(header, events, verdict)


def digest(events: list[Row]) -> str:
    """BLAKE2b over MessagePack of (at, name, values of the fields), 2048 events at once."""
    total = hashlib.blake2b(digest_size=16)
    rows = [[row["at"], row["event"], _values(row)[2:]] for row in events]
    for start in range(0, len(rows) + 1, 2048):
        total.update(msgspec.msgpack.encode(rows[start : start + 2048]))
    return total.hexdigest()


def _values(part: Any) -> Any:
    if type(part) is not dict:
        return [_values(one) for one in part] if type(part) is list else part
    if "headers" in part:  # a record; `tombstone` is what the writer of the trace adds
        part = {name: one for name, one in part.items() if name != "tombstone"}
        part["headers"] = [(name, base64.b64decode(one)) for name, one in part["headers"]]
    return [_values(one) for one in part.values()]


def ranking(strategy: Row) -> Callable[[Row], Rank]:
    """The rank of a record: the highest of a key wins, the later among equals (KIP-280)."""
    if strategy["name"] == "offset":
        return lambda record: (record["offset"],)
    if strategy["name"] == "timestamp":
        return lambda record: (record["timestamp_ms"], record["offset"])
    if strategy["name"] == "header":  # a record without a version loses to any that has one
        return lambda record: (*_version(record["headers"], **strategy), record["offset"])
    raise Undecidable(f"strategy {strategy['name']}")


def _version(headers: list[list[str]], name: str, header: str, header_form: str) -> Rank:
    """KIP-280: the last header of that name, 8 bytes, signed, even if a cleaner compares bytes.

    For its patch a varint as well; which header the patch reads is no promise.
    """
    found = [content for name, content in headers if name == header][-1:]
    content = base64.b64decode("".join(found))
    if len(content) == 8:
        return 1, int.from_bytes(content, "big", signed=True)
    if not content or header_form.startswith("last_") or content[-1] >= 0x80:
        return 0, 0
    number = sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(content))
    return 1, (number >> 1) ^ -(number & 1)


def is_tombstone(record: Row, mark: str) -> bool:
    """True if a record is a delete by a mark (KIP-87)."""
    by_null = mark == "null_value" or (mark == "magic" and record["flagged"] is None)
    dead = record["value"] is None if by_null else bool(record["flagged"])
    true = [one for one in record["headers"] if one[0] == "5"][-1:] == [["5", "AQ=="]]
    return record["key"] is not None and (true if mark == "header" else dead)


def in_force(trace: Trace) -> tuple[list[Row], list[str]]:
    """Strategies and tombstone marks that were in force, the promised one first."""
    strategies, marks = [trace.header["strategy"]], [trace.header["tombstone_mark"]]
    changes = [
        one for one in trace.events if one["event"] == "ConfigChanged" and not one["initial"]
    ]
    rules = trace.header["rules"]
    for change in [{}, *(dict(row["settings"]) for row in changes if not row["initial"])]:
        rules = {**rules, **change}
        name, header, form = (rules[one] for one in ("strategy", "strategy_header", "header_form"))
        strategies.append({"name": name, "header": header, "header_form": form})
        marks.append(rules["tombstone_mark"])
    return [one for n, one in enumerate(strategies) if one not in strategies[:n]], marks
