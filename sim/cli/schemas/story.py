"""The schema of stories, `replog-story/1`: steps are made of the table that the loader reads."""

from __future__ import annotations

from typing import Final

from pydantic import TypeAdapter

from sim.check.registry import INVARIANTS, discover
from sim.cli.schemas.parts import DRAFT, NOTE, TEXT, Schema, by_value, described, strict
from sim.files.formats import STORY_FORMAT
from sim.files.tags import TAG_PATTERN
from sim.protocol.rules import RULES
from sim.simulate.scenario.file.schema import rules_schema
from sim.simulate.story.expect import CLAIMS
from sim.simulate.story.fields import PERIOD, REPLICA, REPLICAS
from sim.simulate.story.format import LAG, TOP
from sim.simulate.story.ops import OPS
from sim.simulate.story.steps import COMMON, DOES, NOTHING

_LAG: Final = (
    "replica.lag.time.max.ms: so long after it had its leader's log a follower is waited for, under"
    " `high_watermark_waits_for`; 30,000 when not given."
)


def _step(op: str) -> Schema:
    """A step of an op as a mapping."""
    spec = OPS[op]
    fields = {
        name: described(dict(one.kind.schema), f"{one.means} ({one.kind.expected})")
        for name, one in spec.told.items()
    }
    fields[DOES] = described({"const": NOTHING}, COMMON[DOES])
    schema = strict({"op": {"const": op}, **fields, "note": NOTE}, required=("op", *spec.required))
    return described(schema, f"{spec.means} ({spec.source})")


def _line(op: str) -> str:
    """The pattern of a step as one line; a list of replicas may be several words."""
    spec = OPS[op]
    given = list(spec.fields().values())
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
    discover()
    invariants = {"type": "array", "items": {"enum": sorted(INVARIANTS)}}
    claims = {
        name: described(TypeAdapter(c.shape).json_schema(), c.means) for name, c in CLAIMS.items()
    }
    of_replicas = {"type": "object", "additionalProperties": {"$ref": "#/$defs/claims"}}
    fields: dict[str, Schema] = {
        "violated": described(invariants, "Exactly these are violated, of those checked."),
        "checked": described(
            {**invariants, "minItems": 1}, "What is judged; all but liveness when not given."
        ),
        "leader": described({}, "Who leads at the end."),
        "replicas": described(of_replicas, "What is claimed of replicas at the end."),
        "moments": described(
            {"type": "object", "additionalProperties": of_replicas},
            "The same of what `moment` steps noted, by their names.",
        ),
        "note": NOTE,
    }
    return {"expect": strict(fields), "claims": strict(claims | {"note": NOTE})}


def story_schema() -> Schema:
    """The schema of a story."""
    names = {"type": "array", "items": dict(REPLICA.schema), "minItems": 1}
    fields: dict[str, Schema] = {
        "format": {"const": STORY_FORMAT},
        "id": described(TEXT, "Its name; that of the file when not given."),
        "title": described(TEXT, "What it shows, in a sentence."),
        "source": described(TEXT, "Who says so: a section of a KIP, a class, a ticket."),
        "tags": {
            "description": "Words to select files by.",
            "type": ["array", "null"],
            "items": {"type": "string", "pattern": TAG_PATTERN},
            "uniqueItems": True,
        },
        "rules": rules_schema(RULES, "Where it differs from the defaults of stories."),
        "replicas": described(
            {**names, "uniqueItems": True}, "In order of creation; their logs start empty."
        ),
        "isr": described(names, "Who is in sync at the start; all when not given."),
        "voters": described(names, "Who votes, with majorities; all when not given."),
        "timers": strict({LAG: described(dict(PERIOD.schema), _LAG)}),
        "steps": {"type": "array", "items": _any_step(), "minItems": 1},
        "expect": {"$ref": "#/$defs/expect"},
        "note": NOTE,
    }
    assert list(fields) == list(TOP), f"a story has {TOP}"
    definitions = {**_expect(), **{f"step.{op}": _step(op) for op in OPS}}
    return {
        "$schema": DRAFT,
        "title": "Replog story",
        **strict(fields, required=("format", "replicas", "steps")),
        "$defs": definitions,
    }
