"""JSON Schemas of Replog's files, for editors; `python -m sim.cli.schemas` writes them.

`scenarios/schema.json` is for an editor with one association: it looks at a file's `format` and
checks it as a plan, a story, a timed scenario or a log file. Each of these has a schema of its own
in `scenarios/schemas/`, and so has a line of a trace.

They are made of what the loaders themselves go by: the models of scenarios and plans, the table of
a story's steps, the field names of a log file. A schema allows what a loader accepts, but for rules
whose value is a plugin's, or a number or a boolean written as text. What only a loader can see,
such as the name of a replica that there is not, it lets pass.
"""

from __future__ import annotations

from sim.cli.schemas.files import BY_FORMAT, SCHEMAS, schema_texts, write_schemas
