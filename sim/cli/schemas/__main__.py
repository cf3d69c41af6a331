"""`python -m sim.cli.schemas`: writes all schemas anew, from the root of the repository."""

from __future__ import annotations

from pathlib import Path

from sim.cli.schemas.files import write_schemas

if __name__ == "__main__":
    write_schemas(Path())
