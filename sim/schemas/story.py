"""The schema of stories, `replog-story/1`: steps are made of the table that the loader reads."""

from __future__ import annotations

from typing import Any

from sim.check.registry import INVARIANTS, discover
from sim.files.formats import STORY_FORMAT
from sim.limits import ADVANCE, LEADER_EPOCH, LONG, OFFSET, PRODUCER_ID, TIMESTAMP, VERSION, Limit
from sim.replication.interrupting import MOMENTS
from sim.replication.reading import ISOLATIONS, WAYS
from sim.rules import RULES
from sim.scenario.file.schema import rules_schema
from sim.schemas.parts import (
    BOOLEAN,
    DRAFT,
    INTEGER,
    NOTE,
    TAGS,
    TEXT,
    Schema,
    at_least,
    described,
    strict,
)
from sim.story import fields as kinds
from sim.story.fields import FieldType
from sim.story.format import TOP
from sim.story.ops import OPS
from sim.story.steps import COMMON, DOES, NOTHING

_NAME: Schema = {
    "anyOf": [{"type": "string", "minLength": 1}, at_least(-LONG - 1)],
}
_AS_TEXT: Schema = {"type": "string", "pattern": "^-?[0-9]+$"}


def _number(limit: Limit, *, least: int | None = None) -> Schema:
    """A number within a limit, which may come as text."""
    smallest = limit.least if least is None else least
    return {"anyOf": [{"type": "integer", "minimum": smallest, "maximum": limit.most}, _AS_TEXT]}


def _one_of(*values: Any) -> Schema:
    return {"enum": list(values)}


def _of_kind(kind: FieldType) -> Schema:
    """What a field of a step may be; numbers and names may come as text, as in a line."""
    listed: Schema = {"type": "array", "items": _NAME}
    known: list[tuple[FieldType, Schema]] = [
        (kinds.TIME, _number(TIMESTAMP)),
        (kinds.PRODUCER, _number(PRODUCER_ID)),
        (kinds.EPOCH, _number(LEADER_EPOCH, least=0)),
        (kinds.SPAN, _number(ADVANCE)),
        (kinds.NATURAL, _number(OFFSET)),
        (kinds.NAMED, _NAME),
        (kinds.TEXT, _NAME),
        (kinds.OPTIONAL_TEXT, {"anyOf": [*_NAME["anyOf"], {"type": "null"}]}),
        (kinds.BOOLEAN, {"enum": [True, False, "true", "false"]}),
        (kinds.REPLICA, _NAME),
        (kinds.REPLICAS, {"anyOf": [listed, {"type": "string", "minLength": 1}]}),
        (kinds.SEGMENTS, {"anyOf": [_segments(), TEXT]}),
        (kinds.BYTES, {"type": "string", "pattern": r"^\s*([0-9A-Fa-f]{2}\s*)*$"}),
        (kinds.VERSION, {"anyOf": [*_number(VERSION)["anyOf"], {"enum": [None, "null"]}]}),
        (kinds.MARKER, _one_of("commit", "abort")),
        (kinds.MOMENT, _one_of(*MOMENTS)),
        (kinds.ISOLATION, _one_of(*ISOLATIONS)),
        (kinds.WAY, _one_of(*WAYS)),
    ]
    return next(schema for one, schema in known if one is kind)


def _segments() -> Schema:
    three = {"type": "array", "items": _number(OFFSET), "minItems": 3, "maxItems": 3}
    return {"type": "array", "items": three}


def _step(op: str) -> Schema:
    """A step of an op as a mapping."""
    spec = OPS[op]
    fields = {
        name: described(_of_kind(one.kind), f"{one.means} ({one.kind.expected})")
        for name, one in spec.told.items()
    }
    fields[DOES] = described({"const": NOTHING}, COMMON[DOES])
    schema = strict({"op": {"const": op}, **fields, "note": NOTE}, required=("op", *spec.required))
    return described(schema, f"{spec.means} ({spec.source})")


