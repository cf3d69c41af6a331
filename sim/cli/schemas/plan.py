"""The schemas of plans, `replog-sweep/1` and `replog-explore/1`: made of their models."""

from __future__ import annotations

from typing import Any

from sim.check.families import FAMILIES
from sim.check.registry import INVARIANTS, discover
from sim.cli.schemas.parts import DRAFT, Schema, described, strict
from sim.files.models import Described
from sim.protocol.rules import RULES
from sim.simulate.scenario.file.schema import rules_schema, without_titles
from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, Mix, Weights
from sim.study.explore.plan import Plan as PlanOfSearch
from sim.study.sweep.plan import Plan
from sim.study.sweep.plan_matrix import EXCLUDE, LABEL, MATRIX

_RULES: Schema = {"$ref": "#/$defs/rules"}


def plan_schema() -> Schema:
    """The schema of a sweep plan, its matrix included."""
    schema = without_titles(Plan.model_json_schema(schema_generator=Described))
    schema["$defs"] = {"Mix": _mix(), "Weights": _weights()}
    discover()
    fields = schema["properties"]
    known = {"anyOf": [{"enum": [*FAMILIES, *sorted(INVARIANTS)]}, {"type": "string"}]}
    fields["about"]["items"] = known
    fields["generate"] = {"anyOf": [{"enum": list(BUILT_IN_MIXES)}, {"$ref": "#/$defs/Mix"}]}
    fields["environments"]["additionalProperties"] = _environment()
    required = [name for name in schema["required"] if name != "rule_sets"]
    return {
        **_with_matrix(schema, "Replog sweep plan"),
        "required": required,
        "if": {"required": [MATRIX]},
        "else": {"required": ["rule_sets"]},
    }


def explore_schema() -> Schema:
    """The schema of a plan of a search, its matrix included."""
    schema = without_titles(PlanOfSearch.model_json_schema(schema_generator=Described))
    return _with_matrix(schema, "Replog plan of a search")


def _with_matrix(schema: Schema, title: str) -> Schema:
    """The schema of a plan whose rules are those there are, with the fields of a matrix."""
    schema.pop("description", None)
    rules = rules_schema(RULES, "Rules by name; may name a preset.")
    schema["$defs"]["rules"] = rules
    fields = schema["properties"]
    fields["rules"] = _RULES
    fields["rule_sets"] |= {"items": _RULES}
    fields |= _matrix_fields(rules)
    needed = {EXCLUDE: [MATRIX], LABEL: [MATRIX]}
    return {"$schema": DRAFT, "title": title, **schema, "dependentRequired": needed}


def _matrix_fields(rules: Schema) -> dict[str, Schema]:
    """The fields of a matrix, which a plan is read without (`sim.study.sweep.plan_matrix`)."""
    factors: dict[str, Schema] = {
        name: {
            "type": "array",
            "description": one.get("description", ""),
            "items": {"$ref": f"#/$defs/rules/properties/{name}"},
            "minItems": 1,
            "uniqueItems": True,
        }
        for name, one in rules["properties"].items()
    }
    return {
        MATRIX: described(
            strict(factors) | {"minProperties": 1},
            "Rules with their values: every combination, the first rule changing fastest.",
        ),
        EXCLUDE: {
            "type": "array",
            "description": "Combinations that are left out: those that have all these values.",
            "items": {"allOf": [_RULES, {"minProperties": 1}]},
        },
        LABEL: {
            "type": "string",
            "description": "The label of each combination: `{strategy}: {fix}`.",
        },
    }


def _mix() -> Schema:
    schema = without_titles(Mix.model_json_schema(schema_generator=Described))
    fields: dict[str, Any] = schema["properties"]
    fields["mix"] = described({"enum": list(BUILT_IN_MIXES)}, fields["mix"]["description"])
    fields["weights"] = {"$ref": "#/$defs/Weights"}
    return described(strict(fields), "Ranges and chances from which scenarios are drawn.")


def _weights() -> Schema:
    fields: dict[str, Any] = without_titles(Weights.model_json_schema())["properties"]
    return described(strict(fields), " ".join((Weights.__doc__ or "").split()))


def _environment() -> Schema:
    """What differs from `generate`: any field of a mix but its name."""
    names = (name for name in Mix.model_fields if name != "mix")
    return strict({name: {"$ref": f"#/$defs/Mix/properties/{name}"} for name in names})
