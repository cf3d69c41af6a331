"""The schema of plans of a search, `replog-explore/1`: made of the model of a plan."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from sim.files.attribute_docs import attribute_docs
from sim.rules import RULES
from sim.scenario.file.schema import rules_schema, without_titles
from sim.schedules.plan import BudgetsModel, Plan, WorldModel
from sim.schemas.parts import DRAFT, Schema
from sim.schemas.plan import matrix_fields
from sim.sweeps.plan_matrix import EXCLUDE, LABEL, MATRIX


def explore_schema() -> Schema:
    """The schema of a plan, its matrix included."""
    schema = without_titles(Plan.model_json_schema())
    schema.pop("description", None)
    for name, model in (("WorldModel", WorldModel), ("BudgetsModel", BudgetsModel)):
        _describe(schema["$defs"][name], model)
    _describe(schema, Plan)
    rules = rules_schema(RULES, "Rules by name; may name a preset.")
    schema["$defs"]["rules"] = rules
    fields = schema["properties"]
    fields["rules"] = {"$ref": "#/$defs/rules"}
    fields["rule_sets"] |= {"items": {"$ref": "#/$defs/rules"}}
    fields |= matrix_fields(rules)
    return {
        "$schema": DRAFT,
        "title": "Replog plan of a search",
        **schema,
        "dependentRequired": {EXCLUDE: [MATRIX], LABEL: [MATRIX]},
    }


def _describe(schema: Any, model: type[BaseModel]) -> None:
    for name, text in attribute_docs(model).items():
        schema["properties"][name]["description"] = text