def _line(op: str) -> str:
    """The pattern of a step as one line; a list of replicas may be several words."""
    spec = OPS[op]
    given = list(spec.fields().values())
    most = "" if given and given[-1] is kinds.REPLICAS else len(given) + 1
    if not given:
        return rf"{op}(\s+{DOES}={NOTHING})?"
    return rf"{op}(\s+\S+){{{len(spec.required)},{most}}}"


def _any_step() -> Schema:
    return {
        "description": "A mapping with `op`, or one line: the op, its first fields, name=value.",
        "type": ["string", "object"],
        "if": {"type": "object"},
        "then": {
            "properties": {"op": {"enum": list(OPS)}},
            "required": ["op"],
            "allOf": [
                {
                    "if": {"properties": {"op": {"const": op}}},
                    "then": {"$ref": f"#/$defs/step.{op}"},
                }
                for op in OPS
            ],
        },
        "else": {
            "pattern": rf"^\s*({'|'.join(map(_line, OPS))})\s*$",
            "patternErrorMessage": f"a line is a step and its fields; steps: {', '.join(OPS)}",
        },
    }


def _expect() -> Schema:
    discover()
    invariants = {"type": "array", "items": {"enum": sorted(INVARIANTS)}}
    pair = {"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 2}
    texts = {"type": "array", "items": TEXT}
    label: Schema = {"type": ["string", "integer"]}
    claims: dict[str, Schema] = {
        "log": described(texts, "The records of its log, `label@offset` each."),
        "batches": described(texts, "Its batches, `label@offset epoch N` each."),
        "epochs": described({"type": "array", "items": pair}, "[epoch, start offset] each."),
        "offsets": described({"type": "array", "items": INTEGER}, "Offsets of its records."),
        "leo": described(INTEGER, "Log end offset (exclusive)."),
        "hw": described(INTEGER, "High watermark (exclusive)."),
        "start": described(INTEGER, "Log start offset."),
        "state": described(
            {"type": "object", "additionalProperties": label}, "The label each key has."
        ),
        "up": described(BOOLEAN, "Whether it is up."),
        "note": NOTE,
    }
    of_replicas = {"type": "object", "additionalProperties": {"$ref": "#/$defs/claims"}}
    fields: dict[str, Schema] = {
        "violated": described(invariants, "Exactly these are violated, of those checked."),
        "checked": described(invariants, "What is judged; all but liveness when not given."),
        "leader": described({}, "Who leads at the end."),
        "replicas": described(of_replicas, "What is claimed of replicas at the end."),
        "moments": described(
            {"type": "object", "additionalProperties": of_replicas},
            "The same of what `moment` steps noted, by their names.",
        ),
        "note": NOTE,
    }
    return {"expect": strict(fields), "claims": strict(claims)}


def story_schema() -> Schema:
    """The schema of a story."""
    names = {"type": "array", "items": _NAME, "minItems": 1}
    fields: dict[str, Schema] = {
        "format": {"const": STORY_FORMAT},
        "id": described(TEXT, "Its name; that of the file when not given."),
        "title": described(TEXT, "What it shows, in a sentence."),
        "source": described(TEXT, "Who says so: a section of a KIP, a class, a ticket."),
        "tags": TAGS,
        "rules": rules_schema(RULES, "Where it differs from the defaults of stories."),
        "replicas": described(
            {**names, "uniqueItems": True}, "In order of creation; their logs start empty."
        ),
        "isr": described(names, "Who is in sync at the start; all when not given."),
        "voters": described(names, "Who votes, with majorities; all when not given."),
        "steps": {"type": "array", "items": _any_step()},
        "expect": {"$ref": "#/$defs/expect"},
        "note": NOTE,
    }
    assert list(fields) == list(TOP), f"a story has {TOP}"
    definitions = {**_expect(), **{f"step.{op}": _step(op) for op in OPS}}
    return {
        "$schema": DRAFT,
        "title": "Replog story",
        **strict(fields, required=("format", "replicas")),
        "$defs": definitions,
    }
