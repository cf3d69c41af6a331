"""The schema of plans of a search, `replog-explore/1`: made of the model of a plan."""

from __future__ import annotations

from sim.files.models import Described
from sim.scenario.file.schema import without_titles
from sim.schedules.plan import Plan
from sim.schemas.parts import Schema
from sim.schemas.plan import with_matrix


def explore_schema() -> Schema:
    """The schema of a plan, its matrix included."""
    schema: Schema = without_titles(Plan.model_json_schema(schema_generator=Described))
    return with_matrix(schema, "Replog plan of a search")
