"""The JSON Schema of scenario files, and of rules in any file; `sim.cli.schemas` writes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sim.files.models import Described
from sim.protocol.rules import DEFAULTS, PRESETS, RULES
from sim.simulate.scenario.file.format import ScenarioFile

_TYPES = {str: "string", int: "integer", bool: "boolean"}


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, with the meanings of all presets, rules and values.

    `enumDescriptions` belongs to no draft of JSON Schema, but editors show it with the values.
    """
    schema = without_titles(ScenarioFile.model_json_schema(schema_generator=Described))
    fields = schema["properties"]
    fields["rules"] = rules_schema(RULES, fields["rules"]["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Replog scenario",
        **schema,
    }


def rules_schema(names: Iterable[str], description: str) -> dict[str, Any]:
    """JSON Schema of an object of rules with the meanings of their values, and of a preset."""
    return {
        "type": "object",
        "description": description,
        "properties": {"preset": preset_schema(), **{name: rule_schema(name) for name in names}},
        "additionalProperties": False,
    }


def preset_schema() -> dict[str, Any]:
    """JSON Schema of the name of a preset."""
    models = "; ".join(f"{preset.name}: {preset.models}" for preset in PRESETS.values())
    return {"enum": list(PRESETS), "description": models}


def rule_schema(name: str) -> dict[str, Any]:
    """JSON Schema of the value of a rule."""
    spec, default = RULES[name], DEFAULTS[name]
    found: dict[str, Any] = {
        "description": f"{spec.decides} ({spec.source})" if spec.source else spec.decides,
        "default": default,
        "type": _TYPES[type(default)],
    }
    if spec.values:
        values = spec.described()
        found["enum"] = [value.name for value in values]
        found["enumDescriptions"] = [f"{value.means} ({value.source})" for value in values]
    if spec.minimum is not None:
        found["minimum"] = spec.minimum
    if spec.limit is not None:
        found["maximum" if found.get("type") == "integer" else "maxLength"] = spec.limit.most
    return found


def without_titles(part: Any) -> Any:
    """Removes Pydantic's titles from a schema, which repeat the names of the fields."""
    if isinstance(part, dict):
        return {
            name: without_titles(value)
            for name, value in part.items()
            if not (name == "title" and isinstance(value, str))
        }
    if isinstance(part, list):
        return [without_titles(item) for item in part]
    return part
