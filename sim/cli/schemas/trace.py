"""JSON Schema of a line of a trace; `python -m sim.cli.schemas` writes it, beside those of files.

It is made of the classes of the events, so it says what is written and nothing else; what it means
is told in `sim/protocol/events/FORMAT.md`. Names that it does not know are allowed, as for every
reader.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

from sim.check.violation import Violation
from sim.cli.schemas.parts import BOOLEAN, DRAFT, INTEGER, PLAIN, TEXT, Schema, described, shape_of
from sim.files.attribute_docs import docs_of
from sim.files.formats import TRACE_FORMAT
from sim.protocol.events import Event
from sim.protocol.log import Record
from sim.protocol.rules import DEFAULTS, RULES
from sim.simulate.run.trace_file import TraceHeader, TraceVerdict

SCHEMA_FILE = Path("sim/protocol/events/schema.json")
"""Relative to the root of the repository."""


def trace_schema() -> Schema:
    """The schema: the header if there is a `format`, otherwise an event, the verdict among them."""
    parts: dict[str, Schema] = {"Header": {}}
    parts["Header"] = _header(parts)
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
    fields: Schema = {}
    if is_event:
        fields = {"at": described(INTEGER, WHEN), "event": {"const": kind.__name__}}
    fields |= _fields(kind, parts)
    if kind is Record:
        fields["tombstone"] = described(
            BOOLEAN, "Whether it is a tombstone under the mark of the run."
        )
    parts[kind.__name__] = _object(fields, _told(kind)[0])


def _fields(kind: type, parts: dict[str, Schema]) -> Schema:
    """The fields of a named tuple, with what its docstring says of them."""

    def of_class(other: type) -> Schema:
        _add(other, parts)
        return {"$ref": f"#/$defs/{other.__name__}"}

    told = _told(kind)[1]
    shapes = {name: shape_of(hint, of_class) for name, hint in get_type_hints(kind).items()}
    return {
        name: described(shape, told[name]) if name in told else shape
        for name, shape in shapes.items()
    }


WHEN = "When: ms of simulated time, or the number of the step of a story."


def _told(kind: type) -> tuple[str, dict[str, str]]:
    """What the docstring says of a class, and of each of its attributes."""
    text, told = docs_of(kind)
    return _in_json(" ".join(text.split())), {name: _in_json(one) for name, one in told.items()}


def _in_json(text: str) -> str:
    return re.sub(r"\bNone\b", "null", text)


def _object(fields: Schema, text: str) -> Schema:
    return {
        "type": "object",
        "description": text,
        "properties": fields,
        "required": list(fields),
    }


def _header(parts: dict[str, Schema]) -> Schema:
    fields, told = _fields(TraceHeader, parts), _told(TraceHeader)
    rules = {name: {"type": PLAIN[type(DEFAULTS[name])]} for name in RULES}
    own = {"format": {"const": TRACE_FORMAT}, "rules": _object(rules, told[1]["rules"])}
    return _object(fields | own, told[0])


def _verdict() -> Schema:
    broken = get_type_hints(Violation)
    seen = {
        name: shape_of(broken[name]) for name in ("invariant", "at", "replica", "offset", "key")
    }
    violation = _object(seen | {"sentence": TEXT}, "One broken invariant.")
    return _object(
        {
            "at": described(INTEGER, "When the last event happened."),
            "event": {"const": "Verdict"},
            **_fields(TraceVerdict, {}),
            "verdict": {"enum": ["holds", "violated", "inconclusive"]},
            "violations": {"type": "array", "items": violation},
            "digest": described(
                {"type": "string", "pattern": "^[0-9a-f]{32}$"}, "Equal for equal runs."
            ),
            "events": described(INTEGER, "So many lines lie between the header and this one."),
        },
        "The last line: what the run itself found.",
    )
