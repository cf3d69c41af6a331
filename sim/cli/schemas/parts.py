"""Pieces that several schemas are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from sim.files.limits import LONG
from sim.files.tags import TAG_PATTERN

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"

INTEGER: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
TAGS: Schema = {
    "description": "Words to select files by.",
    "type": ["array", "null"],
    "items": {"type": "string", "pattern": TAG_PATTERN},
    "uniqueItems": True,
}
PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    float: "number",
    NoneType: "null",
}
NOTE: Schema = {"description": "Anything; nobody reads it."}


def at_least(minimum: int, *, most: int = LONG) -> Schema:
    """A whole number from `minimum` on, within 64 bits or as many as `most` says."""
    return {"type": "integer", "minimum": minimum, "maximum": most}


def nullable(schema: Schema) -> Schema:
    """The same, or null, which counts as not given."""
    found = dict(schema)
    if "enum" in schema:
        found["enum"] = [*schema["enum"], None]
    if "anyOf" in schema:
        found["anyOf"] = [*schema["anyOf"], {"type": "null"}]
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


def _no_class(kind: type) -> Schema:
    raise TypeError(kind)


def shape_of(hint: Any, of_class: Callable[[type], Schema] = _no_class) -> Schema:
    """What a value of a type looks like, as annotations write it; `of_class` knows classes."""
    if hint is Any:
        return {}
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if hint is bytes:
        return {"type": "string", "contentEncoding": "base64"}
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (UnionType, Union):
        return _either([shape_of(one, of_class) for one in arguments])
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        return {"type": "array", "items": shape_of(arguments[0], of_class)}
    if origin in (dict, Mapping):
        values = shape_of(arguments[1], of_class)
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if origin is tuple:
        items, number = [shape_of(one, of_class) for one in arguments], len(arguments)
        return {"type": "array", "prefixItems": items, "minItems": number, "maxItems": number}
    if issubclass(hint, StrEnum):
        return {"enum": [value.value for value in hint]}
    return of_class(hint)


def _either(options: list[Schema]) -> Schema:
    if all(list(one) == ["type"] for one in options):
        return {"type": [one["type"] for one in options]}
    if all(list(one) in (["type"], ["enum"]) for one in options):
        return {"enum": [value for one in options for value in one.get("enum", [None])]}
    return {"anyOf": options}
