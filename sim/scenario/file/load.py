"""From a file to a validated model, with every problem as `file:line: field: what is wrong`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from sim.errors import BadInput, did_you_mean
from sim.scenario.file.document import SCENARIO_FORMAT, Document, Location, read_document
from sim.scenario.model import Scenario

M = TypeVar("M")

_STRICT = ConfigDict(strict=True, extra="forbid")
_SHOWN = 60
"""Characters of a wrong value that a message repeats."""


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


def load_scenario(
    path: Path,
    *,
    seed: int | None = None,
    known_invariants: Collection[str] = (),
    known_reached: Collection[str] = (),
) -> Scenario:
    """The scenario in a YAML or JSON file, `format: replog-scenario/1`.

    `seed` replaces the file's own, also for a random workload. The names in `expect` are looked up
    in `known_invariants` and `known_reached` unless those are empty.

    Raises:
        BadInput: One line per problem, `file:line: field: what is wrong, what is allowed`.
    """
    # Building the validators of a scenario file takes a while; stories and plans do without them.
    from sim.scenario.file.build import build, check_expectations
    from sim.scenario.file.format import ScenarioFile

    document = read_document(path)
    check_format(document, (SCENARIO_FORMAT,))
    file = validate(document, ScenarioFile)
    found: list[tuple[int, str]] = []

    def report(location: Location, text: str) -> None:
        found.append((document.line_of(location), document.problem(location, text)))

    scenario = build(file, path=path, seed=seed, report=report)
    check_expectations(file, report, known_invariants=known_invariants, known_reached=known_reached)
    if found:
        raise BadInput("\n".join(dict.fromkeys(line for _number, line in sorted(found))))
    return scenario


def check_format(document: Document, formats: tuple[str, ...]) -> str:
    """The document's `format`. Raises BadInput unless it is one of `formats`."""
    allowed = ", ".join(formats)
    node = document.root.value.get("format") if isinstance(document.root.value, dict) else None
    if node is None:
        raise BadInput(document.problem((), f"format: missing; allowed: {allowed}"))
    if not isinstance(node.value, str) or node.value not in formats:
        given = node.data()
        text = f"unknown format {_show(given)}{did_you_mean(given, formats)}; allowed: {allowed}"
        raise BadInput(document.problem(("format",), text))
    return node.value


def validate(document: Document, model: type[M]) -> M:
    """The document's content as `model`. Raises like `load_model`, the format is not looked at."""
    data = document.root.data()
    assert isinstance(data, Mapping)  # a document has fields at the top level
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


def _bad_input(
    document: Document, error: ValidationError, model: type[object], *, skip: int
) -> BadInput:
    schema = TypeAdapter(model).json_schema()
    found: dict[tuple[int, str], list[str]] = {}
    for item in error.errors(include_url=False):
        if item["type"] == "too_short" and item["input"]:
            continue  # nothing valid was left; what is wrong with its items is told for each
        location = item["loc"][skip:]
        parent = location if item["type"].endswith("_type") else location[:-1]
        fields = _fields_allowed(schema, document.existing(parent))
        text = _explain(item["type"], item, fields, location)
        place = (document.line_of(location), document.problem(location, ""))
        found.setdefault(place, []).append(text)
    lines = [start + _either(texts) for (_line, start), texts in sorted(found.items())]
    return BadInput("\n".join(lines))


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
    if kind == "missing":
        return "missing"
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        name = str(location[-1])
        return f"unknown field{did_you_mean(name, fields)}; allowed: {', '.join(fields)}"
    given = item["input"]
    if kind in {"literal_error", "enum"}:
        allowed = [part.strip("'") for part in _split(item["ctx"]["expected"])]
        hint = did_you_mean(given, allowed)
        return f"unknown value {_show(given)}{hint}; allowed: {', '.join(allowed)}"
    if kind == "value_error":
        return str(item["ctx"]["error"])
    if kind in {"model_type", "model_attributes_type", "dataclass_type", "dict_type"}:
        names = f": {', '.join(fields)}" if fields else ""
        return f"expected fields, not {_show(given)}{names}"
    text: str = item["msg"].replace("Input should be", "should be")
    return f"{text[0].lower()}{text[1:]}, not {_show(given)}"


def _split(expected: str) -> list[str]:
    """The names in pydantic's `'a', 'b' or 'c'`."""
    return expected.replace(" or ", ", ").split(", ")


def _show(given: object) -> str:
    text = json.dumps(given, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


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
