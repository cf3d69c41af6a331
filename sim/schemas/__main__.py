"""`python -m sim.schemas`: writes all schemas anew, from the root of the repository."""

from __future__ import annotations

from pathlib import Path

from sim.schemas.files import write_schemas

if __name__ == "__main__":
    write_schemas(Path())
