"""From a document to a validated pydantic model, with all problems as `file:line: field: ...`.

Pydantic takes a while to import: stories and log files are read without it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from sim.errors import BadInput
from sim.files.document import (
    Document,
    Location,
    shown,
    told_together,
    unknown_field,
    unknown_value,
)
from sim.files.fields import check_format
from sim.files.reading import read_document
from sim.limits import CHECKED_VALUES

M = TypeVar("M")

_READ = 2_000
"""Of what pydantic finds in a file so much is put into words: some of it is about the same value,
and beyond what is told nobody asks for more than the number."""
_STRICT = ConfigDict(strict=True, extra="forbid")


def load_model(path: Path, model: type[M], formats: tuple[str, ...]) -> M:
    """The model in a YAML or JSON file.

    `model` is a pydantic model, or a dataclass, which is then validated strictly and without
    unknown fields. The file's `format` must be one of `formats`; it is handed to the model if the
    model has a field of that name.

    Raises:
        BadInput: One line per problem, `file:line: field: what is wrong, what is allowed`.
    """
    document = read_document(path)
    check_format(document, formats)
    return validate(document, model)


def validate(document: Document, model: type[M]) -> M:
    """The document's content as `model`. Raises like `load_model`, the format is not looked at."""
    data = document.data
    if _has_more_values(data, CHECKED_VALUES.most):
        hint = "what producers write may stand in a file of its own, workload.trace"
        document.top.fail(f"more than {CHECKED_VALUES.most:,} values; {hint}")
    if issubclass(model, BaseModel):
        if "format" not in model.model_fields:
            data = {key: value for key, value in data.items() if key != "format"}
        try:
            return model.model_validate_json(json.dumps(data))
        except ValidationError as error:
            raise _bad_input(document, error, model, skip=0) from None
    names = {field.name for field in dataclasses.fields(model)}  # type: ignore[arg-type]
    if "format" not in names:
        data = {key: value for key, value in data.items() if key != "format"}
    # A dataclass has no strictness of its own: it takes that of the model around it.
    around = create_model("Around", __config__=_STRICT, content=(model, ...))
    try:
        validated = around.model_validate_json(json.dumps({"content": data}))
    except ValidationError as error:
        raise _bad_input(document, error, model, skip=1) from None
    content: M = validated.content  # type: ignore[attr-defined]
    return content


def _has_more_values(data: Any, most: int) -> bool:
    waiting, found = [data], 1
    while waiting and found <= most:
        value = waiting.pop()
        if isinstance(value, dict | list):
            inner = value.values() if isinstance(value, dict) else value
            found += len(value)
            waiting += [one for one in inner if isinstance(one, dict | list)]
    return found > most


def _bad_input(
    document: Document, error: ValidationError, model: type[object], *, skip: int
) -> BadInput:
    schema = TypeAdapter(model).json_schema()
    found: dict[tuple[int, str], list[str]] = {}
    errors = error.errors(include_url=False)
    for item in errors[:_READ]:
        if item["type"] == "too_short" and item["input"]:
            continue  # nothing valid was left; each item has a message of its own
        location = item["loc"][skip:]
        parent = location if item["type"].endswith("_type") else location[:-1]
        fields = _fields_allowed(schema, document.existing(parent))
        text = _explain(item["type"], item, fields, location)
        place = (document.line_of(location) or 0, document.problem(location, ""))
        found.setdefault(place, []).append(text)
    in_order = sorted(found.items(), key=lambda one: one[0][0])
    lines = [start + _either(texts) for (_line, start), texts in in_order]
    return told_together(lines, more=max(0, len(errors) - _READ))


def _either(texts: list[str]) -> str:
    """The complaints about one value, one per kind of value that would have been accepted."""
    first, *more = dict.fromkeys(texts)
    if not more:
        return first
    kinds = [text.rpartition(", not ")[0] or text for text in (first, *more[:-1])]
    more_kinds = [text.removeprefix("should be ") for text in (*kinds[1:], more[-1])]
    return " or ".join([kinds[0], *more_kinds])


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
    text: str = item["msg"].replace("Input should be", "should be")
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
