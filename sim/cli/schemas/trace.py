"""JSON Schema of a line of a trace; `python -m sim.cli.schemas` writes it, beside those of files.

It is made of the classes of the events, so it says what is written and nothing else; what it means
is told in `sim/protocol/events/FORMAT.md`. Names that it does not know are allowed, as for every
reader.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from pydantic import BaseModel, Field, create_model
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from sim.check.violation import Violation
from sim.cli.schemas.parts import DRAFT, INTEGER, TEXT, Schema, by_value
from sim.files.attribute_docs import docs_of
from sim.files.formats import TRACE_FORMAT
from sim.protocol.events import Event
from sim.protocol.events.cleaning import Removal
from sim.protocol.log import Batch, Record
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.rules import DEFAULTS, RULES
from sim.simulate.run.trace_file import StrategyRow, TraceHeader, TraceVerdict
from sim.simulate.scenario.file.schema import without_titles

SCHEMA_FILE = Path("sim/protocol/events/schema.json")
"""Relative to the root of the repository."""
Models = dict[str, type[BaseModel]]


class _Written(GenerateJsonSchema):
    """Schemas in which bytes are base64, as JSON has them."""

    def bytes_schema(self, schema: Any) -> Schema:
        """The schema of bytes."""
        return {"type": "string", "contentEncoding": "base64"}


def trace_schema() -> Schema:
    """The schema: the header if there is a `format`, otherwise an event, the verdict among them."""
    models = _models()
    events = [*(kind.__name__ for kind in get_args(Event)), "Verdict"]
    found = models_json_schema(
        [(one, "validation") for one in models.values()], schema_generator=_Written
    )[1]
    parts: Schema = without_titles(found["$defs"])
    any_event = by_value("event", {name: f"#/$defs/{name}" for name in events})
    # Readers let events pass that they do not know.
    parts["AnyEvent"] = any_event | {
        "properties": {"at": INTEGER, "event": TEXT},
        "required": ["at", "event"],
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


def _models() -> Models:
    """The lines of a trace, and what they hold, by name; what is held comes first."""
    found: Models = {}
    of_the_run = "Whether it is a tombstone under the mark of the run."
    _add(found, Record, tombstone=(bool, Field(description=of_the_run)))
    for kind in (EpochEntry, Batch, Removal, StrategyRow):
        _add(found, kind)
    at = int, Field(description="When: ms of simulated time, or the number of the step of a story.")
    for kind in get_args(Event):
        _add(found, kind, at=at, event=Literal[kind.__name__])
    named: dict[str, Any] = {name: type(DEFAULTS[name]) for name in RULES}
    every = "Every rule that the replicas start with, by its name."
    rules = create_model("Rules", __doc__=every, **named)
    _add(found, TraceHeader, "Header", format=Literal[TRACE_FORMAT], rules=rules)
    broken = get_type_hints(Violation)
    seen = {name: broken[name] for name in ("invariant", "at", "replica", "offset", "key")}
    violation = create_model("Violation", __doc__="One broken invariant.", **seen, sentence=str)
    _add(
        found,
        TraceVerdict,
        "Verdict",
        at=(int, Field(description="When the last event happened.")),
        event=Literal["Verdict"],
        verdict=Literal["holds", "violated", "inconclusive"],
        violations=list[violation],
        digest=(str, Field(pattern="^[0-9a-f]{32}$", description="Equal for equal runs.")),
        events=(int, Field(description="So many lines lie between the header and this one.")),
    )
    return found


def _add(found: Models, kind: type, name: str = "", **more: Any) -> None:
    """Adds the model of a named tuple, whose docstring describes it; `more` is what files have."""
    text, meanings = docs_of(kind)
    fields: dict[str, Any] = get_type_hints(kind, localns=found)
    for field, means in meanings.items():
        fields[field] = (fields[field], Field(description=_in_json(means)))
    name = name or kind.__name__
    # `more` on both sides: its fields come first, and replace those of the named tuple.
    found[name] = create_model(name, __doc__=_in_json(text), **{**more, **fields, **more})


def _in_json(text: str) -> str:
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))
