"""The JSON Schema of Replog's files, for editors; `python -m tests.schemas.making` writes it.

`scenarios/schema.json` is for an editor with one association: it looks at a file's `format` and
checks the file as a plan of a sweep or of a search, a story, a timed scenario or a log file.

It is made of what the loaders themselves read by: the models of scenarios, plans and log files, and
the table of a story's steps. It allows what a loader accepts, except rules whose value is a
plugin's, or a number or a boolean written as text. What only a loader can see, such as the name of
a replica that does not exist, is not checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from sim.check.registry import INVARIANTS, discover
from sim.check.violation import FAMILIES
from sim.files.attribute_docs import attribute_docs
from sim.files.document import TAG_PATTERN
from sim.files.formats import EXPLORE_FORMAT, LOG_FORMAT, PLAN_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.files.limits import LONG
from sim.files.models import Part
from sim.protocol.rules import DEFAULTS, PRESETS, RULES
from sim.simulate.logfile import eligible_file
from sim.simulate.logfile import rules as log_rules
from sim.simulate.logfile.file import LogFileLines
from sim.simulate.scenario.file.configs import BrokerSettings, TopicSettings
from sim.simulate.scenario.file.format import ScenarioFile
from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, Mix, Weights
from sim.simulate.story.fields import PERIOD, REPLICA, REPLICAS
from sim.simulate.story.format import CLAIMS, LAG, TOP, StoryClaims
from sim.simulate.story.ops import OPS
from sim.simulate.story.steps import COMMON, DOES, NOTHING
from sim.study.explore.plan import SearchPlan as PlanOfSearch
from sim.study.sweep.plan import Plan
from sim.study.sweep.plan_matrix import LABEL, MATRIX
from tests.commands import ROOT

Schema = dict[str, Any]

SCHEMA_FILE = ROOT / "scenarios/schema.json"
TYPES = {str: "string", int: "integer", bool: "boolean"}
TEXT: Schema = {"type": "string"}
NOTE: Schema = {"description": "Anything; it is not read."}
ANY_RULES: Schema = {"$ref": "#/$defs/rules"}
SETTINGS = {"topic": TopicSettings.__name__, "broker": BrokerSettings.__name__}
"""Field of a log file with settings of Kafka -> their definition, which `scenario_schema` has."""


def by_value(field: str, parts: Mapping[str, str]) -> dict[str, Any]:
    """JSON Schema of an object whose value of `field` selects one of `parts`, references.

    An editor then reports the mistake in a step of that op, and not a mismatch with ten others.
    """
    return {
        "type": "object",
        "properties": {field: {"enum": list(parts)}},
        "required": [field],
        "allOf": [
            {"if": {"properties": {field: {"const": value}}}, "then": {"$ref": part}}
            for value, part in parts.items()
        ],
    }


class Described(GenerateJsonSchema):
    """A schema in which each field has the text below it as its description, and no title."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Denies every field a title, which would repeat its name."""
        return False

    def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of alternatives that a field selects."""
        found = super().tagged_union_schema(schema)
        field = found.get("discriminator")
        return found if field is None else by_value(field["propertyName"], field["mapping"])

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of a dataclass."""
        found = super().dataclass_schema(schema)
        found.pop("title", None)
        return found

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of one model; its fields are there by their names in a file."""
        found, model = super().model_schema(schema), schema["cls"]
        found.pop("title", None)
        for kind in model.__mro__[: model.__mro__.index(BaseModel)]:
            for name, text in attribute_docs(kind).items():
                found["properties"][model.model_fields[name].alias or name]["description"] = text
        return found


def scenario_schema() -> Schema:
    """The schema of scenario files."""
    schema = ScenarioFile.model_json_schema(schema_generator=Described)
    fields = schema["properties"]
    fields["rules"] = described(ANY_RULES, fields["rules"]["description"])
    return {"title": "Replog scenario", **schema}


def rules_schema() -> Schema:
    """The schema of an object of rules, or of a preset, with the meanings of values."""
    rules = {name: rule_schema(name) for name in RULES}
    return described(strict({"preset": preset_schema(), **rules}), "Rules by name, or a preset.")


def preset_schema() -> Schema:
    models = "; ".join(f"{preset.name}: {preset.models}" for preset in PRESETS.values())
    return {"enum": list(PRESETS), "description": models}


def rule_schema(name: str) -> Schema:
    """The schema of the value of a rule.

    `enumDescriptions` belongs to no draft of JSON Schema, but editors show it with the values.
    """
    spec, default = RULES[name], DEFAULTS[name]
    found: Schema = {
        "description": f"{spec.decides} ({spec.source})" if spec.source else spec.decides,
        "default": default,
        "type": TYPES[type(default)],
    }
    if spec.values:
        values = spec.described()
        found["enum"] = [value.name for value in values]
        found["enumDescriptions"] = [f"{value.means} ({value.source})" for value in values]
    if spec.minimum is not None:
        found["minimum"] = spec.minimum
    if spec.limit is not None:
        found["maximum" if found["type"] == "integer" else "maxLength"] = spec.limit.most
    return found


def nullable(schema: Schema) -> Schema:
    """A schema that also allows null, which counts as not given."""
    more = {"type": [schema["type"], "null"]} if "type" in schema else {}
    return schema | more | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})


def described(schema: Mapping[str, Any], text: str) -> Schema:
    """A schema with a description."""
    return {**schema, "description": text}


def strict(fields: Mapping[str, Schema], **more: Any) -> Schema:
    """The schema of an object that has no other fields than these."""
    return {"type": "object", "properties": fields, "additionalProperties": False, **more}


def _rules() -> Schema:
    modified = {"type": "integer", "minimum": -1, "maximum": LONG}
    own = {
        "preset": preset_schema(),
        "header_key": rule_schema("strategy_header"),
        log_rules.LAST_MODIFIED: described(
            modified, "When all segments were last modified, in ms."
        ),
        log_rules.SEGMENT_BYTES: described(
            modified | {"minimum": 1}, "Up to which neighbours become one, in bytes."
        ),
    }
    fields = {name: nullable(own.get(name) or rule_schema(name)) for name in log_rules.ALLOWED}
    return nullable(strict(fields))


def _file(model: type[Part], rules: Schema, parts: Schema) -> Schema:
    """The schema of log files of a model; adds its definitions to `parts`."""
    schema = model.model_json_schema(schema_generator=Described)
    parts |= schema.pop("$defs")
    schema["properties"]["rules"] = rules
    for fields in (schema["properties"], parts.get("LogLine", {}).get("properties", {})):
        for name in SETTINGS.keys() & fields.keys():
            fields[name] = {"anyOf": [{"$ref": f"#/$defs/{SETTINGS[name]}"}, {"type": "null"}]}
    if model is LogFileLines:
        segments = schema["properties"]["segments"]
        batches = parts["SegmentLine"]["properties"]["batches"]
        segments["items"] = {"anyOf": [batches, segments["items"]]}
    return schema


def log_schema() -> Schema:
    """The schema of a log file of either kind: with `steps`, or with `logs`.

    Its settings are those in `scenario_schema`.
    """
    parts: Schema = {}
    (estimate,) = eligible_file.RULES
    one_rule = nullable(strict({estimate: nullable(rule_schema(estimate))}))
    return {
        "title": "Replog log file",
        "type": "object",
        "if": {"required": ["logs"]},
        "then": _file(eligible_file.EligibleFileLines, one_rule, parts),
        "else": _file(LogFileLines, _rules(), parts),
        "$defs": parts,
    }


def _step(op: str) -> Schema:
    """A step of an op as a mapping."""
    spec = OPS[op]
    fields = {
        name: described(kind.schema, f"{spec.meanings[name]} ({kind.expected})")
        for name, kind in spec.types.items()
    }
    fields[DOES] = described({"const": NOTHING}, COMMON[DOES])
    schema = strict({"op": {"const": op}, **fields, "note": NOTE}, required=["op", *spec.required])
    return described(schema, f"{spec.means} ({spec.source})")


def _line(op: str) -> str:
    """The pattern of a step as one line; a list of replicas may be several words."""
    spec = OPS[op]
    given = list(spec.types.values())
    most = "" if given and given[-1] is REPLICAS else len(given) + 1
    if not given:
        return rf"{op}(\s+{DOES}={NOTHING})?"
    return rf"{op}(\s+\S+){{{len(spec.required)},{most}}}"


def _any_step() -> Schema:
    return {
        "description": "A mapping with `op`, or one line: the op, its first fields, name=value.",
        "type": ["string", "object"],
        "if": {"type": "object"},
        "then": by_value("op", {op: f"#/$defs/step.{op}" for op in OPS}),
        "else": {
            "pattern": rf"^\s*({'|'.join(map(_line, OPS))})\s*$",
            "patternErrorMessage": f"a line is a step and its fields; steps: {', '.join(OPS)}",
        },
    }


def _expect() -> Schema:
    invariants = {"type": "array", "items": {"enum": sorted(INVARIANTS)}}
    means = attribute_docs(StoryClaims)
    claims = {
        name: described(TypeAdapter(shape).json_schema(), means[name])
        for name, (shape, _) in CLAIMS.items()
    }
    of_replicas = {"type": "object", "additionalProperties": {"$ref": "#/$defs/claims"}}
    fields: dict[str, Schema] = {
        "violated": described(invariants, "Exactly these are violated, of those checked."),
        "checked": described(
            {**invariants, "minItems": 1},
            "Invariants that are judged; most, but not liveness, when not given.",
        ),
        "leader": described({}, "Who leads at the end."),
        "replicas": described(of_replicas, "Claims about replicas at the end."),
        "moments": described(
            {"type": "object", "additionalProperties": of_replicas},
            "The same claims at the moments that `moment` steps mark, by their names.",
        ),
        "note": NOTE,
    }
    return {"expect": strict(fields), "claims": strict(claims | {"note": NOTE})}


def story_schema() -> Schema:
    """The schema of a story."""
    names = {"type": "array", "items": REPLICA.schema, "minItems": 1}
    lag = (
        "replica.lag.time.max.ms: how long after it last had all of its leader's log a follower is"
        " waited for, under `high_watermark_waits_for`; 30,000 when not given."
    )
    fields: dict[str, Schema] = {
        "format": {"const": STORY_FORMAT},
        "id": described(TEXT, "Its name; that of the file when not given."),
        "title": described(TEXT, "What it shows, in a sentence."),
        "source": described(TEXT, "A section of a KIP, a class, a ticket."),
        "tags": {
            "description": "Words to select files by.",
            "type": ["array", "null"],
            "items": {"type": "string", "pattern": TAG_PATTERN},
            "uniqueItems": True,
        },
        "rules": described(ANY_RULES, "Where it differs from the defaults of stories."),
        "replicas": described(
            {**names, "uniqueItems": True}, "In order of creation; their logs start empty."
        ),
        "isr": described(names, "Who is in sync at the start; all when not given."),
        "voters": described(names, "Who votes, with majorities; all when not given."),
        "timers": strict({LAG: described(PERIOD.schema, lag)}),
        "steps": {"type": "array", "items": _any_step(), "minItems": 1},
        "expect": {"$ref": "#/$defs/expect"},
        "note": NOTE,
    }
    assert list(fields) == list(TOP), f"a story has {TOP}"
    return {
        "title": "Replog story",
        **strict(fields, required=["format", "replicas", "steps"]),
        "$defs": {**_expect(), **{f"step.{op}": _step(op) for op in OPS}},
    }


def plan_schema() -> Schema:
    """The schema of a sweep plan, its matrix included."""
    schema = Plan.model_json_schema(schema_generator=Described)
    decision = schema["$defs"]["Decision"]
    decision["properties"]["alternatives"]["additionalProperties"] = ANY_RULES
    mix: Schema = Mix.model_json_schema(schema_generator=Described)["properties"]
    mix["mix"] = described({"enum": list(BUILT_IN_MIXES)}, mix["mix"]["description"])
    mix["weights"] = {"$ref": "#/$defs/Weights"}
    weights: Schema = Weights.model_json_schema(schema_generator=Described)["properties"]
    schema["$defs"] = {
        "Mix": described(strict(mix), "Ranges and chances from which scenarios are drawn."),
        "Weights": described(strict(weights), " ".join((Weights.__doc__ or "").split())),
        "Decision": decision,
    }
    fields = schema["properties"]
    known = {"anyOf": [{"enum": [*FAMILIES, *sorted(INVARIANTS)]}, {"type": "string"}]}
    fields["about"]["items"] = known
    fields["generate"] = {"anyOf": [{"enum": list(BUILT_IN_MIXES)}, {"$ref": "#/$defs/Mix"}]}
    differing = {name: {"$ref": f"#/$defs/Mix/properties/{name}"} for name in mix if name != "mix"}
    fields["environments"]["additionalProperties"] = strict(differing)
    required = [name for name in schema["required"] if name != "rule_sets"]
    return {
        **_with_matrix(schema, "Replog sweep plan"),
        "required": required,
        "if": {"required": [MATRIX]},
        "else": {"required": ["rule_sets"]},
    }


def explore_schema() -> Schema:
    """The schema of a plan of a search, its matrix included."""
    schema = PlanOfSearch.model_json_schema(schema_generator=Described)
    return _with_matrix(schema, "Replog plan of a search")


def _with_matrix(schema: Schema, title: str) -> Schema:
    """Adds the fields of a matrix to the schema of a plan, and the known rules.

    The model of a plan has no matrix: it is written out before (`sim.study.sweep.plan_matrix`).
    """
    schema.pop("description", None)
    factors: dict[str, Schema] = {
        name: {
            "type": "array",
            "description": one["description"],
            "items": {"$ref": f"#/$defs/rules/properties/{name}"},
            "minItems": 1,
            "uniqueItems": True,
        }
        for name, one in rules_schema()["properties"].items()
    }
    fields = schema["properties"]
    fields["rules"] = ANY_RULES
    fields["rule_sets"] |= {"items": ANY_RULES}
    fields[MATRIX] = described(
        strict(factors) | {"minProperties": 1},
        "Rules with their values: every combination, the first rule changing fastest.",
    )
    fields[LABEL] = described(TEXT, "The label of each combination: `{strategy}: {fix}`.")
    return {"title": title, **schema, "dependentRequired": {LABEL: [MATRIX]}}


SCHEMAS = {
    PLAN_FORMAT: plan_schema,
    EXPLORE_FORMAT: explore_schema,
    STORY_FORMAT: story_schema,
    SCENARIO_FORMAT: scenario_schema,
    LOG_FORMAT: log_schema,
}
"""Functions that make the schema of a file, by its `format`."""


def schema_of_files() -> Schema:
    """The schema of every file with a `format`.

    Nothing in it refers to another file, and no part has a base of its own: not every editor knows
    those. So the definitions of all formats stand side by side.
    """
    discover()
    definitions = {"rules": rules_schema()}
    parts = {}
    for name, make in SCHEMAS.items():
        short = name.removeprefix("replog-").partition("/")[0]
        schema = make()
        definitions |= {**schema.pop("$defs"), short: schema}
        parts[name] = f"#/$defs/{short}"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Replog plan, story, scenario or log file",
        **by_value("format", parts),
        "$defs": definitions,
    }


def schema_text() -> str:
    """The text of `SCHEMA_FILE`."""
    return json.dumps(schema_of_files(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
