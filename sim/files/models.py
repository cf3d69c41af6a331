"""From a document to a validated pydantic model, with all problems as `file:line: field: ...`.

Pydantic takes a while to import: stories and log files are read without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from sim.errors import BadInput
from sim.files.document import (
    ENOUGH,
    Document,
    Location,
    shown,
    told_together,
    unknown_field,
    unknown_value,
)
from sim.limits import CHECKED_VALUES, in_words

M = TypeVar("M", bound=BaseModel)


_EXPECTED = "expected "
_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "none_required": "null",
}
"""What is said of a value that is of another type, by pydantic's name for that."""
_BOUNDS = {
    "greater_than_equal": ("ge", "below the smallest"),
    "less_than_equal": ("le", "above the largest"),
}


def validate(document: Document, model: type[M]) -> M:
    """The document's content as a pydantic model.

    Raises:
        BadInput: One line per problem, `file:line: field: what is wrong, what is allowed`.
    """
    if _has_more_values(document.data, CHECKED_VALUES.most):
        hint = "what producers write may stand in a file of its own, workload.trace"
        document.top.fail(f"more than {CHECKED_VALUES.most:,} values; {hint}")
    try:
        return model.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        raise _bad_input(document, error, model) from None


def _has_more_values(data: Any, most: int) -> bool:
    waiting, found = [data], 1
    while waiting and found <= most:
        value = waiting.pop()
        if isinstance(value, dict | list):
            inner = value.values() if isinstance(value, dict) else value
            found += len(value)
            waiting += [one for one in inner if isinstance(one, dict | list)]
    return found > most


def _bad_input(document: Document, error: ValidationError, model: type[BaseModel]) -> BadInput:
    schema = model.model_json_schema()
    found: dict[tuple[int, str], list[str]] = {}
    errors = error.errors(include_url=False)
    for item in errors[:ENOUGH]:
        if item["type"] == "too_short" and item["input"]:
            continue  # nothing valid was left; each item has a message of its own
        location = item["loc"]
        parent = location if item["type"].endswith("_type") else location[:-1]
        fields = _fields_allowed(schema, document.existing(parent))
        text = _explain(item["type"], item, fields, location)
        place = (document.line_of(location) or 0, document.problem(location, ""))
        found.setdefault(place, []).append(text)
    in_order = sorted(found.items(), key=lambda one: one[0][0])
    lines = [start + _either(texts) for (_line, start), texts in in_order]
    return told_together(lines, more=max(0, len(errors) - ENOUGH))


def _either(texts: list[str]) -> str:
    """The complaints about one value, one per kind of value that would have been accepted."""
    of_that_kind = [text for text in texts if not text.startswith(_EXPECTED)]
    first, *more = dict.fromkeys(of_that_kind or texts)
    if of_that_kind or not more:
        return first
    kinds = [text.rpartition(", not ")[0] for text in (first, *more[:-1])]
    return " or ".join([kinds[0], *(one.removeprefix(_EXPECTED) for one in (*kinds[1:], more[-1]))])


def _explain(kind: str, item: Any, fields: list[str], location: Location) -> str:
    """What pydantic found, in one clause."""
    if kind == "limit":
        return str(item["ctx"]["problem"])
    if kind == "missing":
        return "missing"
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return unknown_field(str(location[-1]), fields)
    given = item["input"]
    if kind in {"literal_error", "enum"}:
        allowed = [part.strip("'") for part in _split(item["ctx"]["expected"])]
        return unknown_value(given, allowed)
    if kind == "value_error":
        return str(item["ctx"]["error"])
    if kind in {"model_type", "model_attributes_type", "dataclass_type", "dict_type"}:
        names = f"; allowed: {', '.join(fields)}" if fields else ""
        return f"expected fields, not {shown(given)}{names}"
    if kind in _KINDS:
        return f"{_EXPECTED}{_KINDS[kind]}, not {shown(given)}"
    for which, (bound, beyond) in _BOUNDS.items():
        if kind == which:
            return f"{in_words(given)} is {beyond} allowed, {item['ctx'][bound]}"
    text: str = item["msg"].replace("Input should", "should")
    return f"{text[0].lower()}{text[1:]}, not {shown(given)}"


def _split(expected: str) -> list[str]:
    """The names in pydantic's `'a', 'b' or 'c'`."""
    return expected.replace(" or ", ", ").split(", ")


def _fields_allowed(schema: Mapping[str, Any], location: Location) -> list[str]:
    """Names of the fields that may stand at `location`, out of the model's own JSON Schema."""
    candidates = _alternatives(schema, schema)
    for step in location:
        following = []
        for candidate in candidates:
            if step in candidate.get("properties", {}):
                following.append(candidate["properties"][step])
            elif isinstance(step, int) and "items" in candidate:
                following.append(candidate["items"])
        if following:
            candidates = [
                alternative for one in following for alternative in _alternatives(one, schema)
            ]
    return list(dict.fromkeys(name for c in candidates for name in c.get("properties", {})))


def _alternatives(part: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """`part` with references followed and unions spread out."""
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].removeprefix("#/$defs/")]
    for word in ("anyOf", "oneOf"):
        if word in part:
            return [found for one in part[word] for found in _alternatives(one, schema)]
    return [part]
