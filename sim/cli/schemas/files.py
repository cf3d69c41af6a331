"""Which schemas there are, what is in their files, and the one that chooses by `format`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from sim.cli.schemas.formats import (
    DRAFT,
    SCHEMA_FILE,
    Schema,
    by_value,
    explore_schema,
    log_schema,
    plan_schema,
    story_schema,
    trace_schema,
)
from sim.files.formats import (
    EXPLORE_FORMAT,
    LOG_FORMAT,
    PLAN_FORMAT,
    SCENARIO_FORMAT,
    STORY_FORMAT,
)
from sim.simulate.scenario.file.schema import scenario_schema

SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "plan": plan_schema,
    "explore": explore_schema,
    "story": story_schema,
    "scenario": scenario_schema,
    "log": log_schema,
    "trace": trace_schema,
}
"""By name of the file below `scenarios/schemas/`; that of traces is one of a line."""
BY_FORMAT: Mapping[str, str] = {
    PLAN_FORMAT: "plan",
    EXPLORE_FORMAT: "explore",
    STORY_FORMAT: "story",
    SCENARIO_FORMAT: "scenario",
    LOG_FORMAT: "log",
}
"""Which schema a file with that `format` has to meet."""
FOLDER = Path("scenarios/schemas")
CHOOSING = Path("scenarios/schema.json")
"""Of all formats in one: what an editor is pointed to. Both are relative to the repository."""
_LOCAL = "#/$defs/"


def choosing_schema() -> Schema:
    """One schema for every file with a `format`, made of those of each.

    Nothing in it refers to another file, and no part has a base of its own: not every editor knows
    those. So definitions lie side by side, named after their schema.
    """
    definitions: Schema = {}
    for name in BY_FORMAT.values():
        text = json.dumps(SCHEMAS[name]())
        schema = json.loads(text.replace(f'"$ref": "{_LOCAL}', f'"$ref": "{_LOCAL}{name}.'))
        schema.pop("$schema")
        for part, content in schema.pop("$defs", {}).items():
            definitions[f"{name}.{part}"] = content
        definitions[name] = schema
    return {
        "$schema": DRAFT,
        "title": "Replog plan, story, scenario or log file",
        **by_value("format", {found: f"{_LOCAL}{name}" for found, name in BY_FORMAT.items()}),
        "$defs": definitions,
    }


def schema_texts() -> dict[Path, str]:
    """What is in each file, by its path in the repository."""
    found = {FOLDER / f"{name}.json": make() for name, make in SCHEMAS.items()}
    found[CHOOSING] = choosing_schema()
    texts = {path: _text(schema, 1) for path, schema in found.items()}
    return {**texts, SCHEMA_FILE: _text(trace_schema(), 2)}


def _text(schema: Schema, indent: int) -> str:
    return json.dumps(schema, indent=indent, ensure_ascii=False) + "\n"


def write_schemas(root: Path) -> list[Path]:
    """Writes them below the root of the repository; the paths."""
    paths = []
    for path, text in schema_texts().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        paths.append(root / path)
    return paths
