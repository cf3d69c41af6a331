"""The schema of plans of a search, `replog-explore/1`: made of the model of a plan."""

from __future__ import annotations

from sim.cli.schemas.parts import Schema
from sim.cli.schemas.plan import with_matrix
from sim.files.models import Described
from sim.simulate.scenario.file.schema import without_titles
from sim.study.explore.plan import Plan


def explore_schema() -> Schema:
    """The schema of a plan, its matrix included."""
    schema: Schema = without_titles(Plan.model_json_schema(schema_generator=Described))
    return with_matrix(schema, "Replog plan of a search")
