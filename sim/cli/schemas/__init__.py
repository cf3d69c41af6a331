"""The JSON Schema of Replog's files, for editors; `python -m sim.cli.schemas` writes it.

`scenarios/schema.json` is for an editor with one association: it looks at a file's `format` and
checks it as a plan, a story, a timed scenario or a log file.

It is made of what the loaders themselves read by: the models of scenarios, plans and log files, and
the table of a story's steps. It allows what a loader accepts, except rules whose value is a
plugin's, or a number or a boolean written as text. What only a loader can see, such as the name of
a replica that does not exist, is not checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from sim.cli.schemas.formats import (
    DRAFT,
    Schema,
    by_value,
    explore_schema,
    log_schema,
    plan_schema,
    story_schema,
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
    PLAN_FORMAT: plan_schema,
    EXPLORE_FORMAT: explore_schema,
    STORY_FORMAT: story_schema,
    SCENARIO_FORMAT: scenario_schema,
    LOG_FORMAT: log_schema,
}
"""The schema of each file by its `format`."""
SCHEMA_FILE = Path("scenarios/schema.json")
"""Relative to the root of the repository."""
_LOCAL = "#/$defs/"


def schema_of_files() -> Schema:
    """The schema of every file with a `format`.

    Nothing in it refers to another file, and no part has a base of its own: not every editor knows
    those. So definitions stand side by side, named after their schema.
    """
    definitions: Schema = {}
    parts: dict[str, str] = {}
    for name, make in SCHEMAS.items():
        short = name.removeprefix("replog-").partition("/")[0]
        text = json.dumps(make()).replace(f'"$ref": "{_LOCAL}', f'"$ref": "{_LOCAL}{short}.')
        schema = json.loads(text)
        schema.pop("$schema")
        for part, content in schema.pop("$defs", {}).items():
            definitions[f"{short}.{part}"] = content
        definitions[short] = schema
        parts[name] = f"{_LOCAL}{short}"
    return {
        "$schema": DRAFT,
        "title": "Replog plan, story, scenario or log file",
        **by_value("format", parts),
        "$defs": definitions,
    }


def schema_text() -> str:
    """The text of `SCHEMA_FILE`."""
    return json.dumps(schema_of_files(), indent=1, ensure_ascii=False) + "\n"
