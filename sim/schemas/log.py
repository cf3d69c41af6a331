"""The schema of log files, `replog-log/1`, with steps or with logs to choose from.

An optional field that is null counts as not given, as the loader has it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sim.files.fields import MAX_LONG
from sim.files.formats import LOG_FORMAT
from sim.limits import CLEANER_THREADS, HEADERS, LEADER_EPOCH, PRODUCER_EPOCH
from sim.log.producers import MAX_SEQUENCE
from sim.logfile import batches, eligible_file, eligible_settings, schedule_file, steps
from sim.logfile import rules as log_rules
from sim.logfile.file import SEGMENT_FIELDS, TOP
from sim.scenario.file.schema import preset_schema, rule_schema
from sim.schemas.parts import (
    BOOLEAN,
    DRAFT,
    NOTE,
    TAGS,
    TEXT,
    Schema,
    at_least,
    described,
    nullable,
    strict,
)

_OFFSET = at_least(0)
_TIME = at_least(-1)
_ID = at_least(-1)
_BYTES = strict(
    {"hex": {"type": "string", "pattern": r"^\s*([0-9A-Fa-f]{2}\s*)*$"}}, required=("hex",)
)
_CONTENT: Schema = {"anyOf": [TEXT, _BYTES]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(
    known: tuple[str, ...], required: Mapping[str, Schema], optional: Mapping[str, Schema]
) -> Schema:
    """An object whose fields are those that the loader knows; optional ones may be null."""
    fields = {**required, **{name: nullable(one) for name, one in optional.items()}}
    assert set(fields) == set(known), f"{set(fields) ^ set(known)}: the loader knows {known}"
    return strict({name: fields[name] for name in known}, required=tuple(required))


def _record() -> Schema:
    header = {
        "type": "array",
        "prefixItems": [TEXT, {"anyOf": [TEXT, at_least(-MAX_LONG - 1), _BYTES, {"type": "null"}]}],
        "minItems": 2,
        "maxItems": 2,
    }
    return _object(
        batches.RECORD_FIELDS,
        {"offset": _OFFSET},
        {
            "key": _CONTENT,
            "value": _CONTENT,
            "timestamp_ms": _TIME,
            "headers": {**_listed(header), "maxItems": HEADERS.most},
            "marker": {"enum": list(batches.CONTROLS)},
            "flag": described(BOOLEAN, "The tombstone attribute of KIP-87."),
        },
    )


def _batch() -> Schema:
    return _object(
        batches.BATCH_FIELDS,
        {"base_offset": _OFFSET, "last_offset": _OFFSET, "records": _listed(_ref("record"))},
        {
            "epoch": at_least(-1, most=LEADER_EPOCH.most),
            "producer_id": _ID,
            "producer_epoch": at_least(-1, most=PRODUCER_EPOCH.most),
            "base_sequence": {**_ID, "maximum": MAX_SEQUENCE},
            "transactional": BOOLEAN,
            "control": {"enum": list(batches.CONTROLS)},
            "timestamp_ms": _TIME,
            "delete_horizon_ms": _OFFSET,
            "magic": {"type": "integer", "minimum": 0, "maximum": batches.MAGIC},
            "timestamp_type": {"enum": list(batches.TIMESTAMP_TYPES)},
            "compression": {"enum": list(batches.COMPRESSIONS)},
        },
    )


def _segment() -> Schema:
    fields = {"batches": _listed(_ref("batch"))}
    optional = {"base_offset": _OFFSET, "last_modified_ms": _OFFSET}
    as_object = _object(SEGMENT_FIELDS, fields, optional)
    return {"anyOf": [_listed(_ref("batch")), as_object]}


def _step_fields() -> dict[str, tuple[dict[str, Schema], dict[str, Schema]]]:
    """Per op the fields that have to be there, and those that may."""
    offsets = {"type": "object", "additionalProperties": _OFFSET}
    return {
        "clean": (
            {"now_ms": _OFFSET},
            {
                "first_dirty_offset": _OFFSET,
                "upper_bound": _OFFSET,
                "map_capacity": _OFFSET,
                "offset_map": offsets,
                "map_latest_offset": _ID,
                "forced_rescan": BOOLEAN,
                "delete_horizon_ms": at_least(-MAX_LONG - 1),
            },
        ),
        "append": ({"batches": _listed(_ref("batch"))}, {"roll_after": BOOLEAN}),
        "roll": ({}, {}),
        "reload": ({}, {}),
        "produce_duplicate": (
            {
                "producer_id": _OFFSET,
                "producer_epoch": at_least(0, most=PRODUCER_EPOCH.most),
                "base_sequence": {**_OFFSET, "maximum": MAX_SEQUENCE},
                "keys": {**_listed({"anyOf": [TEXT, _BYTES, {"type": "null"}]}), "minItems": 1},
            },
            {},
        ),
        "truncate": ({"offset": _OFFSET}, {}),
        "truncate_fully": ({"offset": _OFFSET}, {}),
        "high_watermark": ({"offset": _OFFSET}, {}),
        "delete_records": ({"before": _OFFSET}, {}),
        "delete_old_segments": ({}, {}),
        "expire_producers": ({"now_ms": _OFFSET, "expiration_ms": at_least(1)}, {}),
    }


def _step() -> Schema:
    """A step, by its op."""
    fields = _step_fields()
    assert set(fields) == set(steps.OPS), f"ops are {list(steps.OPS)}"
    by_op = []
    for op, (names, _read) in steps.OPS.items():
        required, optional = fields[op]
        own = _object(names, required, optional)
        own["properties"] = {"op": {"const": op}, **own["properties"], "note": NOTE}
        by_op.append({"if": {"properties": {"op": {"const": op}}}, "then": own})
    return {
        "type": "object",
        "properties": {"op": {"enum": list(steps.OPS)}},
        "required": ["op"],
        "allOf": by_op,
    }


def _rules() -> Schema:
    fields: dict[str, Schema] = {}
    for name in log_rules.ALLOWED:
        if name == "preset":
            fields[name] = preset_schema()
        elif name == log_rules.LAST_MODIFIED:
            fields[name] = described(_TIME, "When all segments were last modified, in ms.")
        elif name == log_rules.SEGMENT_BYTES:
            fields[name] = described(at_least(1), "Up to which neighbours become one, in bytes.")
        else:
            fields[name] = rule_schema("strategy_header" if name == "header_key" else name)
    return nullable(strict({name: nullable(one) for name, one in fields.items()}))


def _settings(ratio: str, min_lag: str, max_lag: str, segment_ms: str) -> dict[str, Schema]:
    return {
        ratio: {"type": "number", "minimum": 0, "maximum": 1},
        min_lag: _OFFSET,
        max_lag: at_least(1),
        segment_ms: at_least(1),
    }


def _topic() -> Schema:
    fields = _settings(*eligible_settings.OF_BROKER)
    fields["cleanup.policy"] = {"enum": list(eligible_settings.POLICIES)}
    elsewhere: dict[str, Schema] = {name: {} for name in eligible_settings.ELSEWHERE}
    return nullable(strict({name: nullable(one) for name, one in fields.items()} | elsewhere))


def _broker() -> Schema:
    fields = _settings(*eligible_settings.OF_BROKER.values())
    threads = (eligible_settings.THREADS, eligible_settings.IO_RATE, eligible_settings.BACKOFF)
    fields |= {name: at_least(1) for name in threads}
    fields[eligible_settings.THREADS] = at_least(1, most=CLEANER_THREADS.most)
    return strict({name: nullable(one) for name, one in fields.items()})


def _described_log() -> Schema:
    segment = _object(
        eligible_file.SEGMENT,
        {"base_offset": _OFFSET, "size_bytes": _OFFSET},
        dict.fromkeys(
            ("first_batch_timestamp_ms", "largest_timestamp_ms", "last_modified_ms"), _TIME
        ),
    )
    offsets = ("log_start_offset", "high_watermark", "last_stable_offset", "checkpoint")
    optional: dict[str, Schema] = dict.fromkeys(offsets, _OFFSET)
    optional |= dict.fromkeys(("in_progress", "uncleanable"), BOOLEAN)
    optional |= {
        "topic": _ref("topic"),
        "segment_every_ms": at_least(1),
        "survives": {"type": "number", "minimum": 0, "maximum": 1},
    }
    required = {"segments": {**_listed(segment), "minItems": 1}, "log_end_offset": _OFFSET}
    return _object(eligible_file.LOG, required, optional)


def _about() -> dict[str, Schema]:
    """What a file says of itself; no command depends on it."""
    return {"id": {}, "title": {}, "source": {}, "tags": TAGS, "note": NOTE}


def _with_steps() -> Schema:
    expected = {"type": ["array", "null"], "items": {"type": "object"}}
    fields: dict[str, Schema] = {
        "format": {"const": LOG_FORMAT},
        **_about(),
        "rules": _ref("rules"),
        "topic": _ref("topic"),
        "segments": {
            **_listed(_ref("segment")),
            "minItems": 1,
            "description": "In order; the last one is active, and may be empty.",
        },
        "steps": _listed(_ref("step")),
        "expect": described(expected, "What comes of each step, as far as it is claimed."),
    }
    assert set(fields) == set(TOP), f"a log file has {TOP}"
    return strict({name: fields[name] for name in TOP}, required=("format", "segments", "steps"))


def _with_logs() -> Schema:
    estimate = nullable(rule_schema(eligible_settings.RULES[0]))
    schedule = _object(
        ("until_ms", "order"),
        {"until_ms": _OFFSET},
        {"order": {"enum": list(schedule_file.ORDERS)}},
    )
    fields: dict[str, Schema] = {
        "format": {"const": LOG_FORMAT},
        **_about(),
        "now_ms": described(_OFFSET, "The cleaner's clock, in ms."),
        "rules": nullable(strict({eligible_settings.RULES[0]: estimate})),
        "broker": nullable(_broker()),
        "topic": _ref("topic"),
        "schedule": nullable(schedule),
        "logs": {"type": "object", "additionalProperties": _described_log()},
        "expect": {},
    }
    assert set(fields) == set(eligible_file.TOP), f"such a file has {eligible_file.TOP}"
    return strict(
        {name: fields[name] for name in eligible_file.TOP}, required=("format", "now_ms", "logs")
    )


def log_schema() -> Schema:
    """The schema of a log file of either kind: with `steps`, or with `logs`."""
    return {
        "$schema": DRAFT,
        "title": "Replog log file",
        "type": "object",
        "if": {"required": ["logs"]},
        "then": _with_logs(),
        "else": _with_steps(),
        "$defs": {
            "record": _record(),
            "batch": _batch(),
            "segment": _segment(),
            "step": _step(),
            "rules": _rules(),
            "topic": _topic(),
        },
    }
