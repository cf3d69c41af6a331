"""Pieces that several schemas are made of."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from sim.files.tags import TAG_PATTERN

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"

INTEGER: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
ANYTHING: Schema = {}
TAGS: Schema = {
    "description": "Words to select files by.",
    "type": ["array", "null"],
    "items": {"type": "string", "pattern": TAG_PATTERN},
    "uniqueItems": True,
}
NOTE: Schema = {"description": "Anything; nobody reads it."}


def at_least(minimum: int) -> Schema:
    """A whole number from `minimum` on."""
    return {"type": "integer", "minimum": minimum}


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


def attribute_docs(kind: type) -> dict[str, str]:
    """What the source says below each attribute of a class, in one line each."""
    (node,) = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    told: dict[str, str] = {}
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            told[statement.target.id] = " ".join(str(following.value.value).split())
    return told
