"""Settings as Kafka's own tools print them, and Kafka settings that Replog ignores.

`kafka-configs --describe` prints text, so a number or a truth value may be given as text, too.
Settings that Replog ignores may stand in a file, so that all settings of a topic can be pasted; a
note says which of them change nothing. Their names and types are those of LogConfig, TopicConfig,
CleanerConfig and ServerLogConfigs.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le
from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from sim.files.bounds import Count, Must, Setting, Size, Within
from sim.files.limits import INT_SETTING, TEXT
from sim.files.models import Part

_WHOLE = re.compile(r"\s*-?[0-9]{1,20}\s*", re.ASCII)
_NUMBER = re.compile(r"\s*-?[0-9]{1,400}([.][0-9]{1,400})?([eE][-+]?[0-9]{1,4})?\s*", re.ASCII)
_TRUTH = {"true": True, "false": False}
_AS_TEXT: dict[str, dict[str, Any]] = {
    "integer": {"type": "string", "pattern": "^-?[0-9]+$"},
    "number": {"type": "string", "pattern": "^-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?$"},
    "boolean": {"enum": ["true", "false"]},
}
"""JSON Schema of a value that is given as text, by JSON Schema's name of its type."""


class AsPrinted(Part):
    """A section of settings whose values may be the text that Kafka's tools print."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        """Replaces text by the number or truth value in it, where it can be read."""
        if not isinstance(given, dict):
            return given
        kinds = {one.alias or name: _kind(one.annotation) for name, one in cls.model_fields.items()}
        return {name: _value(value, kinds.get(name)) for name, value in given.items()}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Adds the texts to the JSON Schema, for editors."""
        found = handler.resolve_ref_schema(handler(schema))
        for part in found.get("properties", {}).values():
            alternatives = part.get("anyOf", [])
            texts = [_AS_TEXT[one["type"]] for one in alternatives if one.get("type") in _AS_TEXT]
            alternatives += texts
        return found


def _kind(annotation: Any) -> type | None:
    """Type of a setting that may be given as text; None for a setting whose value is text."""
    inner = get_args(annotation)
    if not inner:
        return annotation if annotation in (bool, float, int) else None
    return next((kind for kind in map(_kind, inner) if kind is not None), None)


def _value(value: Any, kind: type | None) -> Any:
    """The number or truth value in a text; the text itself where it has no such value."""
    if not isinstance(value, str) or kind is None:
        return value
    if kind is bool:
        return _TRUTH.get(value.strip().lower(), value)
    if _WHOLE.fullmatch(value):
        return int(value)
    return float(value) if kind is float and _NUMBER.fullmatch(value) else value


MOST = 1.7976931348623157e308
"""The largest number of 64 bits with a point: Kafka's default where it means no limit."""
_Text = Annotated[str, Within(TEXT)]
_Number = Annotated[int, Le(INT_SETTING.most), Ge(-INT_SETTING.most)]
_Local = Annotated[int, Ge(-2), Le(2**63 - 1)]
_TimestampType = Literal["CreateTime", "LogAppendTime"]
_CompressionType = Literal["uncompressed", "producer", "none", "gzip", "snappy", "lz4", "zstd"]
_IsOn = Annotated[
    bool,
    Must(lambda on: None if on else "brokers here have a cleaner; allowed: true", enum=[True]),
]

OF_TOPICS: dict[str, Any] = {
    "compression.type": _CompressionType,
    "compression.gzip.level": _Number,
    "compression.lz4.level": _Number,
    "compression.zstd.level": _Number,
    "file.delete.delay.ms": Setting,
    "follower.replication.throttled.replicas": _Text,
    "leader.replication.throttled.replicas": _Text,
    "local.retention.bytes": _Local,
    "local.retention.ms": _Local,
    "message.downconversion.enable": bool,
    "message.format.version": _Text,
    "message.timestamp.after.max.ms": Setting,
    "message.timestamp.before.max.ms": Setting,
    "message.timestamp.type": _TimestampType,
    "preallocate": bool,
    "remote.log.copy.disable": bool,
    "remote.log.delete.on.disable": bool,
    "remote.storage.enable": bool,
    "segment.index.bytes": Size,
    "segment.jitter.ms": Setting,
}
"""Settings of a topic that Replog ignores, with their types."""

OF_BROKERS: dict[str, Any] = {
    "log.cleaner.enable": _IsOn,
    "log.cleaner.io.buffer.size": Count,
    "log.cleaner.io.max.bytes.per.second": Annotated[float, Ge(1), Le(MOST)],
    "log.cleaner.threads": Count,
    "log.flush.offset.checkpoint.interval.ms": Count,
    "log.flush.scheduler.interval.ms": Setting,
    "log.flush.start.offset.checkpoint.interval.ms": Count,
    "log.index.size.max.bytes": Size,
    "log.message.downconversion.enable": bool,
    "log.message.timestamp.after.max.ms": Setting,
    "log.message.timestamp.before.max.ms": Setting,
    "log.message.timestamp.type": _TimestampType,
    "log.preallocate": bool,
    "log.retention.check.interval.ms": Setting,
    "log.roll.jitter.ms": Setting,
    "log.segment.delete.delay.ms": Setting,
}
"""Settings of a broker for logs and their cleaner that Replog ignores, with their types."""


def fields_of(settings: dict[str, Any]) -> dict[str, Any]:
    """Fields of a model for these settings, named like Kafka's with underscores for dots."""
    means = "A setting of Kafka that changes nothing here; a note says so."
    return {
        name.replace(".", "_"): (kind | None, Field(None, alias=name, description=means))
        for name, kind in settings.items()
    }
