"""From a document to a validated pydantic model, with all problems as `file:line: field: ...`.

Pydantic takes a while to import: stories are read without it. The meaning of a field is the text
below it; the JSON Schema for editors is made of the models and of these texts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from sim.errors import BadInput
from sim.files.document import (
    ENOUGH,
    Document,
    Location,
    Place,
    joint_error,
    listed,
    shown,
    unknown_field,
    unknown_value,
)
from sim.files.limits import in_words

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


_EXPECTED = "expected "
_SAID = {
    "limit": "{problem}",
    "value_error": "{error}",
    "missing": "missing",
    "json_invalid": "has half a character (a lone surrogate)",  # all else was written as JSON
    "int_type": "expected a whole number, not {shown}",
    "int_from_float": "expected a whole number, not {shown}",
    "float_type": "expected a number, not {shown}",
    "finite_number": "expected a finite number, not {shown}",
    "string_type": "expected text, not {shown}",
    "bool_type": "expected true or false, not {shown}",
    "list_type": "expected a list, not {shown}",
    "tuple_type": "expected a list, not {shown}",
    "none_required": "expected null, not {shown}",
    "greater_than_equal": "{number} is below the smallest allowed, {ge}",
    "less_than_equal": "{number} is above the largest allowed, {le}",
    "too_short": "expected at least {min_length} of these, not {actual_length}",
    "too_long": "expected at most {max_length} of these, not {actual_length}",
}
"""The message about a value, by pydantic's name of the error."""


class Part(BaseModel):
    """A part of a file that people write, read strictly: text is never taken for a number."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
    )


def refused(problems: Iterable[tuple[Location, str]]) -> None:
    """Reports to pydantic, from a validator, all problems with the parts of a value.

    Args:
        problems: The way from the value to a part, and the problem there.

    Raises:
        ValidationError: There is a problem.
    """
    details = [
        InitErrorDetails(
            type=PydanticCustomError("limit", "{problem}", {"problem": text}),
            loc=tuple(way),
            input=None,
        )
        for way, text in problems
    ]
    if details:
        raise ValidationError.from_exception_data("", details)


def validate(document: Document, model: type[M], *, reported: Collection[str] = ()) -> M:
    """The document's content as a pydantic model.

    Args:
        document: The document.
        model: The model of its content.
        reported: Fields whose problems are reported already.

    Raises:
        BadInput: One line per problem, `file:line: field: what is wrong, what is allowed`. It has
            no line if all problems are about fields in `reported`.
    """
    return shaped(document.data, document.top, TypeAdapter(model), reported=reported)


def shaped(
    value: object, place: Place, adapter: TypeAdapter[T], *, reported: Collection[str] = ()
) -> T:
    """The value at `place` as a model.

    Raises:
        BadInput: One line per problem, `file:line: field: what is wrong, what is allowed`.
    """
    try:
        return adapter.validate_json(json.dumps(value))
    except ValidationError as error:
        raise _bad_input(place, error, adapter, reported) from None


def _bad_input(
    place: Place, error: ValidationError, adapter: TypeAdapter[Any], reported: Collection[str]
) -> BadInput:
    document, schema = place.document, _schema_of(adapter)
    found: dict[tuple[int, str], tuple[Location, list[str]]] = {}
    errors = error.errors(include_url=False)
    errors = [item for item in errors if not item["loc"] or item["loc"][0] not in reported]
    for item in errors[:ENOUGH]:
        if item["type"] == "too_short" and item["input"]:
            continue  # nothing valid was left; each item has a message of its own
        way = item["loc"]
        if item["type"].startswith("union_tag"):
            tag = item["ctx"]["discriminator"].strip("'")
            text, way = _wrong_tag(tag, item["input"], _parts_at(schema, way)), (*way, tag)
        else:
            parts = _parts_at(schema, way if item["type"].endswith("_type") else way[:-1])
            fields = list(dict.fromkeys(name for one in parts for name in _fields_of(one)))
            text = _explain(item["type"], item, fields, way)
        location = (*place.location, *way)
        where = (document.line_of(location) or 0, document.name_of(location))
        found.setdefault(where, (location, []))[1].append(text)
    in_order = sorted(found.items(), key=lambda one: one[0][0])
    lines = [document.problem(way, _either(texts)) for _where, (way, texts) in in_order]
    return joint_error(lines, more=max(0, len(errors) - ENOUGH))


@lru_cache(maxsize=16)
def _schema_of(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """The schema of an adapter, cached: making it takes longer than reading a file."""
    return adapter.json_schema()


def _either(texts: list[str]) -> str:
    """The complaints about one value, one per kind of value that would have been accepted."""
    of_that_kind = [text for text in texts if not text.startswith(_EXPECTED)]
    first, *more = dict.fromkeys(of_that_kind or texts)
    if of_that_kind or not more:
        return first
    kinds = [text.rpartition(", not ")[0] for text in (first, *more[:-1])]
    return " or ".join([kinds[0], *(one.removeprefix(_EXPECTED) for one in (*kinds[1:], more[-1]))])


def _explain(kind: str, item: Any, fields: list[str], location: Location) -> str:
    """An error of pydantic as one clause."""
    given, context = item["input"], item.get("ctx", {})
    if kind in _SAID:
        number = in_words(given) if isinstance(given, int | float) else ""
        return _SAID[kind].format(shown=shown(given), number=number, **context)
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return unknown_field(str(location[-1]), fields)
    if kind in {"literal_error", "enum"}:
        expected = context["expected"].replace(" or ", ", ")  # `'a', 'b' or 'c'`
        return unknown_value(given, [part.strip("'") for part in expected.split(", ")])
    if kind in {"model_type", "model_attributes_type", "dataclass_type", "dict_type"}:
        names = f"; allowed: {', '.join(fields)}" if fields else ""
        return f"expected fields, not {shown(given)}{names}"
    text: str = item["msg"].replace("Input should", "should")
    return f"{text[0].lower()}{text[1:]}, not {shown(given)}"


def _wrong_tag(tag: str, given: Mapping[str, Any], parts: list[Mapping[str, Any]]) -> str:
    """The complaint about the field `tag`, which selects one of `parts`."""
    allowed = [_fields_of(one)[tag]["const"] for one in parts]
    if given.get(tag) is None:
        return f"missing; allowed: {listed(allowed)}"
    return unknown_value(given[tag], allowed, what=tag)


def _parts_at(schema: Mapping[str, Any], location: Location) -> list[Mapping[str, Any]]:
    """Parts of the model's own JSON Schema that may stand at `location`.

    Pydantic's way to a value includes the names of alternatives; the value of a field, such as the
    op of a step, selects one of them.
    """
    parts = _alternatives(schema, schema)
    for step in location:
        following = []
        for part in parts:
            fields = _fields_of(part)
            if isinstance(step, int):
                following += [part["items"]] if "items" in part else []
            elif step in fields:
                following.append(fields[step])
            elif any(field.get("const") == step for field in fields.values()):
                following.append(part)
            elif isinstance(part.get("additionalProperties"), dict):  # of any name
                following.append(part["additionalProperties"])
        if following:
            parts = [found for one in following for found in _alternatives(one, schema)]
    return parts


def _fields_of(part: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = part.get("properties", {})
    return found


def _alternatives(part: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """`part` with references followed and unions spread out."""
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].removeprefix("#/$defs/")]
    for word in ("anyOf", "oneOf"):
        if word in part:
            return [found for one in part[word] for found in _alternatives(one, schema)]
    return [part]
