"""Pieces that several schemas are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim.files.limits import LONG

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"

INTEGER: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
NOTE: Schema = {"description": "Anything; nobody reads it."}


def at_least(minimum: int) -> Schema:
    """A whole number from `minimum` on, within 64 bits."""
    return {"type": "integer", "minimum": minimum, "maximum": LONG}


def nullable(schema: Schema) -> Schema:
    """The same, or null, which counts as not given."""
    found = dict(schema)
    if "enum" in schema:
        found["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("type"), str):
        found["type"] = [schema["type"], "null"]
    return found


def described(schema: Schema, text: str) -> Schema:
    """The same with what it means."""
    return {**schema, "description": text}


def strict(fields: Mapping[str, Schema], *, required: tuple[str, ...] = ()) -> Schema:
    """An object that has no other fields than these."""
    found: Schema = {
        "type": "object",
        "properties": dict(fields),
        "additionalProperties": False,
    }
    return {**found, "required": list(required)} if required else found


def by_value(field: str, parts: Mapping[str, str]) -> Schema:
    """An object whose `field` names which of `parts`, by value, it is, and so what else it has.

    So an editor tells what is wrong with a step of that op, and not that it is none of ten others.
    """
    return {
        "type": "object",
        "properties": {field: {"enum": list(parts)}},
        "required": [field],
        "allOf": [
            {"if": {"properties": {field: {"const": value}}}, "then": {"$ref": part}}
            for value, part in parts.items()
        ],
    }
