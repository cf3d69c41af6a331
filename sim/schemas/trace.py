"""JSON Schema of a line of a trace; `python -m sim.schemas` writes it, beside those of files.

It is made of the classes of the events, so it says what is written and nothing else; what it means
is told in `sim/trace/FORMAT.md`. Names that it does not know are allowed, as for every reader.
"""

from __future__ import annotations

import re
from enum import StrEnum
from inspect import getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sim.files.formats import TRACE_FORMAT
from sim.log import Record
from sim.rules import DEFAULTS, RULES
from sim.schemas.parts import BOOLEAN, DRAFT, INTEGER, TEXT, Schema, described, nullable
from sim.trace import Event

SCHEMA_FILE = Path("sim/trace/schema.json")
"""Relative to the root of the repository."""

_PLAIN: dict[Any, str] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    float: "number",
    NoneType: "null",
}


def trace_schema() -> Schema:
    """The schema: the header if there is a `format`, otherwise an event, the verdict among them."""
    parts: dict[str, Schema] = {"Header": _header()}
    kinds = [kind.__name__ for kind in get_args(Event)]
    for kind in get_args(Event):
        _add(kind, parts, is_event=True)
    parts["Verdict"] = _verdict()
    parts["AnyEvent"] = {
        "type": "object",
        "properties": {"at": INTEGER, "event": TEXT},
        "required": ["at", "event"],
        "allOf": [
            {
                "if": {"properties": {"event": {"const": name}}},
                "then": {"$ref": f"#/$defs/{name}"},
            }
            for name in [*kinds, "Verdict"]
        ],
    }
    return {
        "$schema": DRAFT,
        "title": f"A line of a Replog trace, {TRACE_FORMAT}",
        "type": "object",
        "if": {"required": ["format"]},
        "then": {"$ref": "#/$defs/Header"},
        "else": {"$ref": "#/$defs/AnyEvent"},
        "$defs": parts,
    }


def _add(kind: type, parts: dict[str, Schema], *, is_event: bool = False) -> None:
    """Add the schema of a named tuple, and those of what it holds."""
    if kind.__name__ in parts:
        return
    parts[kind.__name__] = {}
    text, attributes = _told(kind)
    fields: Schema = {}
    if is_event:
        fields = {"at": described(INTEGER, WHEN), "event": {"const": kind.__name__}}
    for name, hint in get_type_hints(kind).items():
        shape = _schema(hint, parts)
        fields[name] = described(shape, attributes[name]) if name in attributes else shape
    if kind is Record:
        fields["tombstone"] = described(
            BOOLEAN, "Whether it is a tombstone under the mark of the run."
        )
    parts[kind.__name__] = _object(fields, text)


WHEN = "When: ms of simulated time, or the number of the step of a story."


def _schema(hint: Any, parts: dict[str, Schema]) -> Schema:
    """What a value of a type looks like."""
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint is bytes:
        return {"type": "string", "contentEncoding": "base64"}
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (UnionType, Union):
        return _either([_schema(one, parts) for one in arguments])
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": _schema(arguments[0], parts)}
        items = [_schema(one, parts) for one in arguments]
        number = len(items)
        return {"type": "array", "prefixItems": items, "minItems": number, "maxItems": number}
    if issubclass(hint, StrEnum):
        return {"enum": [value.value for value in hint]}
    _add(hint, parts)
    return {"$ref": f"#/$defs/{hint.__name__}"}


def _either(options: list[Schema]) -> Schema:
    if all(list(one) == ["type"] for one in options):
        return {"type": [one["type"] for one in options]}
    if all(list(one) in (["type"], ["enum"]) for one in options):
        return {"enum": [value for one in options for value in one.get("enum", [None])]}
    return {"anyOf": options}


def _told(kind: type) -> tuple[str, dict[str, str]]:
    """What the docstring says of a class, and of each of its attributes."""
    told = re.sub(r"\bNone\b", "null", getdoc(kind) or "")
    text, _, listed = told.partition("\n\nAttributes:\n")
    attributes: dict[str, str] = {}
    name = ""
    for line in listed.splitlines():
        begins = re.match(r"    (\w+): (.*)", line)
        if begins:
            name = begins[1]
            attributes[name] = begins[2]
        elif name and line.strip():
            attributes[name] += " " + line.strip()
    return " ".join(text.split()), attributes


def _object(fields: Schema, text: str) -> Schema:
    return {
        "type": "object",
        "description": text,
        "properties": fields,
        "required": list(fields),
    }


def _header() -> Schema:
    rules = {name: {"type": _PLAIN[type(DEFAULTS[name])]} for name in RULES}
    setting = {"type": ["string", "number", "boolean", "null"]}
    return _object(
        {
            "format": {"const": TRACE_FORMAT},
            "version": described(TEXT, "Of Replog."),
            "id": described(TEXT, "Of the scenario or story."),
            "seed": described(nullable(INTEGER), "null for a story."),
            "kind": {"enum": ["scenario", "story"]},
            "preset": described(nullable(TEXT), "What the rules were named by."),
            "rules": _object(rules, "Every rule that the replicas start with, by its name."),
            "topic": {
                "type": "object",
                "description": "Settings by Kafka's names; null = no bound.",
                "additionalProperties": setting,
            },
            "strategy": _object(
                {"name": TEXT, "header": TEXT, "header_form": TEXT},
                "Which record of a key wins: what the run is judged by.",
            ),
            "tombstone_mark": TEXT,
            "commit": {"enum": ["isr", "majority"]},
            "within_contract": described(
                BOOLEAN,
                "Whether judging ends where the run leaves the durability contract.",
            ),
            "environment": {
                "type": "object",
                "description": "What a timed run was drawn from; empty for a story.",
            },
        },
        "The first line: which run it is, and under which rules.",
    )


def _verdict() -> Schema:
    violation = _object(
        {
            "invariant": TEXT,
            "at": INTEGER,
            "replica": nullable(TEXT),
            "offset": nullable(INTEGER),
            "key": nullable(TEXT),
            "sentence": TEXT,
        },
        "One broken invariant.",
    )
    return _object(
        {
            "at": described(INTEGER, "When the last event happened."),
            "event": {"const": "Verdict"},
            "verdict": {"enum": ["holds", "violated", "inconclusive"]},
            "reason": described(nullable(TEXT), "Why it is inconclusive."),
            "violations": {"type": "array", "items": violation},
            "digest": described(
                {"type": "string", "pattern": "^[0-9a-f]{32}$"}, "Equal for equal runs."
            ),
            "events": described(INTEGER, "So many lines lie between the header and this one."),
        },
        "The last line: what the run itself found.",
    )
