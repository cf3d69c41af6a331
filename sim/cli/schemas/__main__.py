"""`python -m sim.cli.schemas`: writes the schema anew, from the root of the repository."""

from __future__ import annotations

from sim.cli.schemas import SCHEMA_FILE, schema_text

if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
