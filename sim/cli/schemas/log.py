"""The schema of log files, `replog-log/1`, with steps or with logs to choose from.

It is made of what the loader reads them as; what the rules may be comes from their table.
"""

from __future__ import annotations

from typing import Any

from sim.cli.schemas.parts import DRAFT, Schema, at_least, by_value, described, nullable, strict
from sim.files.models import Described, Part
from sim.simulate.logfile import eligible_file
from sim.simulate.logfile import rules as log_rules
from sim.simulate.logfile.file import LogFileLines
from sim.simulate.scenario.file.configs import BrokerSettings, TopicSettings
from sim.simulate.scenario.file.schema import preset_schema, rule_schema, without_titles

_SETTINGS: dict[str, type[Part]] = {"topic": TopicSettings, "broker": BrokerSettings}
"""Kafka's settings, as timed scenarios have them; log files read them when they are given."""


def _settings() -> dict[str, Schema]:
    """Their schemas, by name."""
    models = _SETTINGS.values()
    return {
        model.__name__: without_titles(model.model_json_schema(schema_generator=Described))
        for model in models
    }


def _rules() -> Schema:
    fields: dict[str, Schema] = {}
    for name in log_rules.ALLOWED:
        if name == "preset":
            fields[name] = preset_schema()
        elif name == log_rules.LAST_MODIFIED:
            fields[name] = described(at_least(-1), "When all segments were last modified, in ms.")
        elif name == log_rules.SEGMENT_BYTES:
            fields[name] = described(at_least(1), "Up to which neighbours become one, in bytes.")
        else:
            fields[name] = rule_schema("strategy_header" if name == "header_key" else name)
    return nullable(strict({name: nullable(one) for name, one in fields.items()}))


def _file(model: type[Part], rules: Schema, parts: Schema) -> Schema:
    """A file of that model; what it is made of is added to `parts`."""
    schema: Schema = without_titles(model.model_json_schema(schema_generator=Described))
    parts |= schema.pop("$defs")
    schema["properties"]["rules"] = rules
    for fields in (schema["properties"], parts.get("LogLine", {}).get("properties", {})):
        for name in _SETTINGS.keys() & fields.keys():
            said = {"$ref": f"#/$defs/{_SETTINGS[name].__name__}"}
            fields[name] = {"anyOf": [said, {"type": "null"}]}
    if model is LogFileLines:
        segments = schema["properties"]["segments"]
        batches = parts["SegmentLine"]["properties"]["batches"]
        segments["items"] = {"anyOf": [batches, segments["items"]]}
    found: Schema = _by_its_tag(schema)
    return found


def _by_its_tag(part: Any) -> Any:
    """The same where alternatives that a field tells apart are looked up by it."""
    if isinstance(part, list):
        return [_by_its_tag(one) for one in part]
    if not isinstance(part, dict):
        return part
    if "discriminator" not in part:
        return {name: _by_its_tag(one) for name, one in part.items()}
    return by_value(part["discriminator"]["propertyName"], part["discriminator"]["mapping"])


def log_schema() -> Schema:
    """The schema of a log file of either kind: with `steps`, or with `logs`."""
    parts: Schema = {"rules": _rules(), **_settings()}
    (estimate,) = eligible_file.RULES
    one_rule = nullable(strict({estimate: nullable(rule_schema(estimate))}))
    return {
        "$schema": DRAFT,
        "title": "Replog log file",
        "type": "object",
        "if": {"required": ["logs"]},
        "then": _file(eligible_file.EligibleFileLines, one_rule, parts),
        "else": _file(LogFileLines, {"$ref": "#/$defs/rules"}, parts),
        "$defs": parts,
    }
