"""Settings as Kafka's own tools print them, and Kafka settings that Replog ignores.

`kafka-configs --describe` prints text, so a number or a truth value may be given as text, too.
Settings that Replog ignores may stand in a file, so that all settings of a topic can be pasted; a
note says which of them change nothing. Their names are those of LogConfig, TopicConfig,
CleanerConfig and ServerLogConfigs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, get_args

from pydantic import Field, model_validator

from sim.files.models import Part


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
    try:
        found = json.loads(value.lower())
    except (ValueError, RecursionError):
        return value
    return found if type(found) is kind or (kind is float and type(found) is int) else value


OF_TOPICS = (
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "file.delete.delay.ms",
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "segment.index.bytes",
    "segment.jitter.ms",
)
"""Settings of a topic that Replog ignores, whatever their values are."""

OF_BROKERS = (
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.threads",
    "log.flush.offset.checkpoint.interval.ms",
    "log.flush.scheduler.interval.ms",
    "log.flush.start.offset.checkpoint.interval.ms",
    "log.index.size.max.bytes",
    "log.message.downconversion.enable",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.type",
    "log.preallocate",
    "log.retention.check.interval.ms",
    "log.roll.jitter.ms",
    "log.segment.delete.delay.ms",
)
"""Settings of a broker for logs and their cleaner that Replog ignores."""


def fields_of(settings: Iterable[str]) -> dict[str, Any]:
    """Fields of a model for these settings, named like Kafka's with underscores for dots."""
    means = "A setting of Kafka that changes nothing here; a note says so."
    return {
        name.replace(".", "_"): (Any, Field(None, alias=name, description=means))
        for name in settings
    }
