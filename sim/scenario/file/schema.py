"""JSON Schema of scenario files, for editors; `python -m sim.scenario.file.schema` writes it.

A scenario file names it in its first line: `# yaml-language-server: $schema=../schema.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sim.rules import DEFAULTS, PRESETS, RULES
from sim.scenario.file.format import ScenarioFile

SCHEMA_FILE = Path("scenarios/schema.json")
"""Relative to the root of the repository."""

_TYPES = {str: "string", int: "integer", bool: "boolean"}


def scenario_schema() -> dict[str, Any]:
    """The schema, with the presets and rules that exist, what each decides and each value means.

    `enumDescriptions` belongs to no draft of JSON Schema; editors show it beside the values.
    """
    schema = _without_titles(ScenarioFile.model_json_schema(by_alias=True))
    fields = schema["properties"]
    fields["rules"] = {
        "type": "object",
        "description": fields["rules"]["description"],
        "properties": {"preset": _preset(), **{name: _rule(name) for name in RULES}},
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Replog scenario",
        **schema,
    }


def _preset() -> dict[str, Any]:
    models = "; ".join(f"{preset.name}: {preset.models}" for preset in PRESETS.values())
    return {"enum": list(PRESETS), "description": models}


def _rule(name: str) -> dict[str, Any]:
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
    return found


def _without_titles(part: Any) -> Any:
    """Pydantic's titles repeat the names of the fields; editors show them as noise."""
    if isinstance(part, dict):
        return {
            name: _without_titles(value)
            for name, value in part.items()
            if not (name == "title" and isinstance(value, str))
        }
    if isinstance(part, list):
        return [_without_titles(item) for item in part]
    return part


def schema_text() -> str:
    """The schema as it stands in the file."""
    return json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
