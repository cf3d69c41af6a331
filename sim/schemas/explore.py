"""The schema of plans of a search, `replog-explore/1`: made of the model of a plan."""

from __future__ import annotations

from sim.scenario.file.schema import without_titles
from sim.schedules.plan import BudgetsModel, Plan, WorldModel
from sim.schemas.parts import Schema
from sim.schemas.plan import describe, with_matrix


def explore_schema() -> Schema:
    """The schema of a plan, its matrix included."""
    schema: Schema = without_titles(Plan.model_json_schema())
    for model in (WorldModel, BudgetsModel):
        describe(schema["$defs"][model.__name__], model)
    describe(schema, Plan)
    return with_matrix(schema, "Replog plan of a search")
